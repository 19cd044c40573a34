"""The peers: each is set up for a batch and returns one projection to time.

A maker takes the partial orders of a batch and returns a function from (B, n, n) proposals to
projections, differentiable by autograd. Bringing the DAGs into a peer's own form (matrices,
parameters, our `PartialOrders`) is not timed, for any of them.

Each is used at the best of the settings tried, at an equal or a looser residual than ours.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from learned_schedulers.operators.orders import PartialOrders
from learned_schedulers.operators.popocs import Method, popocs, residual

Projection = Callable[[torch.Tensor], torch.Tensor]
Maker = Callable[[PartialOrders], Projection]

GOAL = 1e-5  # median residual that the cyclic loop runs to
_MOST = 5_120  # iterations
_PROBES = 64  # items that the iterations are counted on
_TAPE = 2e9  # bytes that autograd may keep of a loop's iterations


def ours(method: Method) -> Maker:
    """POPOCS at its defaults: 20 iterations for `cyclic`, at most 60 and 1e-5 for `extrapolated`."""
    return lambda orders: lambda y: popocs(y, orders, method=method)


def cyclic_iterations(orders: PartialOrders, proposal: torch.Tensor) -> int:
    """How many cyclic iterations bring the median residual to GOAL: 20, 40, 80 ... at most _MOST, then it is looser."""
    some = np.arange(min(_PROBES, len(orders)))
    few, sample = orders.take(some), proposal[some].double()
    iterations = 20
    while iterations < _MOST:
        if residual(popocs(sample, few, method="cyclic", iterations=iterations), few).median() <= GOAL:
            break
        iterations *= 2
    return iterations


def cyclic_timed(orders: PartialOrders, needed: int) -> int:
    """Iterations of the loop to run: those needed, or as many as autograd's memory has room for."""
    tape = 40 * len(orders) * orders.n**2  # bytes an iteration: ten float32 tensors of the batch
    return int(np.clip(_TAPE / tape, min(20, needed), needed))


def cyclic_loop(iterations: int) -> Maker:
    """The paper's algorithm in plain PyTorch, batched, one dependency after the other on expected slots."""

    def make(orders: PartialOrders) -> Projection:
        n = orders.n
        before, after, real = orders.padded()
        normals = torch.zeros(*before.shape, n)
        item, edge = np.nonzero(real)
        normals[item, edge, before[item, edge]] = -1.0
        normals[item, edge, after[item, edge]] = 1.0
        is_dependency = torch.from_numpy(real).float().unsqueeze(-1)
        v = torch.arange(1, n + 1, dtype=torch.float32)

        def project(x: torch.Tensor) -> torch.Tensor:
            for _ in range(iterations):
                x = x + (1 - x.sum(-1, keepdim=True)) / n
                x = x + (1 - x.sum(-2, keepdim=True)) / n
                x = x.relu()
                slots = moved = x @ v
                for normal, is_real in zip(normals.unbind(1), is_dependency.unbind(1), strict=True):
                    moved = moved + (is_real - (moved * normal).sum(-1, keepdim=True)).relu() / 2 * normal
                x = x + (moved - slots).unsqueeze(-1) * (v / v.square().sum())
            return x

        return project

    return make


def _normals(orders: PartialOrders) -> tuple[np.ndarray, np.ndarray]:
    """Dependencies as rows (B, E, n), -1 at `before` and 1 at `after`, and which are real (B, E); others are 0."""
    before, after, real = orders.padded()
    rows = np.zeros((*before.shape, orders.n))
    b, e = np.nonzero(real)
    rows[b, e, before[b, e]], rows[b, e, after[b, e]] = -1, 1
    return rows, real


def _sums(n: int) -> np.ndarray:
    """Row and column sums, (2n, n^2)."""
    return np.vstack([np.kron(np.eye(n), np.ones(n)), np.kron(np.ones(n), np.eye(n))])


def qpth(orders: PartialOrders) -> Projection:
    """qpth 0.0.18, its batched interior point on dense matrices, float64.

    One redundant equality is left out, as it needs full rank. Batched up to n = 10; beyond, its batched LU
    fails with PyTorch 2.13 on the CPU ("Pivots given to lu_solve must all be greater or equal to 1") and items go
    one by one. Its other solver (QPSolvers.CVXPY) solves one after the other and has the same dense backward.
    """
    from qpth.qp import QPFunction, QPSolvers

    n, size = orders.n, len(orders)
    rows, real = _normals(orders)
    slots = np.arange(n) - (n - 1) / 2
    gaps = torch.from_numpy((rows[:, :, :, None] * slots).reshape(size, -1, n * n))
    quadratic = torch.eye(n * n).double()
    inequalities = torch.cat([-quadratic.expand(size, -1, -1), -gaps], 1)
    bounds = torch.cat([torch.zeros(size, n * n), torch.where(torch.from_numpy(real), -1.0, 1.0)], 1).double()
    equalities, right_sides = torch.from_numpy(_sums(n)[:-1]), torch.ones(2 * n - 1).double()
    solver = QPFunction(eps=GOAL, verbose=-1, check_Q_spd=False, solver=QPSolvers.PDIPM_BATCHED)
    piece = size if n <= 10 else 1

    def project(y: torch.Tensor) -> torch.Tensor:
        parts = zip(y.double().flatten(1).split(piece), inequalities.split(piece), bounds.split(piece), strict=True)
        return torch.cat([solver(quadratic, -x, g, h, equalities, right_sides) for x, g, h in parts]).view(y.shape)

    return project


