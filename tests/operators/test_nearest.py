"""`nearest` against independent solvers, and the properties of a projection."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch
from hypothesis import given

from learned_schedulers.operators.nearest import TOLERANCE, warn_of
from learned_schedulers.operators.orders import PartialOrders, partial_orders
from learned_schedulers.operators.popocs import popocs, residual
from tests.operators.made import cases, corpus_like, quadratic_program, random_precedes


def by_solver(proposal: np.ndarray, orders: PartialOrders, item: int) -> np.ndarray:
    """The projection by its definition, from an independent solver: min 1/2 |X - Y|^2 under all constraints."""
    n, slots = orders.n, np.arange(orders.n)
    support = orders.support()[item]
    rows = [np.kron(np.eye(n), np.ones(n)), np.kron(np.ones(n), np.eye(n)), np.eye(n * n)]
    low = [np.ones(2 * n), np.zeros(n * n)]
    high = [np.ones(2 * n), np.where(support.ravel(), np.inf, 0.0)]
    for e in range(orders.offsets[item], orders.offsets[item + 1]):
        row = np.zeros((n, n))
        row[orders.after[e]], row[orders.before[e]] = slots, -slots
        rows.append(row.reshape(1, -1))
        low.append(np.ones(1))
        high.append(np.full(1, np.inf))
    return quadratic_program(proposal.ravel(), rows, low, high).reshape(n, n)


def test_agrees_with_a_quadratic_programming_solver() -> None:
    rng = np.random.default_rng(0)
    for case in range(150):
        n = int(rng.integers(2, 21))
        proposal = rng.normal(size=(1, n, n)) * rng.choice([0.2, 1.0, 3.0])
        orders = partial_orders(random_precedes(1, n, rng, rng.choice([0.05, 0.2, 0.5])))
        if case % 2:
            orders = orders.without_windows()
        projection = popocs(torch.from_numpy(proposal), orders, method="nearest")[0].numpy()
        np.testing.assert_allclose(projection, by_solver(proposal[0], orders, 0), atol=1e-6, err_msg=str(case))


def chain(n: int) -> np.ndarray:
    return np.eye(n, k=1, dtype=bool)[None]


@pytest.mark.parametrize("windows", [True, False])
@pytest.mark.parametrize("scale", [0.1, 20.0, 1000.0, 1e6])
def test_hard_cases_are_solved_to_rounding(scale: float, windows: bool) -> None:
    """64 instructions, far proposals, total orders: there is no warning, so all conditions of the optimum hold."""
    rng = np.random.default_rng(0)
    relations = [corpus_like(3, 64, rng), chain(64), np.zeros((1, 64, 64), bool), random_precedes(1, 32, rng)]
    for precedes in relations:
        orders = partial_orders(precedes)
        proposal = torch.from_numpy(rng.normal(size=precedes.shape) * scale)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            projection = popocs(proposal, orders, method="nearest", windows=windows)
        assert residual(projection, orders).max() <= 1e-8
        torch.testing.assert_close(
            popocs(projection, orders, method="nearest", windows=windows), projection, atol=1e-8, rtol=0
        )


def test_a_warning_tells_of_steps_that_ran_out() -> None:
    warn_of(np.array([0.0, TOLERANCE]))
    with pytest.warns(RuntimeWarning, match="1 of 2 items"):
        warn_of(np.array([0.0, 1e-3]))


@given(cases(largest=8))
def test_no_projection_is_farther_apart_than_its_proposals(case: tuple[torch.Tensor, np.ndarray]) -> None:
    proposal, precedes = case
    orders = partial_orders(precedes)
    second = proposal.roll(1, 2) + 0.1 * proposal
    moved = popocs(proposal, orders, method="nearest") - popocs(second, orders, method="nearest")
    assert (moved.square().sum((1, 2)) <= (proposal - second).square().sum((1, 2)) + 1e-8).all()


@given(cases(largest=8))
def test_no_feasible_point_is_nearer(case: tuple[torch.Tensor, np.ndarray]) -> None:
    """The variational inequality <Y - P(Y), X - P(Y)> <= 0 at feasible points X from another method."""
    proposal, precedes = case
    orders = partial_orders(precedes)
    projection = popocs(proposal, orders, method="nearest")
    for point in (proposal, -proposal, torch.zeros_like(proposal)):
        feasible = popocs(point, orders, method="extrapolated", tolerance=1e-9)
        inner = ((proposal - projection) * (feasible - projection)).sum((1, 2))
        assert (inner <= 1e-6 * (1 + proposal.abs().amax((1, 2)))).all()


@pytest.mark.slow
def test_the_derivative_is_a_symmetric_projection() -> None:
    rng = np.random.default_rng(3)
    orders = partial_orders(random_precedes(1, 6, rng))
    proposal = torch.from_numpy(rng.normal(size=(1, 6, 6)))
    jacobian = torch.autograd.functional.jacobian(lambda y: popocs(y, orders, method="nearest"), proposal).view(36, 36)
    torch.testing.assert_close(jacobian, jacobian.T, atol=1e-10, rtol=0)
    torch.testing.assert_close(jacobian @ jacobian, jacobian, atol=1e-10, rtol=0)
