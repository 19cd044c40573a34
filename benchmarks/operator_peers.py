"""The peers of `benchmarks/operators.py`: each is set up for a batch and gives one projection to time.

Every maker takes (orders, tolerance) and returns a function from (B, n, n) proposals to projections,
differentiable by autograd. Setting up is not timed; what has to be done for every batch of new DAGs is.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from pipeline.operators.orders import PartialOrders
from pipeline.operators.popocs import popocs, residual

Projection = Callable[[torch.Tensor], torch.Tensor]
_CYCLIC_MOST = 20_480  # iterations


def ours(method: str, iterations: int | None = None) -> Callable[[PartialOrders, torch.Tensor], Projection]:
    def make(orders: PartialOrders, sample: torch.Tensor) -> Projection:
        return lambda y: popocs(y, orders, method=method, iterations=iterations)  # type: ignore[arg-type]

    return make


def cyclic_iterations(orders: PartialOrders, sample: torch.Tensor, goal: float = 1e-5) -> int:
    """How many cyclic iterations bring the median residual to the goal, in powers of two times 20."""
    iterations = 20
    while iterations < _CYCLIC_MOST:
        if residual(popocs(sample.double(), orders, method="cyclic", iterations=iterations), orders).median() <= goal:
            break
        iterations *= 2
    return iterations


def cyclic_loop(iterations: int) -> Callable[[PartialOrders, torch.Tensor], Projection]:
    """The paper's algorithm in plain PyTorch, its dependencies already on expected slots."""

    def make(orders: PartialOrders, sample: torch.Tensor) -> Projection:
        n = orders.n
        before, after, real = orders.padded()
        normals = torch.zeros(*before.shape, n)
        item, edge = np.nonzero(real)
        normals[item, edge, before[item, edge]] = -1.0
        normals[item, edge, after[item, edge]] = 1.0
        v = torch.arange(1, n + 1, dtype=torch.float32)

        def project(x: torch.Tensor) -> torch.Tensor:
            for _ in range(iterations):
                x = x + (1 - x.sum(-1, keepdim=True)) / n
                x = x + (1 - x.sum(-2, keepdim=True)) / n
                x = x.relu()
                slots = moved = x @ v
                for normal in normals.unbind(1):
                    moved = moved + (1 - (moved * normal).sum(-1, keepdim=True)).relu() / 2 * normal
                x = x + (moved - slots).unsqueeze(-1) * (v / v.square().sum())
            return x

        return project

    return make


def _rows(orders: PartialOrders) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Equalities (2n, n^2) and dependencies (B, E, n^2): x_b - x_a, with which of them are real (B, E)."""
    n = orders.n
    equal = np.vstack([np.kron(np.eye(n), np.ones(n)), np.kron(np.ones(n), np.eye(n))])
    before, after, real = orders.padded()
    slots = np.arange(n) - (n - 1) / 2
    gaps = np.zeros((*before.shape, n, n))
    for b, e in zip(*np.nonzero(real), strict=True):
        gaps[b, e, before[b, e]], gaps[b, e, after[b, e]] = -slots, slots
    return equal, gaps.reshape(*before.shape, n * n), real


def qpth(orders: PartialOrders, sample: torch.Tensor) -> Projection:
    """qpth: dense interior point. One redundant equality is left out, as it needs full rank.

    Batched up to n = 10; beyond, its batched LU fails (qpth 0.0.18 with PyTorch 2.13 on the CPU:
    "Pivots given to lu_solve must all be greater or equal to 1"), and items go one by one.
    """
    from qpth.qp import QPFunction, QPSolvers

    n = orders.n
    equal, gaps, real = _rows(orders)
    size = len(orders)
    quadratic = torch.eye(n * n).double()
    signs = -torch.eye(n * n).double().expand(size, -1, -1)
    inequalities = torch.cat([signs, -torch.from_numpy(gaps).double()], 1)
    bounds = torch.cat([torch.zeros(size, n * n), torch.where(torch.from_numpy(real), -1.0, 1.0)], 1).double()
    equalities, ones = torch.from_numpy(equal[:-1]).double(), torch.ones(2 * n - 1).double()
    solver = QPFunction(verbose=-1, check_Q_spd=False, solver=QPSolvers.PDIPM_BATCHED)
    piece = size if n <= 10 else 1

    def project(y: torch.Tensor) -> torch.Tensor:
        parts = zip(y.double().flatten(1).split(piece), inequalities.split(piece), bounds.split(piece), strict=True)
        return torch.cat([solver(quadratic, -x, g, h, equalities, ones) for x, g, h in parts]).view(y.shape)

    return project


def cvxpylayers(orders: PartialOrders, sample: torch.Tensor) -> Projection:
    """cvxpylayers with Clarabel under diffcp; the dependencies act on expected slots."""
    import cvxpy as cp
    from cvxpylayers.torch import CvxpyLayer

    n = orders.n
    before, after, real = orders.padded()
    normals = np.zeros((*before.shape, n))
    b, e = np.nonzero(real)
    normals[b, e, before[b, e]], normals[b, e, after[b, e]] = -1, 1
    matrix, proposal = cp.Variable((n, n)), cp.Parameter((n, n))
    edges, least = cp.Parameter((before.shape[1], n)), cp.Parameter(before.shape[1])
    slots = cp.Variable(n)
    conditions = [cp.sum(matrix, 0) == 1, cp.sum(matrix, 1) == 1, matrix >= 0, slots == matrix @ np.arange(n)]
    problem = cp.Problem(cp.Minimize(cp.sum_squares(matrix - proposal)), [*conditions, edges @ slots >= least])
    layer = CvxpyLayer(problem, parameters=[proposal, edges, least], variables=[matrix])
    given = torch.from_numpy(normals), torch.from_numpy(np.where(real, 1.0, -1.0))
    return lambda y: layer(y.double(), *given)[0]


def linsatnet(orders: PartialOrders, sample: torch.Tensor) -> Projection:
    """LinSATNet, looped over the items, for its constraints are shared by a batch.

    Its best form of those tried: the time-indexed dependencies, which have coefficients 0 and 1,
    sum_{j <= t} X_bj + sum_{j >= t} X_aj <= 1 for every slot t, with tau = 1. With the dependencies on
    expected slots (coefficients j and n + 1 - j), or a smaller tau, it is faster by up to a factor of
    5 and ends at residuals of 1 to 7.
    """
    from LinSATNet import init_constraints, linsat_layer

    n = orders.n
    equal, _, _ = _rows(orders)
    made = []
    for b in range(len(orders)):
        before = orders.before[orders.offsets[b] : orders.offsets[b + 1]]
        after = orders.after[orders.offsets[b] : orders.offsets[b + 1]]
        at_most = torch.zeros(len(before), n, n, n)  # [dependency, t, instruction, slot]
        for e, (first, then) in enumerate(zip(before, after, strict=True)):
            for t in range(n):
                at_most[e, t, then, : t + 1], at_most[e, t, first, t:] = 1, 1
        parts = {"E": torch.from_numpy(equal).float(), "f": torch.ones(2 * n)}
        if len(before):
            parts |= {"A": at_most.flatten(0, 1).flatten(1), "b": torch.ones(len(before) * n)}
        made.append(init_constraints(n * n, **parts))

    def project(y: torch.Tensor) -> torch.Tensor:
        found = [
            linsat_layer(item.flatten(), constr_dict=one, tau=1.0, max_iter=100, no_warning=True)
            for item, one in zip(y.float(), made, strict=True)
        ]
        return torch.stack(found).view(y.shape)

    return project
