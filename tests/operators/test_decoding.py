"""Decoders against brute force over all permutations."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import torch
from hypothesis import given, settings

from pipeline.dag.topology import count_violations
from pipeline.operators.decoding import best_order, expected_slots, hungarian, topological_fill, weight_of
from pipeline.operators.orders import partial_orders
from pipeline.operators.popocs import popocs
from tests.operators.made import cases, random_precedes


def test_hungarian_is_the_best_of_all_permutations() -> None:
    matrices = np.random.default_rng(0).normal(size=(50, 4, 4))
    for matrix, order in zip(matrices, hungarian(matrices), strict=True):
        weights = [sum(matrix[i, t] for t, i in enumerate(p)) for p in permutations(range(4))]
        assert sum(matrix[i, t] for t, i in enumerate(order)) == max(weights)


@given(cases(largest=7))
@settings(deadline=None)
def test_decoders_are_legal_where_hungarian_need_not_be(case: tuple[torch.Tensor, np.ndarray]) -> None:
    matrix, precedes = case[0].numpy(), case[1]
    for order in (
        topological_fill(matrix, precedes),
        expected_slots(matrix, precedes),
        best_order(matrix, precedes).order,
    ):
        assert (np.sort(order, 1) == np.arange(matrix.shape[1])).all()
        assert (count_violations(precedes, order) == 0).all()


def test_hungarian_can_be_illegal() -> None:
    rng = np.random.default_rng(0)
    assert (count_violations(random_precedes(500, 5, rng), hungarian(rng.normal(size=(500, 5, 5)))) > 0).any()


def test_topological_fill_follows_the_matrix_where_it_may() -> None:
    matrix = np.eye(3)[[2, 0, 1]][None]  # instruction 0 in slot 2, 1 in slot 0, 2 in slot 1
    assert topological_fill(matrix, np.zeros((1, 3, 3), bool)).tolist() == [[1, 2, 0]]
    precedes = np.zeros((1, 3, 3), bool)
    precedes[0, 0, 1] = True
    assert topological_fill(matrix, precedes)[0].tolist() == [0, 2, 1]  # a tie in slot 0


def test_topological_fill_survives_nan_and_infinity() -> None:
    precedes = random_precedes(50, 6, np.random.default_rng(0))
    for value in (np.nan, -np.inf, np.inf):
        assert (count_violations(precedes, topological_fill(np.full((50, 6, 6), value), precedes)) == 0).all()


def test_expected_slots_sorts_a_feasible_matrix() -> None:
    rng = np.random.default_rng(0)
    precedes = random_precedes(100, 6, rng)
    matrix = popocs(torch.from_numpy(rng.normal(size=(100, 6, 6))), precedes).numpy()
    expected = matrix @ np.arange(6)
    order = expected_slots(matrix, precedes)
    assert (np.diff(np.take_along_axis(expected, order.astype(int), 1), axis=1) >= -1e-5).all()


def test_best_order_is_the_best_of_all_legal_ones() -> None:
    rng = np.random.default_rng(0)
    precedes, matrix = random_precedes(60, 5, rng), rng.normal(size=(60, 5, 5))
    best = best_order(matrix, precedes)
    assert best.optimal.all() and (best.gap == 0).all()
    found = weight_of(matrix, best.order, np.full(60, 5))
    for b in range(60):
        edges = np.argwhere(precedes[b])
        legal = [p for p in permutations(range(5)) if all(p.index(i) < p.index(k) for i, k in edges)]
        assert np.isclose(found[b], max(sum(matrix[b, i, t] for t, i in enumerate(p)) for p in legal))


def test_best_order_says_how_far_it_may_be_off() -> None:
    rng = np.random.default_rng(0)
    precedes, matrix = random_precedes(40, 8, rng, 0.1), rng.random((40, 8, 8))
    exact, cut = best_order(matrix, precedes), best_order(matrix, precedes, max_states=20)
    sizes = np.full(40, 8)
    assert exact.optimal.all() and not cut.optimal.all()
    assert (count_violations(precedes, cut.order) == 0).all()
    lost = weight_of(matrix, exact.order, sizes) - weight_of(matrix, cut.order, sizes)
    assert (lost >= -1e-9).all() and (lost <= cut.gap + 1e-9).all()


def test_long_blocks_are_decoded_too() -> None:
    rng = np.random.default_rng(0)
    precedes, matrix = random_precedes(3, 80, rng, 0.1), rng.random((3, 80, 80))
    best = best_order(matrix, precedes)
    assert (count_violations(precedes, best.order) == 0).all() and not best.optimal.any()


def test_padding_stays_at_the_end() -> None:
    rng = np.random.default_rng(0)
    precedes, matrix = random_precedes(30, 6, rng), rng.normal(size=(30, 6, 6))
    sizes = rng.integers(0, 7, 30)
    orders = partial_orders(precedes, np.arange(6) < sizes[:, None])
    decoded = [f(matrix, orders) for f in (topological_fill, expected_slots)]
    for order in [*decoded, best_order(matrix, orders).order, hungarian(matrix, sizes)]:
        for b, m in enumerate(sizes):
            assert (order[b, m:] == np.arange(m, 6)).all() and set(order[b, :m]) == set(range(m))
    for b, m in enumerate(sizes):
        alone = topological_fill(matrix[b : b + 1, :m, :m], precedes[b : b + 1, :m, :m])
        assert (decoded[0][b, :m] == alone[0]).all()
