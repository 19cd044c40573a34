"""How far GCC's order follows from what a block is: blocks that are equal up to renaming, and the orders they have.

*Exact* twins have the same masked instructions and the same DAG. Blocks of the corpus are unique after masking, that
is as sequences of instructions, so two exact twins always have different orders: counted block by block, the share of
the majority among n twins is 1/n and leave-one-out is 0, whatever GCC does. Where GCC always gives equal blocks equal
orders there simply are no twins. So for this notion read `alone`, the blocks without a twin, and the rows counted by
`occurrences`: how often each order was found before duplicates were removed.
Occurrences are generous: code that several programs include was written once, and its source order came along.
The other notions keep twins of one order apart as blocks (they differ in names), so their shares mean what they say;
but what was renamed may be what GCC decided by, so they bound a scheduler that does not see it, no other. And orders
are equal up to that renaming: whoever copies one has still to choose between instructions that only names tell apart.

Leave-one-out: an example's order is guessed as the commonest among the others of its group (ties: one of them by
chance), which is the best that a function of the key learned from them can do. An example that is alone says nothing
and does not enter. In the whole sample, `majority` is too good: it has seen the answer.
"""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import numpy as np
import pandas as pd

from pipeline.analysis.canonical import Canonical

LENGTHS = {"5": (5, 5), "4-40": (4, 40)}  # instructions
LEAST = (2, 5)  # members of a group that is counted


class Guesses(NamedTuple):
    """What the members of each (key, order) are worth, in the rows of `Counted`."""

    size: np.ndarray  # members of the key's group
    majority: np.ndarray  # 1 for the key's commonest order (the first of several), else 0
    leave_one_out: np.ndarray  # probability to be guessed from the others; NaN where alone


def counted(key: np.ndarray, order: np.ndarray, weight: np.ndarray) -> pd.DataFrame:
    """Members of each (key, order), commonest order of each key first: columns key, order, count."""
    frame = pd.DataFrame({"key": key, "order": order, "count": weight})
    found = frame.groupby(["key", "order"])[["count"]].sum().reset_index()
    return found.sort_values(["key", "count", "order"], ascending=[True, False, True], ignore_index=True)


def guesses(table: pd.DataFrame) -> Guesses:
    """Worth of each row of `counted`.

    Whoever has another order than the commonest is never guessed: leaving him out leaves the commonest ahead.
    """
    key, count = table["key"].to_numpy(), table["count"].to_numpy()
    first = np.r_[True, key[1:] != key[:-1]][: len(key)]  # the commonest order of its key
    group = np.cumsum(first) - 1
    size = np.bincount(group, count).astype(np.int64)[group]
    left = count[first][group] - 1  # of the commonest, where one that has it is left out
    ahead = np.bincount(group, ~first & (count > left))[group] > 0
    level = np.bincount(group, ~first & (count == left))[group]
    worth = np.where(first & ~ahead, 1 / (1 + level), 0.0)
    return Guesses(size, first.astype(float), np.where(size > 1, worth, np.nan))


def ceiling(notion: str, found: Canonical, blocks: pd.DataFrame) -> pd.DataFrame:
    """Rows of table `ceiling` of one notion.

    blocks: n_instructions, occurrences, several (more than one legal order), in the rows of `found`.
    """
    rows = []
    for (lengths, (low, high)), orders in product(LENGTHS.items(), ("all", "several")):
        kept = blocks["n_instructions"].between(low, high) & (blocks["several"] | (orders == "all"))
        inside = np.flatnonzero(kept)
        weights = {"blocks": np.ones(len(inside), np.int64), "occurrences": blocks["occurrences"].to_numpy()[inside]}
        for members, weight in weights.items():
            table = counted(found.key[inside], found.order[inside], weight.astype(np.int64))
            worth, key, count = guesses(table), table["key"].to_numpy(), table["count"].to_numpy()
            rows += [(notion, lengths, orders, members, least, *_shares(key, worth, count, least)) for least in LEAST]
    return pd.DataFrame(rows, columns=["notion", "lengths", "legal_orders", "members", "least", *_SHARES])


_SHARES = ("groups", "in_groups", "total", "alone", "several_orders", "majority", "leave_one_out")


def _shares(key: np.ndarray, worth: Guesses, weight: np.ndarray, least: int) -> tuple[float, ...]:
    """Columns _SHARES: groups of at least `least` members, and what their orders say."""
    inside = worth.size >= least
    members, total, alone = weight[inside], int(weight.sum()), int(weight[worth.size == 1].sum())
    if not inside.any():
        return 0, 0, total, alone, np.nan, np.nan, np.nan
    _, orders = np.unique(key[inside], return_counts=True)
    means = (np.average(values[inside], weights=members) for values in (worth.majority, worth.leave_one_out))
    return len(orders), int(members.sum()), total, alone, float((orders > 1).mean()), *means


def twins(notion: str, name: str, tested: Canonical, training: Canonical, several: np.ndarray) -> pd.DataFrame:
    """Rows of table `twins`: blocks of a tested set with a twin among the training blocks.

    several: (B,) of the tested blocks, more than one legal order. `copied`: exact match of copying the commonest
    order of a block's twins (ties: one of them by chance), over the blocks that have one.
    """
    table = counted(training.key, training.order, np.ones(len(training.key), np.int64))
    top = table.groupby("key")["count"].transform("max")
    table["likeliest"] = table["count"] == top
    keys = table.groupby("key").agg(twins=("count", "sum"), best=("likeliest", "sum"))
    of_key = keys.reindex(tested.key)
    same = table.set_index(["key", "order"])[["count", "likeliest"]]
    found = same.reindex(pd.MultiIndex.from_arrays([tested.key, tested.order]))
    n_twins, n_same = of_key["twins"].fillna(0).to_numpy(), found["count"].fillna(0).to_numpy()
    copied = found["likeliest"].eq(True).to_numpy() / of_key["best"].fillna(1).to_numpy()
    rows = []
    for orders, kept in (("all", np.ones(len(several), bool)), ("several", several)):
        twin = kept & (n_twins > 0)
        counts = [twin.sum(), (kept & (n_same > 0)).sum(), (kept & (n_twins > n_same)).sum()]
        shares = [float(count / max(kept.sum(), 1)) for count in counts]
        rows.append((name, notion, orders, kept.sum(), *shares, copied[twin].mean() if twin.any() else np.nan))
    return pd.DataFrame(rows, columns=_TWINS)


_TWINS = ["set", "notion", "legal_orders", "n_blocks", "with_twin", "same_order", "different_order", "copied"]