def cvxpylayers(orders: PartialOrders) -> Projection:
    """cvxpylayers 1.2 with its default backend, diffcp, and Clarabel at tolerances of 1e-6; two items at a time.

    Tried: SCS, its default solver (8 s where Clarabel takes 0.4), the derivative by LSMR or dense (no faster than
    LSQR), the squared distance as it is (the same as X^2/2 - XY).
    """
    loose = dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), 1e-6)
    return _layer(orders, {}, {"solve_method": "Clarabel", **loose}, sparse=True)


def cvxpylayers_moreau(orders: PartialOrders) -> Projection:
    """cvxpylayers 1.2 with the backend Moreau 0.4.1: batched and compiled.

    By active sets at n = 5, beyond by the interior point at tolerances of 1e-6 instead of 1e-8, which is
    faster from n = 10 on; its own choice, active sets up to 500 variables, gives zeros for some items at n = 20.
    With the expected slots as variables (sparse matrices) the interior point is 2 to 10 times faster,
    active sets are not.
    """
    from moreau import IPMSettings

    if orders.n <= 5:
        return _layer(orders, {"solver": "MOREAU", "solver_args": {"solver": "active_set"}}, {}, sparse=False)
    loose = IPMSettings(**dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), 1e-6))
    backend = {"solver": "MOREAU", "solver_args": {"solver": "ipm", "ipm_settings": loose}}
    return _layer(orders, backend, {}, sparse=True)


def _layer(orders: PartialOrders, backend: dict, arguments: dict, sparse: bool) -> Projection:
    """The projection as a layer, its dependencies as parameters; `sparse`: expected slots are variables."""
    import cvxpy as cp
    from cvxpylayers.torch import CvxpyLayer

    n = orders.n
    rows, real = _normals(orders)
    matrix, proposal = cp.Variable((n, n)), cp.Parameter((n, n))
    edges, least = cp.Parameter(rows.shape[1:]), cp.Parameter(rows.shape[1])
    expected = matrix @ (np.arange(n) - (n - 1) / 2)
    slots = cp.Variable(n) if sparse else expected
    conditions = [
        cp.sum(matrix, 1) == 1,
        cp.sum(matrix, 0)[:-1] == 1,  # the last follows from the others; with it Moreau's active sets fail
        2 * matrix >= 0,  # `matrix >= 0` becomes a bound, which the layer does not hand to Moreau
        edges @ slots >= least,
        *([slots == expected] if sparse else []),
    ]
    distance = 0.5 * cp.sum_squares(matrix) - cp.sum(cp.multiply(matrix, proposal))
    problem = cp.Problem(cp.Minimize(distance), conditions)
    layer = CvxpyLayer(problem, parameters=[proposal, edges, least], variables=[matrix], **backend)
    layer_parameters = torch.from_numpy(rows), torch.from_numpy(np.where(real, 1.0, -1.0))
    return lambda y: layer(y.double(), *layer_parameters, solver_args=arguments)[0]


def linsatnet(orders: PartialOrders) -> Projection:
    """LinSATNet 0.1.3, looped over the items, for its constraints are shared by a batch.

    Its best form of those tried: the time-indexed dependencies, which have coefficients 0 and 1,
    sum_{j <= t} X_bj + sum_{j >= t} X_aj <= 1 for every slot t, with tau = 1, its grouped dense kernel, at
    most 100 iterations (10 above n = 20, or an item would take minutes). With the dependencies on expected slots
    (coefficients j and n + 1 - j), or a smaller tau, it is faster by up to a factor of 5 and ends at residuals of 1
    to 7. All items as one problem with block-diagonal constraints would need constraints x variables of the batch.
    """
    from LinSATNet import init_constraints, linsat_layer

    n = orders.n
    equal = torch.from_numpy(_sums(n)).float()
    iterations = 100 if n <= 20 else 10
    constraints = []
    for b in range(len(orders)):
        before = orders.before[orders.offsets[b] : orders.offsets[b + 1]]
        after = orders.after[orders.offsets[b] : orders.offsets[b + 1]]
        at_most = torch.zeros(len(before), n, n, n)  # [dependency, t, instruction, slot]
        for e, (first, then) in enumerate(zip(before, after, strict=True)):
            for t in range(n):
                at_most[e, t, then, : t + 1], at_most[e, t, first, t:] = 1, 1
        least = {"A": at_most.flatten(0, 1).flatten(1), "b": torch.ones(len(before) * n)}
        constraints.append(init_constraints(n * n, E=equal, f=torch.ones(2 * n), **least))

    def project(y: torch.Tensor) -> torch.Tensor:
        projected = [
            linsat_layer(item.flatten(), constr_dict=item_constraints, tau=1.0, max_iter=iterations, no_warning=True)
            for item, item_constraints in zip(y.float(), constraints, strict=True)
        ]
        return torch.stack(projected).view(y.shape)

    return project


MAKERS: dict[str, Maker] = {
    "cyclic": ours("cyclic"),
    "extrapolated": ours("extrapolated"),
    "nearest": ours("nearest"),
    "qpth": qpth,
    "cvxpylayers": cvxpylayers,
    "cvxpylayers_moreau": cvxpylayers_moreau,
    "linsatnet": linsatnet,
}
NAMES = ["cyclic", "extrapolated", "nearest", "cyclic_loop", "qpth", "cvxpylayers", "cvxpylayers_moreau", "linsatnet"]
