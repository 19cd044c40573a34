"""Decoders against brute force, scipy's matching and integer programs; legality; NaN and infinity; ties."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations

import numba
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import Bounds, LinearConstraint, linear_sum_assignment, milp

from learned_schedulers.blocks.dag.topology import count_violations
from learned_schedulers.operators.decoding import (
    best_order,
    expected_slots,
    hungarian,
    is_legal,
    topological_fill,
    weight_of,
)
from learned_schedulers.operators.matching import bounded, match
from learned_schedulers.operators.orders import PartialOrders, partial_orders
from learned_schedulers.operators.popocs import popocs
from tests.operators.made import random_precedes

LEGAL: dict[str, Callable[[np.ndarray, PartialOrders], np.ndarray]] = {
    "topological_fill": topological_fill,
    "expected_slots": expected_slots,
    "best_order": lambda matrix, orders: best_order(matrix, orders).order,
    "best_order, narrow": lambda matrix, orders: best_order(matrix, orders, max_states=2).order,
}
DECODERS = LEGAL | {"hungarian": lambda matrix, orders: hungarian(matrix, orders.sizes)}


@st.composite
def padded(draw: st.DrawFn, largest: int = 7) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Matrices (B, n, n), some with many ties; dependencies (B, n, n); sizes (B,) from 0 to n."""
    n, size, seed = draw(st.integers(1, largest)), draw(st.integers(1, 4)), draw(st.integers(0, 2**32))
    density, ties = draw(st.sampled_from([0.0, 0.2, 0.5, 1.0])), draw(st.booleans())
    rng = np.random.default_rng(seed)
    matrix = rng.integers(0, 3, (size, n, n)) / 2 if ties else rng.normal(size=(size, n, n))
    return matrix, random_precedes(size, n, rng, density), rng.integers(0, n + 1, size)


def masked(precedes: np.ndarray, sizes: np.ndarray) -> PartialOrders:
    return partial_orders(precedes, np.arange(precedes.shape[1]) < sizes[:, None])


def legal_orders(precedes: np.ndarray) -> np.ndarray:
    orders = np.array(list(permutations(range(len(precedes)))), int)
    return orders[count_violations(np.broadcast_to(precedes, (len(orders), *precedes.shape)), orders) == 0]


def heaviest(matrix: np.ndarray, orders: np.ndarray) -> float:
    return float(matrix[orders, np.arange(orders.shape[1])].sum(1).max())


def by_integer_program(matrix: np.ndarray, precedes: np.ndarray) -> float:
    """Weight of the best legal order from an integer program: binary X, sums 1, and x_b - x_a >= 1 for a -> b."""
    n = len(matrix)
    sums = np.concatenate([np.kron(np.eye(n), np.ones(n)), np.kron(np.ones(n), np.eye(n))])
    limits = [LinearConstraint(sums, 1, 1)]
    for a, b in np.argwhere(precedes):
        limits.append(LinearConstraint(np.outer(np.eye(n)[b] - np.eye(n)[a], np.arange(n)).reshape(1, -1), 1, np.inf))
    solution = milp(-matrix.ravel(), constraints=limits, integrality=np.ones(n * n), bounds=Bounds(0, 1))
    assert solution.status == 0
    return -solution.fun


@pytest.mark.parametrize("n", [1, 2, 5, 20, 70])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", ["normal", "softmax", "ties"])
def test_hungarian_weighs_what_scipy_finds(n: int, dtype: type, kind: str) -> None:
    rng = np.random.default_rng(n)
    matrices = rng.normal(size=(20, n, n)) * 3
    if kind == "softmax":
        matrices = np.exp(matrices) / np.exp(matrices).sum(2, keepdims=True)
    if kind == "ties":
        matrices = np.round(matrices)
    matrices = matrices.astype(dtype)
    order = hungarian(matrices)
    assert order.dtype == np.int16 and (np.sort(order, 1) == np.arange(n)).all()
    exact = matrices.astype(np.float64)
    assert np.allclose(
        weight_of(exact, order, np.full(20, n)),
        [item[linear_sum_assignment(item, maximize=True)].sum() for item in exact],
        rtol=1e-12,
        atol=1e-9,
    )


