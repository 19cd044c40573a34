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

from learned_schedulers.operators.constraints import AffineEqualities, Box, Constraint, HalfSpaces, NonNegative, Simplex
from learned_schedulers.operators.epocs import Epocs, Method, epocs, violation
from learned_schedulers.operators.orders import partial_orders
from learned_schedulers.operators.popocs import popocs, residual
from tests.operators.made import quadratic_program, random_precedes

METHODS = get_args(Method)
B, D = 4, 6
STORED = {  # forms of a matrix (B, k, d)
    "shared, dense": lambda a: a[0],
    "shared, sparse": lambda a: a[0].to_sparse(),
    "per item, dense": lambda a: a,
    "per item, sparse": lambda a: a.to_sparse(),
}
Store = Callable[[torch.Tensor], torch.Tensor]


def normal(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.double)


def sparse_normal(*shape: int, seed: int = 0) -> torch.Tensor:
    """Normal numbers of which about a quarter are 0, but no whole row."""
    matrix = normal(*shape, seed=seed)
    matrix[..., 1::2] *= normal(*shape[:-1], shape[-1] // 2, seed=seed + 100) > 0
    return matrix


def right_side(store: Store, matrix: torch.Tensor, point: torch.Tensor) -> torch.Tensor:
    """A times a point (d,), with the shape that fits the stored A."""
    right = matrix @ point
    return right if store(matrix).dim() == 3 else right[0]


def meeting_sets(
    store: Store = STORED["per item, dense"], size: int = B, d: int = D, seed: int = 5
) -> list[Constraint]:
    """Sets whose intersection contains the point 1/d and others."""
    middle = torch.full((d,), 1 / d).double()
    a, c = sparse_normal(size, 3, d, seed=seed), sparse_normal(size, 1, d, seed=seed + 1)
    sums = torch.cat([torch.ones(size, 1, d).double(), c], 1)
    return [
        AffineEqualities(store(sums), right_side(store, sums, middle)),
        NonNegative(),
        HalfSpaces(store(a), right_side(store, a, middle) + 0.05),
    ]


def sets() -> dict[str, Constraint]:
    """Sets of every kind; each contains the point 1/6."""
    inside = torch.full((D,), 1 / D).double()
    constraints: dict[str, Constraint] = {
        "box": Box(0.0, torch.full((D,), 0.5).double()),
        "box, per item": Box(normal(B, D, seed=8).abs() * -0.1, torch.inf),
        "non-negative": NonNegative(),
        "simplex": Simplex(),
        "simplexes": Simplex(total=0.5, shape=(2, 3)),
    }
    for name, store in STORED.items():
        a, single = sparse_normal(B, 3, D, seed=1), sparse_normal(B, 1, D, seed=3)
        doubled = torch.cat([a, a], 1)
        constraints[f"equalities, {name}"] = AffineEqualities(store(a), right_side(store, a, inside))
        constraints[f"redundant equalities, {name}"] = AffineEqualities(
            store(doubled), right_side(store, doubled, inside)
        )
        constraints[f"half-space, {name}"] = HalfSpaces(store(single), right_side(store, single, inside) + 0.1)
    return constraints


@pytest.mark.parametrize("name", sets())
def test_a_projection_is_in_the_set_and_the_nearest_there(name: str) -> None:
    constraint, y = sets()[name], 2 * normal(B, D)
    projection = constraint.project(y)
    assert constraint.violation(y).max() > 0.01 and constraint.violation(projection).max() < 1e-10
    torch.testing.assert_close(constraint.project(projection), projection)
    for seed in range(20):  # <y - P(y), x - P(y)> <= 0 for x in the set
        point = constraint.project(normal(B, D, seed=seed))
        assert ((y - projection) * (point - projection)).sum(1).max() < 1e-9


def test_many_half_spaces_step_towards_all_of_them() -> None:
    inside = torch.full((D,), 1 / D).double()
    for name, store in STORED.items():
        a = sparse_normal(B, 5, D, seed=4)
        many, y = HalfSpaces(store(a), right_side(store, a, inside)), normal(B, D)
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
@settings(max_examples=10)  # Dykstra's method is very slow for sets that meet at tiny angles
def test_intersections_agree_with_a_quadratic_programming_solver(
    seed: int, d: int, equations: int, inequalities: int, stored: str
) -> None:
    """Every method ends in all sets and increases no distance to their points; "dykstra" ends at the nearest point."""
    store, size = STORED[stored], 2
    equation_matrix = sparse_normal(size, equations, d, seed=seed)
    inequality_matrix = sparse_normal(size, inequalities, d, seed=seed + 1)
    middle = normal(d, seed=seed + 2).softmax(0)
    right, bound = right_side(store, equation_matrix, middle), right_side(store, inequality_matrix, middle) + 0.1
    high = middle + 0.5
    constraints = [
        AffineEqualities(store(equation_matrix), right),
        HalfSpaces(store(inequality_matrix), bound),
        Box(0.0, high),
    ]
    y = 2 * normal(size, d, seed=seed + 3)
    nearest = []
    for b in range(size):
        a, c = (m[b if store(m).dim() == 3 else 0].numpy() for m in (equation_matrix, inequality_matrix))
        r, s = (v.expand(size, -1)[b].numpy() for v in (right, bound))
        low = [r, np.full(inequalities, -np.inf), np.zeros(d)]
        nearest.append(quadratic_program(y[b].numpy(), [a, c, np.eye(d)], low, [r, s, high.numpy()]))
    best = torch.from_numpy(np.stack(nearest))
    result = epocs(y, constraints, method="dykstra", iterations=20_000, tolerance=1e-9)
    torch.testing.assert_close(result, best, atol=1e-6, rtol=0)
    for method in ("cyclic", "extrapolated"):
        result = epocs(y, constraints, method=method, iterations=5000, tolerance=1e-7)
        assert violation(result, constraints).max() <= 1e-7
        for point in (best, middle):
            assert ((result - point).norm(dim=1) <= (y - point).norm(dim=1) + 1e-7).all()


def test_dykstra_waits_while_its_point_stands_still() -> None:
    """A corner of a box and a far proposal: for many iterations the point does not move, but the corrections do."""
    line = AffineEqualities(torch.tensor([[1.0, 1.0]]).double(), torch.tensor([1.0]).double())
    y = torch.tensor([[-40.0, 39.0]]).double()
    result = epocs(y, [Box(0.0, 10.0), line], method="dykstra", iterations=10_000, tolerance=1e-9)
    torch.testing.assert_close(result, torch.tensor([[0.0, 1.0]]).double())


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("stored", STORED)
def test_gradient(method: Method, stored: str) -> None:
    y, constraints = normal(2, D).requires_grad_(), meeting_sets(STORED[stored], size=2)
    assert torch.autograd.gradcheck(lambda x: epocs(x, constraints, method=method, iterations=6), (y,))


@pytest.mark.parametrize("method", METHODS)
def test_gradient_of_the_constraints(method: Method) -> None:
    """Matrices and right sides can be parameters or outputs of a network."""

    def layer(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor, d: torch.Tensor) -> torch.Tensor:
        constraints: list[Constraint] = [AffineEqualities(a, b), HalfSpaces(c, d), NonNegative()]
        return epocs(normal(2, 4), constraints, method=method, iterations=3)

    shapes = [(2, 1, 4), (2, 1), (2, 2, 4), (2, 2)]
    assert torch.autograd.gradcheck(layer, [normal(*shape, seed=k).requires_grad_() for k, shape in enumerate(shapes)])


@pytest.mark.parametrize("method", METHODS)
def test_recomputation_saves_memory_and_changes_nothing(method: Method) -> None:
    iterations, constraints = 30, meeting_sets()

    def run(recompute: bool) -> tuple[torch.Tensor, int]:
        """The gradient, and the bytes that autograd stores for it."""
        y = normal(B, D).requires_grad_()
        sizes: dict[int, int] = {}

        def note(tensor: torch.Tensor) -> torch.Tensor:
            sizes[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
            return tensor

        layer = Epocs(method=method, iterations=iterations, tolerance=0.0, recompute=recompute)
        with saved_tensors_hooks(note, lambda tensor: tensor):
            result = layer(y, constraints)
        (gradient,) = torch.autograd.grad((result * normal(B, D, seed=1)).sum(), y)
        return gradient, sum(sizes.values())

    (expected, whole), (gradient, part) = run(False), run(True)
    points = (
        iterations * B * D * 8 * (1 + (len(meeting_sets()) + 2 if method == "dykstra" else 0))
    )  # stored by checkpoints
    torch.testing.assert_close(gradient, expected, atol=1e-12, rtol=1e-12)
    assert part + points < (1.0 if method == "dykstra" else 0.5) * whole  # the corrections of all sets need much memory


@pytest.mark.parametrize("method", METHODS)
def test_items_do_not_influence_each_other(method: Method) -> None:
    y, constraints = normal(B, D), meeting_sets()
    whole = epocs(y, constraints, method=method)
    equations, _, half_spaces = constraints
    assert isinstance(equations, AffineEqualities) and isinstance(half_spaces, HalfSpaces)
    item_constraints: list[Constraint] = [
        AffineEqualities(equations.matrix[2:3], equations.right[2:3]), NonNegative(),
        HalfSpaces(half_spaces.matrix[2:3], half_spaces.right[2:3]),
    ]  # fmt: skip
    torch.testing.assert_close(whole[2:3], epocs(y[2:3], item_constraints, method=method))


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
    result = epocs(proposal.flatten(1), constraints, method="dykstra", iterations=5000, tolerance=1e-8)
    torch.testing.assert_close(result.view(size, n, n), popocs(proposal, orders, method="nearest"), atol=1e-6, rtol=0)
    feasible = epocs(proposal.flatten(1), constraints, method="extrapolated", iterations=2000)
    assert residual(feasible.view(size, n, n), orders).max() <= 1e-4


def test_no_constraints_and_wrong_arguments() -> None:
    y = normal(2, D)
    assert epocs(y, []) is y
    with pytest.raises(ValueError, match="method"):
        epocs(y, [NonNegative()], method="best")
    with pytest.raises(ValueError, match="relaxation"):
        epocs(y, [NonNegative()], relaxation=2.0)
    kinds: list[Any] = [AffineEqualities, HalfSpaces]
    for kind, (matrix, right) in product(kinds, [((D,), (1,)), ((3, D), (2,)), ((3, D), ())]):
        with pytest.raises(ValueError, match="is needed"):
            kind(torch.zeros(matrix), torch.zeros(right))
