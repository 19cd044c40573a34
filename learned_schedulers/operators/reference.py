"""POPOCS in plain PyTorch: a readable form for devices without the kernels, with the same numbers as the kernels.

Numbers are float64 for every type of the proposal. Autograd differentiates through every iteration of `cyclic`
and `extrapolated`; `nearest` has a derivative in closed form. The modules `cyclic`, `extrapolated`, `affine` and
`nearest` state the formulas.
"""

from __future__ import annotations

import torch

from learned_schedulers.operators.batch import Batch
from learned_schedulers.operators.extrapolated import RELAXATION
from learned_schedulers.operators.kernels import LARGEST
from learned_schedulers.operators.orders import PartialOrders
from learned_schedulers.operators.reference_nearest import nearest


def popocs(
    assignment: torch.Tensor, orders: PartialOrders, method: str, iterations: int, tolerance: float
) -> torch.Tensor:
    """The projection of `popocs.popocs`, on any device."""
    proposal = assignment.double().clamp(-LARGEST, LARGEST)
    batch = Batch(orders, proposal)
    if method == "cyclic":
        matrix = cyclic(proposal, batch, iterations)
    elif method == "nearest":
        matrix = nearest(batch.affine(proposal, 1.0), batch)
    else:
        matrix = extrapolated(proposal, batch, iterations, tolerance)
        late = (_worst(matrix.detach(), batch) > tolerance).nonzero().squeeze(1)
        if len(late):
            late_batch = Batch(orders.take(late.cpu().numpy()), proposal)
            matrix = matrix.index_copy(0, late, nearest(matrix[late], late_batch))
    return matrix.to(assignment.dtype)


def cyclic(proposal: torch.Tensor, batch: Batch, iterations: int) -> torch.Tensor:
    """Algorithm 1 of the paper on a padded batch."""
    size = batch.sizes[:, None].clamp_min(1)
    v = torch.where(batch.real, torch.arange(1, proposal.shape[-1] + 1, device=proposal.device), 0).to(proposal.dtype)
    norm = v.square().sum(1, keepdim=True).clamp_min(1)
    edges = list(zip(batch.before.T, batch.after.T, batch.edge.T, strict=True))
    x = torch.where(batch.square, proposal, 0.0)
    for _ in range(iterations):
        x = torch.where(batch.square, x + ((1 - x.sum(2)) / size).unsqueeze(2), 0.0)
        x = torch.where(batch.square, x + ((1 - x.sum(1)) / size).unsqueeze(1), 0.0)
        x = x.relu()
        slots = moved = (x * v.unsqueeze(1)).sum(2)
        for before, after, edge in edges:
            a, b = before[:, None], after[:, None]
            gap = torch.where(edge[:, None], 1 - (moved.gather(1, b) - moved.gather(1, a)), 0.0).relu() / 2
            moved = moved.scatter_add(1, b, gap).scatter_add(1, a, -gap)
        x = x + ((moved - slots) / norm).unsqueeze(2) * v.unsqueeze(1)
    return x


def extrapolated(proposal: torch.Tensor, batch: Batch, iterations: int, tolerance: float) -> torch.Tensor:
    """Over-relaxed surrogate projections, alternately for dependencies and signs; items stop at the tolerance."""
    x = batch.affine(proposal, 1.0)
    for _ in range(iterations):
        active = (_worst(x.detach(), batch) > tolerance)[:, None, None]
        if not active.any():
            break
        gaps = batch.gaps(x)
        pushes = gaps * batch.weight
        direction = batch.affine(batch.scatter(pushes).unsqueeze(2) * batch.slots.unsqueeze(1), 0.0)
        moved = x + _length((gaps * pushes).sum(1), direction) * direction
        below = torch.where(batch.support, (-moved).relu(), 0.0)
        direction = batch.affine(below, 0.0)
        moved = moved + _length(below.square().sum((1, 2)), direction) * direction
        x = torch.where(active, moved, x)
    return x


def _length(value: torch.Tensor, direction: torch.Tensor) -> torch.Tensor:
    square = direction.square().sum((1, 2))
    moving = square > 0
    return (RELAXATION * torch.where(moving, value / torch.where(moving, square, 1.0), 0.0))[:, None, None]


def _worst(matrix: torch.Tensor, batch: Batch) -> torch.Tensor:
    below = torch.where(batch.support, -matrix, 0.0).flatten(1)
    return torch.cat([below, batch.gaps(matrix)], 1).amax(1)
