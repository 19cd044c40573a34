"""Moves keep dependencies and reach every legal order; a search never ends with a dearer order than it began with."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from learned_schedulers.blocks.before_allocation.search import Orders, improve, move
from learned_schedulers.blocks.dag.sampling import random_ready


def _drawn(n: int, density: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Dependencies whose numbers do not follow the order, and a legal order."""
    rng = np.random.default_rng(seed)
    names = rng.permutation(n)
    precedes = np.zeros((n, n), bool)
    precedes[np.ix_(names, names)] = np.triu(rng.random((n, n)) < density, 1)
    return precedes, random_ready(precedes[None], rng)[0].astype(np.int64)


def _legal(precedes: np.ndarray, order: np.ndarray) -> bool:
    slot = np.argsort(order)
    return bool((slot[:, None] < slot[None])[precedes].all())


@pytest.mark.parametrize("seed", range(10))
def test_moves_are_legal_and_change_the_order(seed: int) -> None:
    precedes, order = _drawn(40, 0.1, seed)
    rng = np.random.default_rng(seed)
    for _ in range(100):
        moved = move(precedes, order, rng)
        assert moved is not None and not np.array_equal(moved, order)
        assert np.array_equal(np.sort(moved), np.arange(40)) and _legal(precedes, moved)
        order = moved


def test_every_legal_order_is_reached() -> None:
    precedes, order = _drawn(6, 0.3, 3)
    legal = {each for each in permutations(range(6)) if _legal(precedes, np.array(each))}
    rng = np.random.default_rng(0)
    visited = {tuple(order.tolist())}
    for _ in range(5000):
        moved = move(precedes, order, rng)
        assert moved is not None
        order = moved
        visited.add(tuple(order.tolist()))
    assert visited == legal and len(legal) > 10


def test_nothing_moves_in_a_chain() -> None:
    chain = np.triu(np.ones((5, 5), bool), 1)
    rng = np.random.default_rng(0)
    assert move(chain, np.arange(5), rng) is None and move(chain[:1, :1], np.arange(1), rng) is None
    result = improve(chain, np.arange(5), lambda orders: np.ones(len(orders)), 100, rng)
    assert result.costs == [1.0] and result.order.tolist() == [0, 1, 2, 3, 4]


def test_a_search_reaches_an_order_that_each_step_brings_nearer() -> None:
    precedes, order = _drawn(20, 0.1, 1)
    target = np.argsort(_drawn(20, 0.1, 1)[1])
    start = random_ready(precedes[None], np.random.default_rng(9))[0].astype(np.int64)

    def costs_of(orders: Orders) -> np.ndarray:
        """Pairs in the other sequence than in the target."""
        slots = [target[order] for order in orders]
        return np.array([np.triu(each[:, None] > each[None]).sum() for each in slots], float)

    result = improve(precedes, start, costs_of, 3001, np.random.default_rng(2))
    assert result.costs[0] == costs_of([start])[0] > 20 and (np.diff(result.costs) <= 0).all()
    assert result.cost == 0 and result.order.tolist() == order.tolist() and len(result.costs) == 3001
    again = improve(precedes, start, costs_of, 301, np.random.default_rng(2))
    assert again.costs == result.costs[:301]
