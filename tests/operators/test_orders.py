"""Partial orders: windows against enumeration, masks, invalid input."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from learned_schedulers.operators.orders import buckets, partial_orders
from tests.operators.made import random_precedes


def every_dag(n: int) -> np.ndarray:
    """(2^(n (n - 1) / 2), n, n): all relations with edges from lower to higher numbers only."""
    pairs = np.argwhere(np.triu(np.ones((n, n), bool), 1))
    present = np.arange(2 ** len(pairs))[:, None] >> np.arange(len(pairs)) & 1
    precedes = np.zeros((len(present), n, n), bool)
    precedes[:, pairs[:, 0], pairs[:, 1]] = present
    return precedes


def mean_of_legal_orders(precedes: np.ndarray) -> np.ndarray:
    """(B, n, n): share of the legal orders that put an instruction into a slot."""
    n = precedes.shape[1]
    slots = np.array([np.argsort(order) for order in permutations(range(n))])
    wrong = precedes.reshape(len(precedes), -1) @ (slots[:, :, None] > slots[:, None, :]).reshape(len(slots), -1).T
    legal = (wrong == 0).astype(float)
    counts = legal @ np.eye(n)[slots].reshape(len(slots), -1)
    return counts.reshape(-1, n, n) / legal.sum(1)[:, None, None]


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_windows_are_the_slots_that_legal_orders_use(n: int) -> None:
    """On every DAG of up to five instructions."""
    precedes = every_dag(n)
    np.testing.assert_array_equal(partial_orders(precedes).support(), mean_of_legal_orders(precedes) > 0)


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_within_the_windows_some_point_satisfies_every_dependency_strictly(n: int) -> None:
    """The mean of all legal orders does, unless both windows are single slots; therefore `extrapolated` ends."""
    precedes = every_dag(n)
    orders, expected = partial_orders(precedes), mean_of_legal_orders(precedes) @ np.arange(n)
    item, a, b = np.nonzero(precedes)
    gap = expected[item, b] - expected[item, a]
    single = (orders.first[item, a] == orders.last[item, a]) & (orders.first[item, b] == orders.last[item, b])
    assert (gap[~single] > 1 + 1e-9).all() and (gap[single] >= 1 - 1e-9).all()


def test_masked_instructions_have_no_dependencies() -> None:
    precedes = np.ones((2, 3, 3), bool)
    precedes[:] = np.triu(precedes, 1)
    orders = partial_orders(precedes, np.array([[True, True, False], [False, False, False]]))
    assert orders.sizes.tolist() == [2, 0]
    assert (orders.before.tolist(), orders.after.tolist()) == ([0], [1])
    assert orders.support().sum((1, 2)).tolist() == [2, 0]


def test_some_items_of_a_batch() -> None:
    precedes = random_precedes(20, 6, np.random.default_rng(0))
    items = np.array([7, 3, 3, 19])
    expected, selected = partial_orders(precedes[items]), partial_orders(precedes).take(items)
    for name in ("sizes", "offsets", "before", "after", "first", "last"):
        np.testing.assert_array_equal(getattr(expected, name), getattr(selected, name))


def test_buckets_hold_every_item_once_and_pad_little() -> None:
    sizes = np.random.default_rng(0).integers(0, 65, 300)
    groups = buckets(sizes, growth=1.5)
    np.testing.assert_array_equal(np.sort(np.concatenate(groups)), np.arange(300))
    for group in groups:
        smallest, largest = sizes[group].min(), sizes[group].max()
        assert largest <= max(1.5 * smallest, smallest + 1)
    assert len(groups) <= 12
    assert buckets(np.zeros(0, np.int64)) == []


def test_more_than_64_instructions() -> None:
    orders = partial_orders(np.triu(np.ones((1, 130, 130), bool), 1))
    assert (orders.first[0] == np.arange(130)).all() and (orders.last[0] == np.arange(130)).all()


def test_cycles_and_holes_are_refused() -> None:
    cycle = np.zeros((1, 3, 3), bool)
    cycle[0, 0, 1] = cycle[0, 1, 0] = True
    with pytest.raises(ValueError, match="cycle"):
        partial_orders(cycle)
    with pytest.raises(ValueError, match="come first"):
        partial_orders(np.zeros((1, 3, 3), bool), np.array([[True, False, True]]))
