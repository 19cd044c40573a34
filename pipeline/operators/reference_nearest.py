"""`nearest` in plain PyTorch: the semismooth Newton method of the module `nearest`, the batch side by side.

The unknowns of a step are rows, columns and dependencies, (B, 2n + E); float64.
"""

from __future__ import annotations

from typing import Any

import torch

from pipeline.operators.batch import Batch
from pipeline.operators.nearest import (
    ARMIJO,
    DAMPING,
    EASY,
    LOOSE,
    NEAR_ZERO,
    NOISE,
    SHORTEST,
    STEPS,
    STRIDE,
    TOLERANCE,
    warn_of,
)

_FAR = 1e-10  # eigenvalues below this share of the largest are zero


def nearest(proposal: torch.Tensor, batch: Batch) -> torch.Tensor:
    """Euclidean projection of float64 proposals (B, n, n) whose rows and columns sum to 1, implicit derivative."""
    return _Nearest.apply(proposal, batch)


class _Nearest(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, proposal: torch.Tensor, batch: Batch) -> torch.Tensor:
        scale = torch.ones_like(proposal[:, 0, 0])
        largest = torch.where(batch.support, proposal, 0.0).abs().amax((1, 2))
        while (hard := largest * scale > EASY).any():
            scale = torch.where(hard, scale / STRIDE, scale)
        shifted = scale[:, None, None] * proposal
        multipliers = proposal.new_zeros(batch.edge.shape)
        while True:
            goal = torch.where(scale == 1, TOLERANCE, LOOSE)
            shifted, multipliers, errors = _solve(shifted, multipliers, batch, goal)
            growing = scale < 1
            if not growing.any():
                break
            growth = torch.where(growing, STRIDE, 1.0)
            scale, shifted, multipliers = scale * growth, shifted * growth[:, None, None], multipliers * growth[:, None]
        warn_of(errors.cpu().numpy())
        found = _entries(shifted, batch)
        ctx.batch = batch
        ctx.save_for_backward(found, multipliers > _gradient(found, batch)[:, 2 * proposal.shape[1] :])
        return found

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, cotangent: torch.Tensor) -> Any:
        found, tight = ctx.saved_tensors
        batch, n = ctx.batch, found.shape[1]
        held = (found > 0).double()
        flow = held * cotangent
        free = torch.cat([torch.ones_like(held[:, 0]), torch.ones_like(held[:, 0]), (tight & batch.edge).double()], 1)
        matrix = _hessian(held, batch) * free.unsqueeze(1) * free.unsqueeze(2)
        diagonal = matrix.diagonal(dim1=1, dim2=2)
        unit = torch.where(diagonal > 0, diagonal, 1.0).rsqrt()  # scaled to ones: fewer digits are lost
        inverse = torch.linalg.pinv(matrix * unit.unsqueeze(1) * unit.unsqueeze(2), rtol=_FAR, hermitian=True)
        right = torch.cat([flow.sum(2), flow.sum(1), batch.slack(flow)], 1) * free
        step = -unit * (inverse @ (unit * right).unsqueeze(-1)).squeeze(-1)
        return flow + held * _shift(step[:, : 2 * n], step[:, 2 * n :], batch), None


def _shift(sums: torch.Tensor, edges: torch.Tensor, batch: Batch) -> torch.Tensor:
    """u 1^T + 1 w^T + s c^T, (B, n, n)."""
    rows, columns = sums.chunk(2, 1)
    return rows.unsqueeze(2) + columns.unsqueeze(1) + batch.scatter(edges).unsqueeze(2) * batch.slots.unsqueeze(1)


def _entries(shifted: torch.Tensor, batch: Batch) -> torch.Tensor:
    return torch.where(batch.support, shifted, 0.0).relu()


def _gradient(found: torch.Tensor, batch: Batch) -> torch.Tensor:
    """Row sums - 1, column sums - 1, x_b - x_a - 1; 0 in the padding."""
    real, edge = batch.real.double(), batch.edge.double()
    return torch.cat([found.sum(2) - real, found.sum(1) - real, batch.slack(found) - edge], 1)


def _hessian(held: torch.Tensor, batch: Batch) -> torch.Tensor:
    """Second derivative where `held` (0/1) entries are positive: rows, columns, dependencies."""
    n, c = held.shape[1], batch.slots.unsqueeze(1)
    edge = batch.edge.unsqueeze(2).double()
    normals = held.new_zeros(*batch.edge.shape, n)  # (B, E, n): +1 at b, -1 at a
    normals = normals.scatter_add(2, batch.after.unsqueeze(2), edge).scatter_add(2, batch.before.unsqueeze(2), -edge)
    moment, square = (held * c).sum(2), (held * c * c).sum(2)
    over_rows, over_columns = normals * moment.unsqueeze(1), normals @ (held * c)
    return torch.cat(
        [
            torch.cat([torch.diag_embed(held.sum(2)), held, over_rows.mT], 2),
            torch.cat([held.mT, torch.diag_embed(held.sum(1)), over_columns.mT], 2),
            torch.cat([over_rows, over_columns, (normals * square.unsqueeze(1)) @ normals.mT], 2),
        ],
        1,
    )


def _solve(
    shifted: torch.Tensor, multipliers: torch.Tensor, batch: Batch, goal: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Newton's method from the given Z and mu, each item to its goal (B,). Returns Z, mu and the errors (B,)."""
    n = shifted.shape[1]
    for spent in range(STEPS + 1):
        found = _entries(shifted, batch)
        gradient = _gradient(found, batch)
        slack = gradient[:, 2 * n :]
        errors = torch.cat([gradient[:, : 2 * n], torch.minimum(multipliers, slack)], 1).abs().amax(1)
        going = errors > goal
        if not going.any() or spent == STEPS:
            break
        free = (multipliers > errors.clamp_max(NEAR_ZERO).unsqueeze(1)) | (slack < 0)
        every = torch.cat([torch.ones_like(gradient[:, : 2 * n]), free.double()], 1)
        hessian = _hessian((found > 0).double(), batch) * every.unsqueeze(1) * every.unsqueeze(2)
        diagonal = hessian.diagonal(dim1=1, dim2=2)
        # Without positive entries, or fixed: a step along the gradient, or none.
        hessian = hessian + torch.diag_embed(torch.where(diagonal > 0, DAMPING * diagonal, 1.0))
        step = -torch.linalg.solve(hessian, gradient * every)
        step = torch.where(going.unsqueeze(1), step, 0.0)
        sums = step[:, : 2 * n]
        edges = torch.where(free, step[:, 2 * n :], torch.where(going.unsqueeze(1), -multipliers, 0.0))
        length = torch.ones_like(errors).unsqueeze(1)
        while True:
            change = torch.maximum(-multipliers, length * edges)
            trial = shifted + _shift(length * sums, change, batch)
            moved = _entries(trial, batch)
            value = 0.5 * ((moved - found) * (moved + found)).sum((1, 2)) - (length * sums).sum(1) - change.sum(1)
            descent = (gradient[:, : 2 * n] * sums * length).sum(1) + (slack * change).sum(1)
            allowed = ARMIJO * descent + NOISE * n
            waiting = (value > allowed) & (length.squeeze(1) >= SHORTEST)
            if not waiting.any():
                break
            length = torch.where(waiting.unsqueeze(1), length / 2, length)
        shifted, multipliers = trial, (multipliers + change).relu()
    return shifted, multipliers, errors