@given(padded())
def test_duals_prove_the_matching(case: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
    matrix, precedes, sizes = case
    orders = masked(precedes, sizes)
    order, u, v = match(bounded(matrix), orders.sizes, orders.first, orders.last)
    support = orders.support()
    assert (u[:, :, None] + v[:, None, :] >= matrix - 1e-9)[support].all()
    assert np.allclose((u + v).sum(1), weight_of(matrix, order, sizes))
    assert all(support[b, order[b, t], t] for b, m in enumerate(sizes) for t in range(m))


@pytest.mark.parametrize("decode", LEGAL.values(), ids=LEGAL)
@given(case=padded())
def test_legal_by_construction(decode: Callable, case: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
    matrix, precedes, sizes = case
    order = decode(matrix, masked(precedes, sizes))
    assert order.dtype == np.int16
    for b, m in enumerate(sizes):
        assert sorted(order[b, :m]) == list(range(m)) and order[b, m:].tolist() == list(range(m, len(order[b])))
        assert count_violations(precedes[b : b + 1, :m, :m], order[b : b + 1, :m]).tolist() == [0]


@pytest.mark.parametrize("decode", DECODERS.values(), ids=DECODERS)
def test_an_order_depends_neither_on_batch_nor_on_padding_nor_on_repetition(decode: Callable) -> None:
    rng = np.random.default_rng(0)
    precedes, matrix, sizes = random_precedes(40, 9, rng), rng.normal(size=(40, 9, 9)), rng.integers(1, 10, 40)
    for b, m in enumerate(sizes):
        matrix[b, m:], matrix[b, :, m:] = np.nan, np.inf
    orders = masked(precedes, sizes)
    whole = decode(matrix, orders)
    assert (decode(matrix, orders) == whole).all()
    turned = rng.permutation(40)
    assert (decode(matrix[turned], orders.take(turned)) == whole[turned]).all()
    for b, m in enumerate(sizes):
        alone = decode(matrix[b : b + 1, :m, :m], partial_orders(precedes[b : b + 1, :m, :m]))
        assert (whole[b, :m] == alone[0]).all()


@pytest.mark.parametrize("decode", DECODERS.values(), ids=DECODERS)
def test_threads_change_nothing(decode: Callable) -> None:
    rng = np.random.default_rng(0)
    orders, matrix = partial_orders(random_precedes(30, 20, rng, 0.1)), rng.normal(size=(30, 20, 20))
    alone = decode(matrix, orders)
    numba.set_num_threads(2)
    assert (decode(matrix, orders) == alone).all()


@pytest.mark.parametrize("decode", DECODERS.values(), ids=DECODERS)
def test_nan_and_infinity_damage_only_their_item(decode: Callable) -> None:
    rng = np.random.default_rng(0)
    precedes, sound = random_precedes(60, 6, rng), rng.normal(size=(60, 6, 6))
    orders = partial_orders(precedes)
    matrix = sound.copy()
    matrix[:30] = np.where(
        rng.random((30, 6, 6)) < 0.3, rng.choice([np.nan, np.inf, -np.inf, 1e300], (30, 6, 6)), sound[:30]
    )
    matrix[30:33] = np.array([np.nan, np.inf, -np.inf])[:, None, None]
    order = decode(matrix, orders)
    assert (np.sort(order, 1) == np.arange(6)).all()
    assert (order[33:] == decode(sound, orders)[33:]).all()
    if decode in LEGAL.values():
        assert is_legal(order, orders).all()


@pytest.mark.parametrize("decode", DECODERS.values(), ids=DECODERS)
def test_ties_go_to_the_lower_number(decode: Callable) -> None:
    assert decode(np.zeros((1, 5, 5)), partial_orders(np.zeros((1, 5, 5), bool))).tolist() == [[0, 1, 2, 3, 4]]
    precedes = np.zeros((1, 5, 5), bool)
    precedes[0, 4, 0] = precedes[0, 3, 1] = True
    if decode in (topological_fill, expected_slots):
        for value in (0.0, np.nan, np.inf, -np.inf):
            order = decode(np.full((1, 5, 5), value), partial_orders(precedes))
            assert order.tolist() == [[2, 3, 1, 4, 0]]


def test_topological_fill_follows_the_matrix_where_it_may() -> None:
    matrix = np.eye(3)[[2, 0, 1]][None]  # instruction 0 in slot 2, 1 in slot 0, 2 in slot 1
    assert topological_fill(matrix, np.zeros((1, 3, 3), bool)).tolist() == [[1, 2, 0]]
    precedes = np.zeros((1, 3, 3), bool)
    precedes[0, 0, 1] = True
    assert topological_fill(matrix, precedes)[0].tolist() == [0, 2, 1]  # a tie in slot 0


def test_expected_slots_sorts_a_feasible_matrix() -> None:
    rng = np.random.default_rng(0)
    precedes = random_precedes(100, 6, rng)
    matrix = popocs(torch.from_numpy(rng.normal(size=(100, 6, 6))), precedes).numpy()
    expected = matrix @ np.arange(6)
    order = expected_slots(matrix, precedes)
    assert (np.diff(np.take_along_axis(expected, order.astype(int), 1), axis=1) >= -1e-5).all()


@given(padded())
def test_best_order_is_the_best_of_all_legal_ones(case: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
    matrix, precedes, sizes = case
    best = best_order(matrix, masked(precedes, sizes))
    assert best.optimal.all() and (best.gap == 0).all()
    for b, m in enumerate(sizes):
        weight = matrix[b, best.order[b, :m], np.arange(m)].sum()
        assert np.isclose(weight, heaviest(matrix[b], legal_orders(precedes[b, :m, :m])), atol=1e-9)


@pytest.mark.parametrize(("n", "density"), [(8, 0.1), (10, 0.2), (12, 0.05)])
def test_best_order_is_what_an_integer_program_finds(n: int, density: float) -> None:
    rng = np.random.default_rng(n)
    precedes, matrix = random_precedes(5, n, rng, density), rng.random((5, n, n))
    best = best_order(matrix, precedes)
    assert best.optimal.all()
    exact = [by_integer_program(item, relation) for item, relation in zip(matrix, precedes, strict=True)]
    assert np.allclose(weight_of(matrix, best.order, np.full(5, n)), exact, atol=1e-6)


@given(case=padded(9), max_states=st.sampled_from([1, 3, 20]))
def test_best_order_says_how_far_it_may_be_off(
    case: tuple[np.ndarray, np.ndarray, np.ndarray], max_states: int
) -> None:
    matrix, precedes, sizes = case
    orders = masked(precedes, sizes)
    exact, cut = best_order(matrix, orders), best_order(matrix, orders, max_states)
    weight = weight_of(matrix, cut.order, sizes)
    lost = weight_of(matrix, exact.order, sizes) - weight
    assert exact.optimal.all() and ((cut.gap == 0) == cut.optimal).all()
    assert (lost >= -1e-9).all() and (lost <= cut.gap + 1e-9).all()
    for greedy in (topological_fill, expected_slots):
        assert (weight >= weight_of(matrix, greedy(matrix, orders), sizes) - 1e-9).all()
    order, _, _ = match(bounded(matrix), orders.sizes, orders.first, orders.last)
    assert (weight + cut.gap <= weight_of(matrix, order, sizes) + 1e-9).all()  # never worse than the matching's bound


def test_more_instructions_than_bits_of_a_word() -> None:
    """6 instructions follow a chain of 66: the best order is the chain, then the best order of the 6."""
    rng = np.random.default_rng(0)
    small, matrix = random_precedes(10, 6, rng), rng.normal(size=(10, 72, 72))
    precedes = np.zeros((10, 72, 72), bool)
    precedes[:, np.arange(65), np.arange(1, 66)] = True
    precedes[:, 65, 66:] = True
    precedes[:, 66:, 66:] = small
    best = best_order(matrix, precedes)
    assert best.optimal.all() and (best.order[:, :66] == np.arange(66)).all()
    for b in range(10):
        weight = matrix[b, best.order[b, 66:], np.arange(66, 72)].sum()
        assert np.isclose(weight, heaviest(matrix[b, 66:, 66:], legal_orders(small[b])))
