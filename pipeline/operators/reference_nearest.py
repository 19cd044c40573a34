"""`nearest` in plain PyTorch: the semismooth Newton method of the module `nearest`, the batch side by side.

The unknowns are rows, columns and dependencies, (B, 2n + E); float64 whatever the type of the proposal.
"""

from __future__ import annotations

from typing import Any

import torch

from pipeline.operators.batch import Batch

_STEPS = 300  # for each scale
_HALVINGS = 34
_ARMIJO, _NOISE = 1e-4, 1e-13
_TOLERANCE, _LOOSE = 1e-9, 1e-2
_EASY, _STRIDE = 2.0, 4.0
_FAR = 1e-10  # eigenvalues below this share of the largest are zero


def nearest(proposal: torch.Tensor, batch: Batch) -> torch.Tensor:
    """Euclidean projection of (B, n, n) proposals, with the implicit derivative."""
    return _Nearest.apply(proposal, batch)


class _Nearest(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, proposal: torch.Tensor, batch: Batch) -> torch.Tensor:
        start = batch.double().affine(proposal.double(), 1.0)
        scale = 1.0
        while start.abs().amax() * scale > _EASY:
            scale /= _STRIDE
        n, edges = proposal.shape[1], batch.edge.shape[1]
        dual = start.new_zeros(len(start), 2 * n + edges)
        while True:
            dual = _newton(scale * start, dual, batch.double(), _TOLERANCE if scale == 1 else _LOOSE)
            if scale == 1:
                break
            scale *= _STRIDE
            dual = dual * _STRIDE
        found = _primal(start, dual, batch.double())
        ctx.batch, ctx.free = batch, torch.cat([dual[:, : 2 * n] == dual[:, : 2 * n], dual[:, 2 * n :] > 0], 1)
        ctx.save_for_backward(found)
        return found.to(proposal.dtype)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, cotangent: torch.Tensor) -> Any:
        (found,) = ctx.saved_tensors
        batch = ctx.batch.double()
        held = (found > 0).double()
        flow = held * cotangent.double()
        matrix = _hessian(held, batch) * ctx.free.unsqueeze(1) * ctx.free.unsqueeze(2)
        inverse = torch.linalg.pinv(matrix, rtol=_FAR, hermitian=True)
        step = -(inverse @ (_transpose(flow, batch) * ctx.free).unsqueeze(-1)).squeeze(-1)
        return (flow + held * _shift(step, batch)).to(cotangent.dtype), None


def _shift(dual: torch.Tensor, batch: Batch) -> torch.Tensor:
    """u 1^T + 1 w^T + s c^T, (B, n, n)."""
    n = batch.slots.shape[1]
    slope = batch.scatter(dual[:, 2 * n :])
    return dual[:, :n].unsqueeze(2) + dual[:, n : 2 * n].unsqueeze(1) + slope.unsqueeze(2) * batch.slots.unsqueeze(1)


def _transpose(matrix: torch.Tensor, batch: Batch) -> torch.Tensor:
    """Row sums, column sums, x_b - x_a: the transpose of `_shift`."""
    x = (matrix * batch.slots.unsqueeze(1)).sum(2)
    gaps = torch.where(batch.edge, x.gather(1, batch.after) - x.gather(1, batch.before), 0.0)
    return torch.cat([matrix.sum(2), matrix.sum(1), gaps], 1)


def _primal(proposal: torch.Tensor, dual: torch.Tensor, batch: Batch) -> torch.Tensor:
    return torch.where(batch.support, proposal + _shift(dual, batch), 0.0).relu()


def _objective(
    proposal: torch.Tensor, dual: torch.Tensor, batch: Batch
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Value (B,), gradient (B, 2n + E) and X of the dual objective."""
    ones = torch.cat([batch.real, batch.real, batch.edge], 1).double()
    matrix = _primal(proposal, dual, batch)
    return 0.5 * matrix.square().sum((1, 2)) - (dual * ones).sum(1), _transpose(matrix, batch) - ones, matrix


def _hessian(held: torch.Tensor, batch: Batch) -> torch.Tensor:
    """Second derivative where `held` (0/1) entries are positive: rows, columns and slots, then dependencies."""
    c = batch.slots.unsqueeze(1)
    rows, columns = torch.diag_embed(held.sum(2)), torch.diag_embed(held.sum(1))
    moment, square = torch.diag_embed((held * c).sum(2)), torch.diag_embed((held * c * c).sum(2))
    over = torch.cat(
        [
            torch.cat([rows, held, moment], 2),
            torch.cat([held.mT, columns, (held * c).mT], 2),
            torch.cat([moment, held * c, square], 2),
        ],
        1,
    )
    n = held.shape[1]
    normals = held.new_zeros(*batch.edge.shape, n)
    edge = batch.edge.unsqueeze(2).double()
    normals = normals.scatter_add(2, batch.after.unsqueeze(2), edge).scatter_add(2, batch.before.unsqueeze(2), -edge)
    pairs = torch.eye(2 * n, dtype=held.dtype, device=held.device).expand(len(held), -1, -1)
    change = torch.cat(
        [
            torch.cat([pairs, pairs.new_zeros(len(held), 2 * n, n)], 2),
            torch.cat([normals.new_zeros(*batch.edge.shape, 2 * n), normals], 2),
        ],
        1,
    )
    return change @ over @ change.mT


def _newton(proposal: torch.Tensor, dual: torch.Tensor, batch: Batch, tolerance: float) -> torch.Tensor:
    n = proposal.shape[1]
    bounded = torch.arange(dual.shape[1], device=dual.device) >= 2 * n
    value, gradient, matrix = _objective(proposal, dual, batch)
    for _ in range(_STEPS):
        projected = torch.where(bounded, (dual - gradient).relu(), dual - gradient)
        error = (dual - projected).abs().amax(1) if dual.shape[1] else dual.new_zeros(len(dual))
        going = error > tolerance
        if not going.any():
            break
        free = ((dual > 0) | (gradient < 0) | ~bounded).double()
        damping = 1e-3 * error.clamp_max(1).square() + 1e-12
        hessian = _hessian((matrix > 0).double(), batch) * free.unsqueeze(1) * free.unsqueeze(2)
        diagonal = hessian.diagonal(dim1=1, dim2=2)
        empty = (diagonal <= 0).double()  # a row or column without positive entries: a gradient step
        hessian = hessian + torch.diag_embed(empty + damping.unsqueeze(1))
        step = -torch.linalg.solve(hessian, gradient * free)
        length = torch.ones_like(value)
        waiting = going
        for _ in range(_HALVINGS):
            trial = dual + length.unsqueeze(1) * step
            trial = torch.where(bounded, trial.relu(), trial)
            found, slope, moved = _objective(proposal, trial, batch)
            limit = value + _ARMIJO * (gradient * (trial - dual)).sum(1) + _NOISE * (1 + value.abs())
            waiting = going & (found > limit)
            if not waiting.any():
                break
            length = torch.where(waiting, length / 2, length)
        dual = torch.where(going.unsqueeze(1), trial, dual)
        gradient = torch.where(going.unsqueeze(1), slope, gradient)
        value = torch.where(going, found, value)
        matrix = torch.where(going[:, None, None], moved, matrix)
    return dual
