"""A stronger relaxation: dependencies slot by slot instead of on expected slots.

For a -> b and every slot t, b stands in a slot up to t only with the weight that a has up to t - 1:

    sum_{j <= t} X[b, j] <= sum_{j <= t - 1} X[a, j].

Summed over t this gives x_b - x_a >= 1, so the set is smaller; a permutation matrix is in both or in neither.
Projections as in `extrapolated`, within the affine set L of sums and windows, with n conditions on cumulative
sums for each dependency instead of one. Only the conditions of open slots count, first_b <= t <= last_a: below,
the left side is 0, above, the right side is 1.

It ends for every DAG, for the same reason: within L a point satisfies all that is left strictly, the mean of
all legal orders. It is positive on the whole support. And for a -> b it has a gap at every open slot t, as
some legal order has a before t, b after t and another instruction in t: the non-descendants of a are at
least t + 1 (t <= last_a), and the ancestors of b are among them, at most t (first_b <= t), where nothing
stands between a and b. Let D be t + 1 of the former, the latter among them, closed under ancestors: it has a last
element c other than a, or else it were a and its ancestors, fewer than b's. Fill the first slots with D, c
last. (Where an m stands between a and b, a legal order with m in t does it.)
"""

from __future__ import annotations

import torch

from pipeline.operators.batch import Batch
from pipeline.operators.extrapolated import RELAXATION
from pipeline.operators.kernels import LARGEST
from pipeline.operators.orders import PartialOrders

_NOISE = 1e-2  # share of the tolerance


def time_indexed(
    assignment: torch.Tensor, orders: PartialOrders, *, iterations: int = 200, tolerance: float = 1e-5
) -> torch.Tensor:
    """Soft assignments moved into the time-indexed relaxation, within the windows.

    assignment: (B, n, n) float, [b, i, j] of instruction i in slot j; entries beyond +-1e6 are cut off and have
    no gradient. Returns (B, n, n): rows and columns sum to 1 up to rounding, zeros outside the windows and in
    the padding. An item stops as soon as no sign and no condition is violated by more than `tolerance`; one that
    does not within `iterations` ends above it, and `time_indexed_residual` tells. On the way no step leads away
    from any point of the set; the end is near the proposal, not nearest. A proposal within the set stays.
    Gradients by autograd through the iterations. Plain PyTorch, any device; NaN stays in its item.
    """
    return _iterate(assignment.clamp(-LARGEST, LARGEST), orders, iterations, tolerance)


def time_indexed_residual(matrix: torch.Tensor, orders: PartialOrders) -> torch.Tensor:
    """Largest violation of signs and of the dependencies slot by slot, (B, n, n) within the windows -> (B,)."""
    return _worst(matrix, _gaps(matrix, Batch(orders, matrix)))


def _iterate(x: torch.Tensor, orders: PartialOrders, iterations: int, tolerance: float) -> torch.Tensor:
    batch = Batch(orders, x)
    weights = _weights(batch, x)
    x = batch.affine(x, 1.0)
    for done in range(iterations):
        gaps = _gaps(x, batch)
        going = _worst(x, gaps).detach() > tolerance
        rest = going.nonzero()[:, 0]
        if len(rest) == 0:
            break
        if 2 * len(rest) <= len(x):  # go on with these alone: a few items need many times the others' iterations
            tail = _iterate(x[rest], orders.take(rest.cpu().numpy()), iterations - done, tolerance)
            return x.index_copy(0, rest, tail)
        gaps = torch.where(gaps > _NOISE * tolerance, gaps, 0.0)  # some are 0 within the affine set: only rounding
        pushes = gaps * weights
        moved = _step(x, (gaps * pushes).sum((1, 2)), batch.affine(_scatter(pushes, batch), 0.0))
        below = (-moved).relu()
        moved = _step(moved, below.square().sum((1, 2)), batch.affine(below, 0.0))
        x = torch.where(going[:, None, None], moved, x)
    return x


def _worst(matrix: torch.Tensor, gaps: torch.Tensor) -> torch.Tensor:
    return torch.cat([gaps.flatten(1), (-matrix).relu().flatten(1)], 1).amax(1)


def _open(batch: Batch, n: int) -> torch.Tensor:
    """(B, E, n) bool: the slots at which a dependency is a condition."""
    slots = torch.arange(n, device=batch.first.device)
    begin, end = batch.first.gather(1, batch.after), batch.last.gather(1, batch.before)
    return batch.edge.unsqueeze(2) & (slots >= begin.unsqueeze(2)) & (slots <= end.unsqueeze(2))


def _gaps(matrix: torch.Tensor, batch: Batch) -> torch.Tensor:
    """(B, E, n): how much b has up to slot t beyond what a has up to slot t - 1, where that is positive."""
    upto = matrix.cumsum(2)
    n = matrix.shape[2]
    later = upto.gather(1, batch.after.unsqueeze(2).expand(-1, -1, n))
    earlier = upto.gather(1, batch.before.unsqueeze(2).expand(-1, -1, n))
    earlier = torch.cat([torch.zeros_like(earlier[:, :, :1]), earlier[:, :, :-1]], 2)
    return torch.where(_open(batch, n), later - earlier, 0.0).relu()


def _weights(batch: Batch, like: torch.Tensor) -> torch.Tensor:
    """(B, E, n): 1 / |normal|^2, the normal's rows centred within their windows, as row sums do not move.

    k ones in a window of w slots leave k (w - k) / w. Fewer iterations than with the normal as it is: at n = 40
    on real blocks 66 instead of 106 at the 99th percentile.
    """
    n = like.shape[2]
    slots = torch.arange(n, dtype=like.dtype, device=like.device)

    def spread(instruction: torch.Tensor, upto: torch.Tensor) -> torch.Tensor:
        first, last = (edge.gather(1, instruction).unsqueeze(2).to(like.dtype) for edge in (batch.first, batch.last))
        width = last - first + 1
        ones = torch.minimum((upto - first + 1).clamp_min(0), width)
        return ones * (width - ones) / width

    total = spread(batch.after, slots) + spread(batch.before, slots - 1)
    return torch.where(_open(batch, n), 1 / total.clamp_min(0.5), 0.0)  # at open slots a's share is at least 1/2


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
