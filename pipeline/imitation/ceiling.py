"""How far a block determines GCC's order: blocks that are equal up to renaming, and their orders.

*Exact* twins have the same masked instructions and the same DAG. Blocks of the corpus are unique after masking, as
sequences of instructions, so two exact twins always have different orders: counted by blocks, the share of the
majority among n twins is 1/n and leave-one-out is 0, whatever GCC does. If GCC always gives equal blocks equal orders,
there are no twins. So for this notion read `alone`, the blocks without a twin, and the rows counted by `occurrences`
of each order before duplicates were removed.
Occurrences are generous: code that several programs include was written once, with one source order.
Under the other notions twins of one order are different blocks (their names differ), so their shares can be read as
they are. But GCC may decide by a renamed part: they bound only a scheduler that does not see it. And orders are equal
up to that renaming: a copied order leaves open the choice between instructions that only names distinguish.

Leave-one-out: the guess for an example is the most frequent order among the others of its group (ties: a random one
of them), the best possible function of the key that is learned from them. An example without others does not count.
In the whole sample, `majority` is too good: it has seen the answer.
"""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import numpy as np
import pandas as pd

from pipeline.imitation.canonical import Canonical

LENGTHS = {"5": (5, 5), "4-40": (4, 40)}  # instructions
LEAST = (2, 5)  # members of a group that is counted


class Guesses(NamedTuple):
    """Probabilities of a right guess for the members of each (key, order), in the rows of `counted`."""

    size: np.ndarray  # members of the key's group
    majority: np.ndarray  # 1 for the key's commonest order (the first of several), else 0
    leave_one_out: np.ndarray  # probability of a right guess from the others; NaN without others


def counted(key: np.ndarray, order: np.ndarray, weight: np.ndarray) -> pd.DataFrame:
    """Members of each (key, order), commonest order of each key first: columns key, order, count."""
    frame = pd.DataFrame({"key": key, "order": order, "count": weight})
    counts = frame.groupby(["key", "order"])[["count"]].sum().reset_index()
    return counts.sort_values(["key", "count", "order"], ascending=[True, False, True], ignore_index=True)


def guesses(table: pd.DataFrame) -> Guesses:
    """Guesses for each row of `counted`.

    A member with another order than the commonest is never guessed: without it, the commonest is still ahead.
    """
    key, count = table["key"].to_numpy(), table["count"].to_numpy()
    first = np.r_[True, key[1:] != key[:-1]][: len(key)]  # the commonest order of its key
    group = np.cumsum(first) - 1
    size = np.bincount(group, count).astype(np.int64)[group]
    remaining = count[first][group] - 1  # of the commonest, where one that has it is left out
    ahead = np.bincount(group, ~first & (count > remaining))[group] > 0
    level = np.bincount(group, ~first & (count == remaining))[group]
    worth = np.where(first & ~ahead, 1 / (1 + level), 0.0)
    return Guesses(size, first.astype(float), np.where(size > 1, worth, np.nan))


def ceiling(notion: str, renamed: Canonical, blocks: pd.DataFrame) -> pd.DataFrame:
    """Rows of table `ceiling` of one notion.

    blocks: n_instructions, occurrences, several (more than one legal order), in the rows of `renamed`.
    """
    rows = []
    for (lengths, (low, high)), orders in product(LENGTHS.items(), ("all", "several")):
        chosen = blocks["n_instructions"].between(low, high) & (blocks["several"] | (orders == "all"))
        inside = np.flatnonzero(chosen)
        weights = {"blocks": np.ones(len(inside), np.int64), "occurrences": blocks["occurrences"].to_numpy()[inside]}
        for members, weight in weights.items():
            table = counted(renamed.key[inside], renamed.order[inside], weight.astype(np.int64))
            worth, key, count = guesses(table), table["key"].to_numpy(), table["count"].to_numpy()
            rows += [(notion, lengths, orders, members, least, *_shares(key, worth, count, least)) for least in LEAST]
    return pd.DataFrame(rows, columns=["notion", "lengths", "legal_orders", "members", "least", *_SHARES])


_SHARES = ("groups", "in_groups", "total", "alone", "several_orders", "majority", "leave_one_out")


def _shares(key: np.ndarray, worth: Guesses, weight: np.ndarray, least: int) -> tuple[float, ...]:
    """Columns _SHARES, over groups of at least `least` members."""
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
    order of a block's twins (ties: a random one of them), over the blocks that have a twin.
    """
    table = counted(training.key, training.order, np.ones(len(training.key), np.int64))
    top = table.groupby("key")["count"].transform("max")
    table["likeliest"] = table["count"] == top
    keys = table.groupby("key").agg(twins=("count", "sum"), best=("likeliest", "sum"))
    of_key = keys.reindex(tested.key)
    same = table.set_index(["key", "order"])[["count", "likeliest"]]
    same_order = same.reindex(pd.MultiIndex.from_arrays([tested.key, tested.order]))
    n_twins, n_same = of_key["twins"].fillna(0).to_numpy(), same_order["count"].fillna(0).to_numpy()
    copied = same_order["likeliest"].eq(True).to_numpy() / of_key["best"].fillna(1).to_numpy()
    rows = []
    for orders, chosen in (("all", np.ones(len(several), bool)), ("several", several)):
        twin = chosen & (n_twins > 0)
        counts = [twin.sum(), (chosen & (n_same > 0)).sum(), (chosen & (n_twins > n_same)).sum()]
        shares = [float(count / max(chosen.sum(), 1)) for count in counts]
        rows.append((name, notion, orders, chosen.sum(), *shares, copied[twin].mean() if twin.any() else np.nan))
    return pd.DataFrame(rows, columns=_TWINS)


_TWINS = ["set", "notion", "legal_orders", "n_blocks", "with_twin", "same_order", "different_order", "copied"]
