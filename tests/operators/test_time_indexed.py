"""The time-indexed relaxation against its conditions written out, linear programs, and all legal orders."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
import torch
from hypothesis import given
from scipy.optimize import linprog

from learned_schedulers.blocks.dag.topology import count_violations, slots_of
from learned_schedulers.operators.decoding import best_order, weight_of
from learned_schedulers.operators.orders import partial_orders
from learned_schedulers.operators.popocs import residual
from learned_schedulers.operators.time_indexed import time_indexed, time_indexed_residual
from tests.operators.made import cases, random_precedes


def conditions(precedes: np.ndarray) -> np.ndarray:
    """(K, n * n) A with A vec(X) <= 0 for every dependency and every slot, directly from the formula."""
    n = len(precedes)
    rows = []
    for a, b in np.argwhere(precedes):
        for t in range(n):
            row = np.zeros((n, n))
            row[b, : t + 1] += 1
            row[a, :t] -= 1
            rows.append(row.ravel())
    return np.array(rows).reshape(-1, n * n)


def largest(weights: np.ndarray, support: np.ndarray, upper: np.ndarray, bound: float) -> tuple[float, np.ndarray]:
    """Maximum of <weights, X>, and its vertex: X doubly stochastic, 0 outside `support`, upper vec(X) <= bound."""
    n = len(weights)
    sums = np.concatenate([np.kron(np.eye(n), np.ones(n)), np.kron(np.ones(n), np.eye(n))])
    limits = {"A_ub": upper, "b_ub": np.full(len(upper), bound)} if len(upper) else {}
    within = [(0, float(inside)) for inside in support.ravel()]
    solution = linprog(-weights.ravel(), A_eq=sums, b_eq=np.ones(2 * n), bounds=within, method="highs-ds", **limits)
    assert solution.status == 0
    return -solution.fun, solution.x.reshape(n, n)


def test_permutations_satisfy_it_if_and_only_if_they_are_legal() -> None:
    orders = np.array(list(permutations(range(4))))
    matrices = torch.from_numpy(np.eye(4)[slots_of(orders)])
    for precedes in random_precedes(20, 4, np.random.default_rng(0), 0.4):
        relation = np.broadcast_to(precedes, (24, 4, 4))
        satisfied = time_indexed_residual(matrices, partial_orders(relation).without_windows()) == 0
        assert (satisfied.numpy() == (count_violations(relation, orders) == 0)).all()


@given(cases(largest=6))
def test_all_conditions_hold_at_the_end(case: tuple[torch.Tensor, np.ndarray]) -> None:
    orders = partial_orders(case[1])
    result = time_indexed(case[0], orders, iterations=2000, tolerance=1e-6)
    n = orders.n
    for matrix, precedes in zip(result.numpy(), case[1], strict=True):
        assert (conditions(precedes) @ matrix.ravel() <= 2e-6 * n).all()  # violated signs add errors in closed slots
    assert residual(result, orders).max() <= 2e-6 * n * n  # and in expected slots


@given(cases(largest=6))
def test_the_mean_of_all_legal_orders_is_strictly_inside(case: tuple[torch.Tensor, np.ndarray]) -> None:
    n = case[1].shape[1]
    every = np.array(list(permutations(range(n))))
    for precedes in case[1]:
        legal = every[count_violations(np.broadcast_to(precedes, (len(every), n, n)), every) == 0]
        mean = np.eye(n)[slots_of(legal)].mean(0)
        orders = partial_orders(precedes[None])
        assert ((mean > 0) == orders.support()[0]).all()
        for a, b in np.argwhere(precedes):
            for t in range(orders.first[0, b], orders.last[0, a] + 1):
                assert mean[a, :t].sum() - mean[b, : t + 1].sum() > 1e-9


@pytest.mark.parametrize("n", [3, 5, 7])
def test_vertices_stay_and_no_step_leads_away_from_them(n: int) -> None:
    rng = np.random.default_rng(n)
    precedes, weights = random_precedes(10, n, rng), rng.normal(size=(10, n, n))
    orders = partial_orders(precedes)
    items = zip(weights, orders.support(), precedes, strict=True)
    vertices = torch.from_numpy(np.stack([largest(w, s, conditions(p), 0.0)[1] for w, s, p in items]))
    assert time_indexed_residual(vertices, orders).max() <= 1e-9
    assert torch.allclose(time_indexed(vertices, orders), vertices, atol=1e-9)
    proposal = torch.from_numpy(rng.normal(size=(10, n, n)))
    far = torch.full((10,), torch.inf)
    for iterations in (0, 1, 2, 4, 8):
        distance = (time_indexed(proposal, orders, iterations=iterations, tolerance=1e-9) - vertices).norm(dim=(1, 2))
        assert (distance <= far + 1e-9).all()
        far = distance


def test_it_bounds_legal_orders_tighter_than_expected_slots() -> None:
    n, rng = 6, np.random.default_rng(0)
    precedes, weights = random_precedes(30, n, rng), rng.normal(size=(30, n, n))
    orders = partial_orders(precedes)
    best = weight_of(weights, best_order(weights, orders).order, orders.sizes)
    windows, tighter = orders.support(), 0
    for item in range(30):
        slots = np.stack([np.outer(np.eye(n)[a] - np.eye(n)[b], np.arange(n)) for a, b in np.argwhere(precedes[item])])
        loose, _ = largest(weights[item], windows[item], slots.reshape(len(slots), -1), -1.0)
        tight, _ = largest(weights[item], windows[item], conditions(precedes[item]), 0.0)
        assert best[item] - 1e-7 <= tight <= loose + 1e-7
        tighter += tight < loose - 1e-6
    assert tighter > 5


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("n", [2, 10, 30])
def test_it_converges(n: int, dtype: torch.dtype) -> None:
    rng = np.random.default_rng(n)
    orders = partial_orders(random_precedes(50, n, rng, min(0.3, 3 / n)))
    result = time_indexed(torch.from_numpy(rng.normal(size=(50, n, n))).to(dtype).softmax(-1), orders, iterations=500)
    assert time_indexed_residual(result, orders).max() <= 1e-5
    assert ((result.sum(1) - 1).abs() < 1e-5).all() and ((result.sum(2) - 1).abs() < 1e-5).all()
    assert not result[torch.from_numpy(~orders.support())].any()


def test_items_do_not_influence_each_other() -> None:
    """Padding, infinities and NaN of one item change no other item."""
    rng = np.random.default_rng(0)
    precedes, sizes = random_precedes(8, 6, rng), rng.integers(1, 7, 8)
    orders = partial_orders(precedes, np.arange(6) < sizes[:, None])
    proposal = torch.from_numpy(rng.normal(size=(8, 6, 6)))
    for item, m in enumerate(sizes):
        proposal[item, m:], proposal[item, :, m:] = torch.nan, torch.inf
    whole = time_indexed(proposal, orders)
    for item, m in enumerate(sizes):
        alone = time_indexed(
            proposal[item : item + 1, :m, :m].clone(), partial_orders(precedes[item : item + 1, :m, :m])
        )
        assert torch.allclose(whole[item, :m, :m], alone[0], atol=1e-9)
        assert not whole[item, m:].any() and not whole[item, :, m:].any()
    broken = proposal.clone()
    broken[0, 0, 0], broken[1, 0, 0] = torch.nan, torch.inf
    result = time_indexed(broken, orders)
    assert result[0].isnan().any() and result[1:].isfinite().all()
    assert torch.allclose(result[2:], whole[2:], atol=1e-9)


def test_gradient() -> None:
    rng = np.random.default_rng(0)
    orders = partial_orders(random_precedes(3, 4, rng), np.arange(4) < np.array([[4], [3], [0]]))
    proposal = torch.from_numpy(rng.normal(size=(3, 4, 4))).requires_grad_()
    assert torch.autograd.gradcheck(lambda x: time_indexed(x, orders, iterations=10), (proposal,))
    assert not time_indexed(proposal, orders)[2].any()
