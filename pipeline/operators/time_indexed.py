"""A stronger relaxation: dependencies slot by slot instead of on expected slots.

For a -> b and every slot t, b stands in a slot up to t only with the weight that a has up to t - 1:

    sum_{j <= t} X[b, j] <= sum_{j <= t - 1} X[a, j].

Summed over t this gives x_b - x_a >= 1, so the set is smaller; a permutation satisfies both or neither.
Plain PyTorch, by the same extrapolated projections as `extrapolated`: n conditions for each dependency
on cumulative sums instead of one.
"""

from __future__ import annotations

import torch

from pipeline.operators.batch import Batch
from pipeline.operators.extrapolated import RELAXATION
from pipeline.operators.orders import PartialOrders

_NOISE = 1e-2  # share of the tolerance


def time_indexed(
    assignment: torch.Tensor, orders: PartialOrders, *, iterations: int = 200, tolerance: float = 1e-5
) -> torch.Tensor:
    """Project (B, n, n) assignments towards the time-indexed relaxation, within the windows.

    Items stop at the tolerance; some may end above it (`time_indexed_residual` tells). Gradients by autograd.
    """
    batch = Batch(orders, assignment)
    x = batch.affine(assignment, 1.0)
    for _ in range(iterations):
        gaps = _gaps(x, batch)
        gaps = torch.where(gaps > _NOISE * tolerance, gaps, 0.0)  # some are 0 within the affine set: only rounding
        below = torch.where(batch.support, (-x).relu(), 0.0)
        worst = torch.cat([gaps.detach().flatten(1), below.detach().flatten(1)], 1)
        going = (worst.amax(1) > tolerance)[:, None, None]
        if not going.any():
            break
        moved = x
        pushes = gaps * _weights(gaps)
        moved = _step(moved, (gaps * pushes).sum((1, 2)), batch.affine(_scatter(pushes, batch), 0.0))
        below = torch.where(batch.support, (-moved).relu(), 0.0)
        moved = _step(moved, below.square().sum((1, 2)), batch.affine(below, 0.0))
        x = torch.where(going, moved, x)
    return x


def time_indexed_residual(matrix: torch.Tensor, orders: PartialOrders) -> torch.Tensor:
    """Largest violation of signs and of the dependencies slot by slot, (B, n, n) within the windows -> (B,)."""
    gaps = _gaps(matrix, Batch(orders, matrix))
    return torch.cat([gaps.flatten(1), (-matrix).relu().flatten(1)], 1).amax(1)


def _gaps(matrix: torch.Tensor, batch: Batch) -> torch.Tensor:
    """(B, E, n): how much b has up to slot t beyond what a has up to slot t - 1."""
    upto = matrix.cumsum(2)
    n = matrix.shape[2]
    later = upto.gather(1, batch.after.unsqueeze(2).expand(-1, -1, n))
    earlier = upto.gather(1, batch.before.unsqueeze(2).expand(-1, -1, n))
    earlier = torch.cat([torch.zeros_like(earlier[:, :, :1]), earlier[:, :, :-1]], 2)
    # Before b's window the left side is 0, after a's the right side is 1: the windows hold these by themselves.
    slots = torch.arange(n, device=matrix.device)
    open_slots = (slots >= batch.first.gather(1, batch.after).unsqueeze(2)) & (
        slots <= batch.last.gather(1, batch.before).unsqueeze(2)
    )
    return torch.where(batch.edge.unsqueeze(2) & open_slots, later - earlier, 0.0).relu()


def _weights(gaps: torch.Tensor) -> torch.Tensor:
    """1 / |normal|^2: t + 1 entries of b and t of a."""
    return 1 / (2 * torch.arange(gaps.shape[2], dtype=gaps.dtype, device=gaps.device) + 1)


def _scatter(pushes: torch.Tensor, batch: Batch) -> torch.Tensor:
    """Transpose of the conditions: (B, E, n) -> (B, n, n), towards feasibility."""
    tails = pushes.flip(2).cumsum(2).flip(2)  # the conditions t >= j
    nexts = torch.cat([tails[:, :, 1:], torch.zeros_like(tails[:, :, :1])], 2)  # t - 1 >= j
    n = pushes.shape[2]
    out = pushes.new_zeros(pushes.shape[0], n, n)
    out = out.scatter_add(1, batch.before.unsqueeze(2).expand(-1, -1, n), nexts)
    return out.scatter_add(1, batch.after.unsqueeze(2).expand(-1, -1, n), -tails)


def _step(matrix: torch.Tensor, value: torch.Tensor, direction: torch.Tensor) -> torch.Tensor:
    square = direction.square().sum((1, 2))
    moving = square > 0
    length = RELAXATION * torch.where(moving, value / torch.where(moving, square, 1.0), 0.0)
    return matrix + length[:, None, None] * direction
