"""Orders against brute force over all permutations."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.dag import topology


@st.composite
def dags(draw: st.DrawFn, largest: int = 6) -> np.ndarray:
    """(n, n) bool adjacency of a DAG with shuffled numbering."""
    n = draw(st.integers(1, largest))
    upper = np.triu(np.array(draw(st.lists(st.booleans(), min_size=n * n, max_size=n * n))).reshape(n, n), 1)
    order = np.array(draw(st.permutations(range(n))))
    return upper[order][:, order]


def legal(precedes: np.ndarray) -> list[tuple[int, ...]]:
    n = len(precedes)
    return [
        order
        for order in permutations(range(n))
        if all(order.index(i) < order.index(k) for i in range(n) for k in range(n) if precedes[i, k])
    ]


@given(dags())
def test_count_equals_brute_force(precedes: np.ndarray) -> None:
    predecessors = [sum(1 << int(i) for i in np.flatnonzero(column)) for column in precedes.T]
    assert topology.count_legal_orders(predecessors) == len(legal(precedes))


@given(dags(), st.integers(0, 2**32))
def test_random_orders_are_legal(precedes: np.ndarray, seed: int) -> None:
    batch = np.repeat(precedes[None], 20, 0)
    orders = topology.random_legal_orders(batch, np.random.default_rng(seed))
    assert set(map(tuple, orders.tolist())) <= set(legal(precedes))
    assert (topology.count_violations(batch, orders) == 0).all()


def test_every_legal_order_is_drawn() -> None:
    precedes = np.zeros((4, 4), bool)
    precedes[0, 2] = precedes[1, 2] = True
    orders = topology.random_legal_orders(np.repeat(precedes[None], 2000, 0), np.random.default_rng(0))
    assert set(map(tuple, orders.tolist())) == set(legal(precedes))


@given(dags(), st.integers(0, 2**32))
def test_violations_equal_a_count_by_hand(precedes: np.ndarray, seed: int) -> None:
    order = np.random.default_rng(seed).permutation(len(precedes))
    place = {int(i): t for t, i in enumerate(order)}
    expected = sum(place[int(i)] > place[int(k)] for i, k in zip(*precedes.nonzero(), strict=True))
    assert topology.count_violations(precedes[None], order[None])[0] == expected


def test_a_cycle_is_refused() -> None:
    cycle = np.array([[[False, True], [True, False]]])
    with pytest.raises(ValueError, match="cycle"):
        topology.greedy_orders(cycle, np.zeros((1, 2, 2)))


@pytest.mark.parametrize("fault", [np.nan, -np.inf])
def test_greedy_orders_are_legal_whatever_the_scores(fault: float) -> None:
    precedes = np.array([[[False, False], [True, False]]])
    assert topology.greedy_orders(precedes, np.full((1, 2, 2), fault)).tolist() == [[1, 0]]


def test_slots_invert_orders() -> None:
    order = np.array([[2, 0, 1], [0, 1, 2]])
    assert topology.slots_of(order).tolist() == [[1, 2, 0], [0, 1, 2]]
