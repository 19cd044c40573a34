"""EPOCS: each set's projection against its definition, intersections against a solver, gradients, memory."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any, get_args

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.autograd.graph import saved_tensors_hooks

from pipeline.operators.constraints import AffineEqualities, Box, Constraint, HalfSpaces, NonNegative, Simplex
from pipeline.operators.epocs import Epocs, Method, epocs, violation
from pipeline.operators.orders import partial_orders
from pipeline.operators.popocs import popocs, residual
from tests.operators.made import quadratic_program, random_precedes

METHODS = get_args(Method)
B, D = 4, 6
STORED = {  # how a matrix (B, k, d) is handed over
    "shared, dense": lambda a: a[0],
    "shared, sparse": lambda a: a[0].to_sparse(),
    "per item, dense": lambda a: a,
    "per item, sparse": lambda a: a.to_sparse(),
}
Store = Callable[[torch.Tensor], torch.Tensor]


def normal(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.double)


def thin(*shape: int, seed: int = 0) -> torch.Tensor:
    """Half zeros, never a row of them."""
    matrix = normal(*shape, seed=seed)
    matrix[..., 1::2] *= normal(*shape[:-1], shape[-1] // 2, seed=seed + 100) > 0
    return matrix


def through(store: Store, matrix: torch.Tensor, point: torch.Tensor) -> torch.Tensor:
    """A times a point (d,), in the shape that fits the stored A."""
    right = matrix @ point
    return right if store(matrix).dim() == 3 else right[0]


def several(store: Store = STORED["per item, dense"], size: int = B, d: int = D, seed: int = 5) -> list[Constraint]:
    """Sets that have 1/d, and more, in common."""
    middle = torch.full((d,), 1 / d).double()
    a, c = thin(size, 3, d, seed=seed), thin(size, 1, d, seed=seed + 1)
    sums = torch.cat([torch.ones(size, 1, d).double(), c], 1)
    return [
        AffineEqualities(store(sums), through(store, sums, middle)),
        NonNegative(),
        HalfSpaces(store(a), through(store, a, middle) + 0.05),
    ]


def sets() -> dict[str, Constraint]:
    """Every kind, each of which holds the point 1/6."""
    inside = torch.full((D,), 1 / D).double()
    made: dict[str, Constraint] = {
        "box": Box(0.0, torch.full((D,), 0.5).double()),
        "box, per item": Box(normal(B, D, seed=8).abs() * -0.1, torch.inf),
        "non-negative": NonNegative(),
        "simplex": Simplex(),
        "simplexes": Simplex(total=0.5, shape=(2, 3)),
    }
    for name, store in STORED.items():
        a, one = thin(B, 3, D, seed=1), thin(B, 1, D, seed=3)
        twice = torch.cat([a, a], 1)
        made[f"equalities, {name}"] = AffineEqualities(store(a), through(store, a, inside))
        made[f"redundant equalities, {name}"] = AffineEqualities(store(twice), through(store, twice, inside))
        made[f"half-space, {name}"] = HalfSpaces(store(one), through(store, one, inside) + 0.1)
    return made


@pytest.mark.parametrize("name", sets())
def test_a_projection_is_in_the_set_and_the_nearest_there(name: str) -> None:
    one, y = sets()[name], 2 * normal(B, D)
    found = one.project(y)
    assert one.violation(y).max() > 0.01 and one.violation(found).max() < 1e-10
    torch.testing.assert_close(one.project(found), found)
    for seed in range(20):  # <y - P(y), x - P(y)> <= 0 for x in the set
        other = one.project(normal(B, D, seed=seed))
        assert ((y - found) * (other - found)).sum(1).max() < 1e-9


def test_many_half_spaces_step_towards_all_of_them() -> None:
    inside = torch.full((D,), 1 / D).double()
    for name, store in STORED.items():
        a = thin(B, 5, D, seed=4)
        many, y = HalfSpaces(store(a), through(store, a, inside)), normal(B, D)
        moved = many.project(y)
        assert ((moved - inside).square().sum(1) <= (y - inside).square().sum(1)).all(), name  # Fejer
        worst = torch.stack([part.violation(y) for part in many.parts()]).amax(0)
        assert len(many.parts()) == 5
        torch.testing.assert_close(worst, many.violation(y))


def test_rows_of_zeros_constrain_nothing() -> None:
    y = normal(B, D)
    for matrix in (torch.zeros(B, 2, D).double(), torch.zeros(B, 2, D).double().to_sparse()):
        empty = HalfSpaces(matrix, torch.full((B, 2), -1.0).double())
        assert torch.equal(empty.project(y), y) and (empty.violation(y) == 0).all()
        padding = AffineEqualities(matrix, torch.zeros(B, 2).double())
        assert torch.equal(padding.project(y), y) and (padding.violation(y) == 0).all()
    assert (HalfSpaces(torch.zeros(B, 0, D).double(), torch.zeros(B, 0).double()).violation(y) == 0).all()


@given(st.integers(0, 2**32), st.integers(2, 7), st.integers(1, 2), st.integers(1, 4), st.sampled_from(sorted(STORED)))
@settings(max_examples=10)  # sets that meet at tiny angles take Dykstra for ever
def test_intersections_agree_with_a_quadratic_programming_solver(
    seed: int, d: int, equations: int, inequalities: int, stored: str
) -> None:
    """Every method ends in all sets and no farther from any of their points; "dykstra" at the nearest."""
    store, size = STORED[stored], 2
    equal, less = thin(size, equations, d, seed=seed), thin(size, inequalities, d, seed=seed + 1)
    middle = normal(d, seed=seed + 2).softmax(0)
    right, bound = through(store, equal, middle), through(store, less, middle) + 0.1
    high = middle + 0.5
    constraints = [AffineEqualities(store(equal), right), HalfSpaces(store(less), bound), Box(0.0, high)]
    y = 2 * normal(size, d, seed=seed + 3)
    nearest = []
    for b in range(size):
        a, c = (m[b if store(m).dim() == 3 else 0].numpy() for m in (equal, less))
        r, s = (v.expand(size, -1)[b].numpy() for v in (right, bound))
        low = [r, np.full(inequalities, -np.inf), np.zeros(d)]
        nearest.append(quadratic_program(y[b].numpy(), [a, c, np.eye(d)], low, [r, s, high.numpy()]))
    best = torch.from_numpy(np.stack(nearest))
    found = epocs(y, constraints, method="dykstra", iterations=20_000, tolerance=1e-9)
    torch.testing.assert_close(found, best, atol=1e-6, rtol=0)
    for method in ("cyclic", "extrapolated"):
        found = epocs(y, constraints, method=method, iterations=5000, tolerance=1e-7)
        assert violation(found, constraints).max() <= 1e-7
        for point in (best, middle):
            assert ((found - point).norm(dim=1) <= (y - point).norm(dim=1) + 1e-7).all()


def test_dykstra_waits_while_its_point_stands_still() -> None:
    """A corner of a box beside a far proposal: the point does not move for many iterations, the corrections do."""
    line = AffineEqualities(torch.tensor([[1.0, 1.0]]).double(), torch.tensor([1.0]).double())
    y = torch.tensor([[-40.0, 39.0]]).double()
    found = epocs(y, [Box(0.0, 10.0), line], method="dykstra", iterations=10_000, tolerance=1e-9)
    torch.testing.assert_close(found, torch.tensor([[0.0, 1.0]]).double())


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("stored", STORED)
def test_gradient(method: Method, stored: str) -> None:
    y, constraints = normal(2, D).requires_grad_(), several(STORED[stored], size=2)
    assert torch.autograd.gradcheck(lambda x: epocs(x, constraints, method=method, iterations=6), (y,))


@pytest.mark.parametrize("method", METHODS)
def test_gradient_of_the_constraints(method: Method) -> None:
    """Matrices and right sides can be learnt, or be put out by a network."""

    def layer(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor, d: torch.Tensor) -> torch.Tensor:
        constraints: list[Constraint] = [AffineEqualities(a, b), HalfSpaces(c, d), NonNegative()]
        return epocs(normal(2, 4), constraints, method=method, iterations=3)

    shapes = [(2, 1, 4), (2, 1), (2, 2, 4), (2, 2)]
    assert torch.autograd.gradcheck(layer, [normal(*shape, seed=k).requires_grad_() for k, shape in enumerate(shapes)])


@pytest.mark.parametrize("method", METHODS)
def test_recomputation_saves_memory_and_changes_nothing(method: Method) -> None:
    iterations, constraints = 30, several()

    def run(recompute: bool) -> tuple[torch.Tensor, int]:
        """The gradient, and the bytes kept for it."""
        y = normal(B, D).requires_grad_()
        kept: dict[int, int] = {}

        def note(tensor: torch.Tensor) -> torch.Tensor:
            kept[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
            return tensor

        layer = Epocs(method=method, iterations=iterations, tolerance=0.0, recompute=recompute)
        with saved_tensors_hooks(note, lambda tensor: tensor):
            found = layer(y, constraints)
        (gradient,) = torch.autograd.grad((found * normal(B, D, seed=1)).sum(), y)
        return gradient, sum(kept.values())

    (expected, whole), (gradient, part) = run(False), run(True)
    points = iterations * B * D * 8 * (1 + (len(several()) + 2 if method == "dykstra" else 0))  # held by checkpoints
    torch.testing.assert_close(gradient, expected, atol=1e-12, rtol=1e-12)
    assert part + points < (1.0 if method == "dykstra" else 0.5) * whole  # a correction for every set is much to hold


@pytest.mark.parametrize("method", METHODS)
def test_items_do_not_influence_each_other(method: Method) -> None:
    y, constraints = normal(B, D), several()
    whole = epocs(y, constraints, method=method)
    equal, _, less = constraints
    assert isinstance(equal, AffineEqualities) and isinstance(less, HalfSpaces)
    own: list[Constraint] = [
        AffineEqualities(equal.matrix[2:3], equal.right[2:3]), NonNegative(),
        HalfSpaces(less.matrix[2:3], less.right[2:3]),
    ]  # fmt: skip
    torch.testing.assert_close(whole[2:3], epocs(y[2:3], own, method=method))


@pytest.mark.parametrize("method", METHODS)
def test_float32_reaches_the_tolerance(method: Method) -> None:
    a, c = thin(64, 4, 40, seed=2).float(), thin(64, 10, 40, seed=3).float()
    middle = torch.full((40,), 1 / 40)
    constraints: list[Constraint] = [
        AffineEqualities(a, a @ middle), HalfSpaces(c, c @ middle + 0.01), Box(0.0, 1.0),
    ]  # fmt: skip
    found = epocs(normal(64, 40).float(), constraints, method=method, iterations=3000)
    assert violation(found, constraints).max() <= 1e-5


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
    found = epocs(proposal.flatten(1), constraints, method="dykstra", iterations=5000, tolerance=1e-8)
    torch.testing.assert_close(found.view(size, n, n), popocs(proposal, orders, method="nearest"), atol=1e-6, rtol=0)
    near = epocs(proposal.flatten(1), constraints, method="extrapolated", iterations=2000)
    assert residual(near.view(size, n, n), orders).max() <= 1e-4


def test_nothing_to_hold_and_wrong_arguments() -> None:
    y = normal(2, D)
    assert epocs(y, []) is y
    with pytest.raises(ValueError, match="method"):
        epocs(y, [NonNegative()], method="best")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="relaxation"):
        epocs(y, [NonNegative()], relaxation=2.0)
    kinds: list[Any] = [AffineEqualities, HalfSpaces]
    for kind, (matrix, right) in product(kinds, [((D,), (1,)), ((3, D), (2,)), ((3, D), ())]):
        with pytest.raises(ValueError, match="is needed"):
            kind(torch.zeros(matrix), torch.zeros(right))
