"""Shares of orders, compared with counts by hand."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest

from pipeline.imitation.canonical import Canonical
from pipeline.imitation.ceiling import ceiling, counted, guesses, twins


def canonical_of(pairs: list[tuple[int, int]]) -> Canonical:
    key, order = np.array(pairs, np.uint64).reshape(-1, 2).T
    return Canonical(key, order, key[:0])


def by_hand(orders: list[int]) -> float:
    """Mean probability of guessing an example by the most frequent order of the others, with random ties."""
    total = 0.0
    for at, order in enumerate(orders):
        rest = Counter(orders[:at] + orders[at + 1 :])
        best = [name for name, count in rest.items() if count == max(rest.values())]
        total += (order in best) / len(best)
    return total / len(orders)


@pytest.mark.parametrize("seed", range(8))
def test_leave_one_out_is_what_it_says(seed: int) -> None:
    rng = np.random.default_rng(seed)
    orders = rng.integers(rng.integers(1, 5) + 1, size=rng.integers(2, 12)).tolist()
    table = counted(np.full(len(orders), 7), np.array(orders), np.ones(len(orders), int))
    worth, count = guesses(table), table["count"].to_numpy()
    assert (worth.leave_one_out * count).sum() / len(orders) == pytest.approx(by_hand(orders))
    assert (worth.majority * count).sum() == max(Counter(orders).values())
    assert set(worth.size) == {len(orders)}


def test_a_block_alone_says_nothing() -> None:
    renamed = canonical_of([(1, 1), (2, 1), (2, 1), (2, 3)])
    blocks = pd.DataFrame({"n_instructions": 5, "occurrences": [4, 1, 1, 2], "several": [True] * 4})
    table = ceiling("exact", renamed, blocks).set_index(["lengths", "legal_orders", "members", "least"])
    counts = table.loc["5", "all", "blocks", 2]
    assert (counts.groups, counts.in_groups, counts.total, counts.alone) == (1, 3, 4, 1)
    assert counts.majority == pytest.approx(2 / 3)
    assert counts.leave_one_out == pytest.approx((0.5 + 0.5 + 0) / 3)  # of the others one has either order
    times = table.loc["5", "all", "occurrences", 2]
    assert (times.groups, times.in_groups, times.alone) == (2, 8, 0)
    assert times.several_orders == 0.5
    assert times.leave_one_out == pytest.approx(4 / 8)  # two against two: whoever is left out is outvoted
    assert table.loc["4-40", "several", "blocks", 5].groups == 0


def test_exact_twins_of_unique_blocks_are_never_guessed() -> None:
    renamed = canonical_of([(1, 1), (1, 2), (1, 3)])
    blocks = pd.DataFrame({"n_instructions": 5, "occurrences": 1, "several": [True] * 3})
    table = ceiling("exact", renamed, blocks)
    assert (table[table.groups > 0].leave_one_out == 0).all()


def test_twins_of_a_set() -> None:
    training = canonical_of([(1, 1), (1, 1), (1, 2), (3, 1), (3, 2)])
    tested = canonical_of([(1, 1), (1, 2), (1, 9), (2, 1), (3, 2)])
    every = twins("exact", "development", tested, training, np.array([True, True, True, True, False])).iloc[0]
    assert every.n_blocks == 5
    assert every.with_twin == pytest.approx(4 / 5)
    assert every.same_order == pytest.approx(3 / 5)
    assert every.different_order == pytest.approx(4 / 5)
    assert every.copied == pytest.approx((1 + 0 + 0 + 0.5) / 4)
