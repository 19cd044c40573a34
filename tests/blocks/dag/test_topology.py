"""Closure, reduction, longest paths and orders of DAGs, compared with their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from learned_schedulers.blocks.dag import topology
from tests.blocks.dag.relations import dags, legal_orders


@given(dags(8))
def test_closure_is_every_path(precedes: np.ndarray) -> None:
    n = len(precedes)
    walks = sum(np.linalg.matrix_power(precedes.astype(int), length) for length in range(1, n + 1))
    np.testing.assert_array_equal(topology.closure(precedes[None])[0], walks > 0)


@given(dags(8))
def test_reduction_keeps_the_closure_and_nothing_superfluous(precedes: np.ndarray) -> None:
    reduced = topology.reduction(precedes[None])
    whole = topology.closure(precedes[None])
    np.testing.assert_array_equal(topology.closure(reduced), whole)
    assert (reduced[0] <= precedes).all()
    for i, k in zip(*reduced[0].nonzero(), strict=True):
        without = reduced.copy()
        without[0, i, k] = False
        assert not topology.closure(without)[0, i, k]


@given(dags(6), st.data())
def test_the_critical_path_is_the_longest_of_all_paths(precedes: np.ndarray, draws: st.DataObject) -> None:
    n = len(precedes)
    latencies = np.array(draws.draw(st.lists(st.integers(1, 24), min_size=n, max_size=n)), np.int16)

    def longest(i: int) -> int:
        return int(latencies[i]) + max((longest(int(k)) for k in np.flatnonzero(precedes[i])), default=0)

    assert topology.heights(precedes[None], latencies[None])[0].tolist() == [longest(i) for i in range(n)]


@given(dags(), st.integers(0, 2**32))
def test_violations_equal_a_count_by_hand(precedes: np.ndarray, seed: int) -> None:
    order = np.random.default_rng(seed).permutation(len(precedes))
    place = {int(i): t for t, i in enumerate(order)}
    expected = sum(place[int(i)] > place[int(k)] for i, k in zip(*precedes.nonzero(), strict=True))
    assert topology.count_violations(precedes[None], order[None])[0] == expected


@given(dags())
def test_orders_without_violations_are_the_legal_ones(precedes: np.ndarray) -> None:
    orders = np.array(legal_orders(precedes))
    assert (topology.count_violations(np.repeat(precedes[None], len(orders), 0), orders) == 0).all()


def test_a_cycle_is_refused() -> None:
    cycle = np.array([[[False, True], [True, False]]])
    with pytest.raises(ValueError, match="cycle"):
        topology.reduction(cycle)


def test_slots_invert_orders() -> None:
    order = np.array([[2, 0, 1], [0, 1, 2]])
    assert topology.slots_of(order).tolist() == [[1, 2, 0], [0, 1, 2]]


@given(st.lists(dags(5, smallest=5), max_size=4))
def test_edge_lists_make_matrices(matrices: list[np.ndarray]) -> None:
    edges = [matrix.nonzero() for matrix in matrices]
    precedes = topology.adjacency(
        5, [before.astype(np.uint8) for before, _ in edges], [after.astype(np.uint8) for _, after in edges]
    )
    np.testing.assert_array_equal(precedes, np.array(matrices).reshape(-1, 5, 5))
