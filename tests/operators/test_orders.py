"""Partial orders: windows against enumeration, masks, what is refused."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from pipeline.operators.orders import partial_orders
from tests.operators.made import random_precedes


def test_windows_are_the_slots_that_legal_orders_use() -> None:
    rng = np.random.default_rng(0)
    for density in (0.0, 0.2, 0.4, 1.0):
        precedes = random_precedes(10, 5, rng, density)
        support = partial_orders(precedes).support()
        for b in range(10):
            used = np.zeros((5, 5), bool)
            edges = np.argwhere(precedes[b])
            for order in permutations(range(5)):
                slot = np.argsort(order)
                if all(slot[i] < slot[k] for i, k in edges):
                    used[np.arange(5), slot] = True
            np.testing.assert_array_equal(support[b], used)


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
    mine, whole = partial_orders(precedes[items]), partial_orders(precedes).take(items)
    for name in ("sizes", "offsets", "before", "after", "first", "last"):
        np.testing.assert_array_equal(getattr(mine, name), getattr(whole, name))


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
