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


def _ranks(start: np.ndarray) -> np.ndarray:
    """Number of the group, from 0, of rows that are sorted by group; start: where one begins."""
    return np.cumsum(start) - 1


def counted(key: np.ndarray, order: np.ndarray, weight: np.ndarray) -> pd.DataFrame:
    """Members of each (key, order), commonest order of each key first: columns key, order, count."""
    frame = pd.DataFrame({"key": key, "order": order, "count": weight})
    found = frame.groupby(["key", "order"])[["count"]].sum().reset_index()
    return found.sort_values(["key", "count", "order"], ascending=[True, False, True], ignore_index=True)


def guesses(table: pd.DataFrame) -> Guesses:
    """Worth of each row of `counted`."""
    key, count = table["key"].to_numpy(), table["count"].to_numpy()
    start = np.r_[True, key[1:] != key[:-1]][: len(key)]
    group = _ranks(start)
    size = np.bincount(group, count).astype(np.int64)
    top = count[start]  # of each group
    at_top = np.bincount(group, count == top[group]).astype(np.int64)
    lower = np.where(count < top[group], count, 0)
    second = np.zeros(len(top), np.int64)
    np.maximum.at(second, group, lower)
    at_second = np.bincount(group, (lower > 0) & (lower == second[group])).astype(np.int64)
    alone_on_top = (count == top[group]) & (at_top[group] == 1)
    other = np.where(alone_on_top, second[group], top[group])  # the commonest of the other orders
    others = np.where(alone_on_top, at_second[group], at_top[group] - (count == top[group]))
    left = count - 1
    worth = np.where(left > other, 1.0, np.where((left == other) & (left > 0), 1 / (1 + others), 0.0))
    return Guesses(size[group], start.astype(float), np.where(size[group] > 1, worth, np.nan))


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
    members = weight[inside]
    groups = np.unique(key[inside]).size
    alone = int(weight[worth.size == 1].sum())
    if not groups:
        return 0, 0, int(weight.sum()), alone, np.nan, np.nan, np.nan
    _, orders = np.unique(key[inside], return_counts=True)
    majority = float((worth.majority[inside] * members).sum() / members.sum())
    left_out = float((worth.leave_one_out[inside] * members).sum() / members.sum())
    return groups, int(members.sum()), int(weight.sum()), alone, float((orders > 1).mean()), majority, left_out


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
        size = max(int(kept.sum()), 1)
        rows.append(
            {
                "set": name,
                "notion": notion,
                "legal_orders": orders,
                "n_blocks": int(kept.sum()),
                "with_twin": float(twin.sum() / size),
                "same_order": float((kept & (n_same > 0)).sum() / size),
                "different_order": float((kept & (n_twins > n_same)).sum() / size),
                "copied": float(copied[twin].mean()) if twin.any() else np.nan,
            }
        )
    return pd.DataFrame(rows)
