"""`nearest` in plain PyTorch: the semismooth Newton method of the module `nearest`, for all items of a batch at once.

The unknowns of a step are the rows, the columns and the dependencies, (B, 2n + E); float64.
"""

from __future__ import annotations

from typing import Any

import torch

from learned_schedulers.operators.batch import Batch
from learned_schedulers.operators.nearest import (
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

_CUTOFF = 1e-10  # eigenvalues below this share of the largest count as zero


def nearest(proposal: torch.Tensor, batch: Batch) -> torch.Tensor:
    """Euclidean projection of float64 proposals (B, n, n) whose rows and columns sum to 1; implicit derivative."""
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
        projection = _entries(shifted, batch)
        ctx.batch = batch
        ctx.save_for_backward(projection, multipliers > _gradient(projection, batch)[:, 2 * proposal.shape[1] :])
        return projection

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, cotangent: torch.Tensor) -> Any:
        projection, tight = ctx.saved_tensors
        batch, n = ctx.batch, projection.shape[1]
        positive = (projection > 0).double()
        flow = positive * cotangent
        free = torch.cat(
            [torch.ones_like(positive[:, 0]), torch.ones_like(positive[:, 0]), (tight & batch.edge).double()], 1
        )
        matrix = _hessian(positive, batch) * free.unsqueeze(1) * free.unsqueeze(2)
        diagonal = matrix.diagonal(dim1=1, dim2=2)
        unit = torch.where(diagonal > 0, diagonal, 1.0).rsqrt()  # a diagonal of ones loses fewer digits
        inverse = torch.linalg.pinv(matrix * unit.unsqueeze(1) * unit.unsqueeze(2), rtol=_CUTOFF, hermitian=True)
        right = torch.cat([flow.sum(2), flow.sum(1), batch.slack(flow)], 1) * free
        step = -unit * (inverse @ (unit * right).unsqueeze(-1)).squeeze(-1)
        return flow + positive * _shift(step[:, : 2 * n], step[:, 2 * n :], batch), None


def _shift(sums: torch.Tensor, edges: torch.Tensor, batch: Batch) -> torch.Tensor:
    """u 1^T + 1 w^T + s c^T, (B, n, n)."""
    rows, columns = sums.chunk(2, 1)
    return rows.unsqueeze(2) + columns.unsqueeze(1) + batch.scatter(edges).unsqueeze(2) * batch.slots.unsqueeze(1)


def _entries(shifted: torch.Tensor, batch: Batch) -> torch.Tensor:
    return torch.where(batch.support, shifted, 0.0).relu()


def _gradient(entries: torch.Tensor, batch: Batch) -> torch.Tensor:
    """Row sums - 1, column sums - 1, x_b - x_a - 1; 0 in the padding."""
    real, edge = batch.real.double(), batch.edge.double()
    return torch.cat([entries.sum(2) - real, entries.sum(1) - real, batch.slack(entries) - edge], 1)


def _hessian(positive: torch.Tensor, batch: Batch) -> torch.Tensor:
    """Second derivative over rows, columns and dependencies; positive: (B, n, n), 1 for positive entries, else 0."""
    n, c = positive.shape[1], batch.slots.unsqueeze(1)
    edge = batch.edge.unsqueeze(2).double()
    normals = positive.new_zeros(*batch.edge.shape, n)  # (B, E, n): +1 at b, -1 at a
    normals = normals.scatter_add(2, batch.after.unsqueeze(2), edge).scatter_add(2, batch.before.unsqueeze(2), -edge)
    moment, square = (positive * c).sum(2), (positive * c * c).sum(2)
    over_rows, over_columns = normals * moment.unsqueeze(1), normals @ (positive * c)
    return torch.cat(
        [
            torch.cat([torch.diag_embed(positive.sum(2)), positive, over_rows.mT], 2),
            torch.cat([positive.mT, torch.diag_embed(positive.sum(1)), over_columns.mT], 2),
            torch.cat([over_rows, over_columns, (normals * square.unsqueeze(1)) @ normals.mT], 2),
        ],
        1,
    )


def _solve(
    shifted: torch.Tensor, multipliers: torch.Tensor, batch: Batch, goal: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Newton's method from the given Z and mu, until each item reaches its goal (B,). Returns Z, mu, errors (B,)."""
    n = shifted.shape[1]
    for steps in range(STEPS + 1):
        entries = _entries(shifted, batch)
        gradient = _gradient(entries, batch)
        slack = gradient[:, 2 * n :]
        errors = torch.cat([gradient[:, : 2 * n], torch.minimum(multipliers, slack)], 1).abs().amax(1)
        active = errors > goal
        if not active.any() or steps == STEPS:
            break
        free = (multipliers > errors.clamp_max(NEAR_ZERO).unsqueeze(1)) | (slack < 0)
        unknowns = torch.cat([torch.ones_like(gradient[:, : 2 * n]), free.double()], 1)
        hessian = _hessian((entries > 0).double(), batch) * unknowns.unsqueeze(1) * unknowns.unsqueeze(2)
        diagonal = hessian.diagonal(dim1=1, dim2=2)
        # A row or column without positive entries steps along the gradient; a fixed dependency does not step.
        hessian = hessian + torch.diag_embed(torch.where(diagonal > 0, DAMPING * diagonal, 1.0))
        step = -torch.linalg.solve(hessian, gradient * unknowns)
        step = torch.where(active.unsqueeze(1), step, 0.0)
        sums = step[:, : 2 * n]
        edges = torch.where(free, step[:, 2 * n :], torch.where(active.unsqueeze(1), -multipliers, 0.0))
        length = torch.ones_like(errors).unsqueeze(1)
        while True:
            change = torch.maximum(-multipliers, length * edges)
            trial = shifted + _shift(length * sums, change, batch)
            moved = _entries(trial, batch)
            value = 0.5 * ((moved - entries) * (moved + entries)).sum((1, 2)) - (length * sums).sum(1) - change.sum(1)
            descent = (gradient[:, : 2 * n] * sums * length).sum(1) + (slack * change).sum(1)
            allowed = ARMIJO * descent + NOISE * n
            waiting = (value > allowed) & (length.squeeze(1) >= SHORTEST)
            if not waiting.any():
                break
            length = torch.where(waiting.unsqueeze(1), length / 2, length)
        shifted, multipliers = trial, (multipliers + change).relu()
    return shifted, multipliers, errors
