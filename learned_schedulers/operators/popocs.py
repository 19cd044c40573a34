"""POPOCS: soft assignments -> soft permutations that respect a partial order, differentiably.

A matrix X (instruction i in slot j) is feasible if its rows and columns sum to 1, X >= 0, and for every
dependency a -> b the expected slots x = X (0, ..., n - 1) satisfy x_b - x_a >= 1. There are three methods, each
with a module of its name:

- `cyclic`: the paper's loop with a fixed number of iterations; its result is near the set, not in it.
- `extrapolated`: a feasible point near the proposal, by parallel over-relaxed projections; each item stops by
  itself, and `nearest` finishes items that need more than `iterations`.
- `nearest`: the nearest feasible point.

The last two also keep X at 0 outside each instruction's window, in slots that no legal order gives it.
On the CPU the methods run in compiled kernels, elsewhere in the PyTorch forms of `reference`.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import torch

from learned_schedulers.operators import reference
from learned_schedulers.operators.cyclic import cyclic_backward, cyclic_forward
from learned_schedulers.operators.kernels import LARGEST, backward, forward
from learned_schedulers.operators.nearest import warn_of
from learned_schedulers.operators.orders import MaskLike, PartialOrders, partial_orders
from learned_schedulers.operators.threads import share

Method = Literal["cyclic", "extrapolated", "nearest"]
ITERATIONS = {"cyclic": 20, "extrapolated": 60, "nearest": 0}


def popocs(
    assignment: torch.Tensor,
    orders: PartialOrders | torch.Tensor | np.ndarray,
    mask: MaskLike = None,
    *,
    method: Method = "extrapolated",
    iterations: int | None = None,
    tolerance: float = 1e-5,
    windows: bool = True,
) -> torch.Tensor:
    """Project soft assignments onto the soft permutations that respect partial orders.

    assignment: (B, n, n) float, [b, i, j] of instruction i in slot j: probabilities or scores. Entries beyond
    +-1e6, also infinite ones, are cut off at +-1e6 and have no gradient.
    orders: `PartialOrders` of the batch, which many calls can share, or (B, n, n) bool, [b, i, k] is true if i
    must come before k. mask: (B, n) bool, true for real instructions; only with a bool relation.
    iterations: the largest number (default 20 for `cyclic`, 60 for `extrapolated`; `nearest` needs none).
    tolerance: `extrapolated` stops at this violation of a sign or a dependency. `nearest`, and the items that it
    finishes for `extrapolated`, satisfy the conditions of the optimum to 1e-11 for every tolerance, or a
    RuntimeWarning says how many items do not. `cyclic` has no tolerance.
    windows: keep entries at 0 that no legal order uses. `cyclic` has no windows and `extrapolated` needs them.

    Returns (B, n, n) of the type of `assignment`; entries of masked instructions and slots are exact zeros
    and do not influence the others. Gradients are exact: through the iterations, and implicit for `nearest`;
    once differentiable on the CPU. NaN stays in its own item. Raises ValueError for a cycle, a wrong shape, an
    unknown method, and `extrapolated` without windows.
    """
    if method not in ITERATIONS:
        raise ValueError(f"method: {method!r} is unknown; choose one of {', '.join(ITERATIONS)}")
    if not isinstance(orders, PartialOrders):
        orders = partial_orders(orders, mask)
    elif mask is not None:
        raise ValueError("mask: PartialOrders have their own sizes; pass the mask to partial_orders")
    if assignment.shape != (len(orders), orders.n, orders.n):
        raise ValueError(f"assignment: shape {tuple(assignment.shape)}; pass {(len(orders), orders.n, orders.n)}")
    steps = ITERATIONS[method] if iterations is None else iterations
    if not windows:
        if method == "extrapolated":  # most large items would not end, and gradients would grow to 10^6
            raise ValueError("windows: 'extrapolated' needs them; use method='nearest' without windows")
        orders = orders.without_windows()
    if assignment.device.type != "cpu":
        return reference.popocs(assignment, orders, method, steps, tolerance)
    if method == "cyclic":
        return _Cyclic.apply(assignment.clamp(-LARGEST, LARGEST), orders, steps)
    return _Projection.apply(assignment, orders, steps if method == "extrapolated" else 0, tolerance, method)


def residual(matrix: torch.Tensor, orders: PartialOrders) -> torch.Tensor:
    """Largest violation of any constraint of each item: sums, signs, dependencies. (B, n, n) -> (B,) float64."""
    matrix, device = matrix.double(), matrix.device
    real = torch.arange(orders.n, device=device) < torch.from_numpy(orders.sizes).to(device)[:, None]
    before, after, edge = (torch.from_numpy(part).to(device) for part in orders.padded())
    slots = matrix @ torch.arange(orders.n, dtype=matrix.dtype, device=device)
    zero = matrix.new_zeros(())
    parts = [
        torch.where(real, matrix.sum(-1) - 1, zero).abs().flatten(1),
        torch.where(real, matrix.sum(-2) - 1, zero).abs().flatten(1),
        (-matrix).relu().flatten(1),
        torch.where(edge, 1 - (slots.gather(1, after) - slots.gather(1, before)), zero).relu(),
    ]
    return torch.cat(parts, 1).amax(1)


def _array(tensor: torch.Tensor) -> np.ndarray:
    return tensor.detach().double().contiguous().numpy()


class _Projection(torch.autograd.Function):
    """`extrapolated` and `nearest` in compiled code."""

    @staticmethod
    def forward(
        ctx: Any, assignment: torch.Tensor, orders: PartialOrders, iterations: int, tolerance: float, method: Method
    ) -> torch.Tensor:
        proposal = _array(assignment)
        projection = np.empty_like(proposal)
        multipliers, spent = np.zeros(len(orders.before)), np.empty(len(orders), np.int64)
        errors = np.empty(len(orders))
        arrays, exact = orders.arrays(), method == "nearest"
        share(forward, proposal, arrays, iterations, tolerance, exact, projection, multipliers, spent, errors)
        warn_of(errors)
        ctx.orders, ctx.tolerance, ctx.multipliers, ctx.spent = arrays, tolerance, multipliers, spent
        result = torch.from_numpy(projection).to(assignment.dtype)
        ctx.save_for_backward(assignment, result)
        return result

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, cotangent: torch.Tensor) -> Any:
        assignment, result = ctx.saved_tensors
        proposal = _array(assignment)
        gradients = np.empty_like(proposal)
        share(
            backward, proposal, _array(result), _array(cotangent),
            ctx.orders, ctx.tolerance, ctx.multipliers, ctx.spent, gradients,
        )  # fmt: skip
        return torch.from_numpy(gradients).to(cotangent.dtype), None, None, None, None


class _Cyclic(torch.autograd.Function):
    """`cyclic` in compiled code."""

    @staticmethod
    def forward(ctx: Any, assignment: torch.Tensor, orders: PartialOrders, iterations: int) -> torch.Tensor:
        proposal = _array(assignment)
        result = np.empty_like(proposal)
        arrays = orders.arrays()
        share(cyclic_forward, proposal, arrays, iterations, result)
        ctx.orders, ctx.iterations = arrays, iterations
        ctx.save_for_backward(assignment)
        return torch.from_numpy(result).to(assignment.dtype)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, cotangent: torch.Tensor) -> Any:
        (assignment,) = ctx.saved_tensors
        proposal = _array(assignment)
        gradients = np.empty_like(proposal)
        share(cyclic_backward, proposal, _array(cotangent), ctx.orders, ctx.iterations, gradients)
        return torch.from_numpy(gradients).to(cotangent.dtype), None, None
