"""EPOCS: each set's projection against its definition, intersections against a solver, gradients."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest
import torch

from pipeline.operators.constraints import AffineEqualities, Box, Constraint, HalfSpaces, NonNegative, Simplex
from pipeline.operators.epocs import Epocs, Method, epocs, violation
from pipeline.operators.orders import partial_orders
from pipeline.operators.popocs import popocs, residual
from tests.operators.made import random_precedes

METHODS = get_args(Method)
D = 6


def normal(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.double)


def sets() -> dict[str, Constraint]:
    """Every kind, each of which holds the point 1/6, shared and per item."""
    inside = torch.full((D,), 1 / D).double()
    a, b = normal(3, D, seed=1), normal(8, 2, D, seed=2)
    one = normal(8, 1, D, seed=3)
    return {
        "equalities": AffineEqualities(a, a @ inside),
        "equalities, redundant": AffineEqualities(torch.cat([a, a]), torch.cat([a @ inside] * 2)),
        "equalities, sparse": AffineEqualities(a.to_sparse(), a @ inside),
        "equalities, per item": AffineEqualities(b, b @ inside),
        "half-space, per item": HalfSpaces(one, one @ inside + 0.1),
        "box": Box(0.0, torch.full((D,), 0.5).double()),
        "non-negative": NonNegative(),
        "simplex": Simplex(),
        "simplexes": Simplex(total=0.5, shape=(2, 3)),
    }


@pytest.mark.parametrize("name", sets())
def test_a_projection_is_in_the_set_and_the_nearest_there(name: str) -> None:
    one, y = sets()[name], normal(8, D)
    found = one.project(y)
    assert one.violation(y).max() > 0.01 and one.violation(found).max() < 1e-10
    torch.testing.assert_close(one.project(found), found)
    for seed in range(20):  # <y - P(y), x - P(y)> <= 0 for x in the set
        other = one.project(normal(8, D, seed=seed))
        assert ((y - found) * (other - found)).sum(1).max() < 1e-9


def test_many_half_spaces_step_towards_all_of_them() -> None:
    a = normal(8, 5, D, seed=4)
    many = HalfSpaces(a, a @ torch.full((D,), 1 / D).double())
    y, inside = normal(8, D), torch.full((8, D), 1 / D).double()
    moved = many.project(y)
    assert ((moved - inside).square().sum(1) <= (y - inside).square().sum(1)).all()  # Fejer
    assert len(many.parts()) == 5
    torch.testing.assert_close(torch.stack([part.violation(y) for part in many.parts()]).amax(0), many.violation(y))


def test_rows_of_zeros_constrain_nothing() -> None:
    y = normal(8, D)
    empty = HalfSpaces(torch.zeros(8, 2, D).double(), torch.full((8, 2), -1.0).double())
    assert torch.equal(empty.project(y), y) and (empty.violation(y) == 0).all()
    assert (HalfSpaces(torch.zeros(8, 0, D).double(), torch.zeros(8, 0).double()).violation(y) == 0).all()


def several() -> list[Constraint]:
    a = normal(8, 3, D, seed=5)
    return [
        AffineEqualities(torch.ones(1, D).double(), torch.ones(1).double()),
        NonNegative(),
        HalfSpaces(a, a @ torch.full((D,), 1 / D).double() + 0.05),
    ]


@pytest.mark.parametrize("method", METHODS)
def test_every_item_ends_in_all_sets(method: Method) -> None:
    found = epocs(normal(8, D), several(), method=method, iterations=5000, tolerance=1e-7)
    assert violation(found, several()).max() <= 1e-7


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("recompute", [False, True])
def test_gradient(method: Method, recompute: bool) -> None:
    y = normal(8, D).requires_grad_()
    layer = Epocs(method=method, iterations=8, recompute=recompute)
    assert torch.autograd.gradcheck(lambda x: layer(x, several()), (y,))


@pytest.mark.parametrize("method", METHODS)
def test_items_do_not_influence_each_other(method: Method) -> None:
    y, constraints = normal(8, D), several()
    whole = epocs(y, constraints, method=method)
    halves = constraints[2]
    assert isinstance(halves, HalfSpaces)
    alone = epocs(y[2:3], [*constraints[:2], HalfSpaces(halves.matrix[2:3], halves.right[2:3])], method=method)
    torch.testing.assert_close(whole[2:3], alone)


def test_dykstra_is_the_nearest_point_as_popocs_finds_it() -> None:
    rng = np.random.default_rng(0)
    n, size = 4, 10
    orders = partial_orders(random_precedes(size, n, rng))
    before, after, real = orders.padded()
    gaps = np.zeros((*real.shape, n, n))
    for b, e in np.argwhere(real):
        gaps[b, e, before[b, e]], gaps[b, e, after[b, e]] = np.arange(n), -np.arange(n)
    sums = np.vstack([np.kron(np.eye(n), np.ones(n)), np.kron(np.ones(n), np.eye(n))])
    constraints: list[Constraint] = [
        AffineEqualities(torch.from_numpy(sums), torch.ones(2 * n).double()),
        HalfSpaces(torch.from_numpy(gaps).flatten(2), torch.from_numpy(np.where(real, -1.0, 0.0))),
        Box(0.0, torch.from_numpy(orders.support()).double().flatten(1)),
    ]
    proposal = torch.from_numpy(rng.normal(size=(size, n, n)))
    found = epocs(proposal.flatten(1), constraints, method="dykstra", iterations=20_000, tolerance=1e-10)
    torch.testing.assert_close(found.view(size, n, n), popocs(proposal, orders, method="nearest"), atol=1e-6, rtol=0)
    near = epocs(proposal.flatten(1), constraints, method="extrapolated", iterations=2000)
    assert residual(near.view(size, n, n), orders).max() <= 1e-4


def test_nothing_to_hold_and_unknown_methods() -> None:
    y = normal(2, D)
    assert epocs(y, []) is y
    with pytest.raises(ValueError, match="method"):
        epocs(y, [NonNegative()], method="best")  # type: ignore[arg-type]
