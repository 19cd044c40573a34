"""POPOCS: cyclic projection of a matrix onto soft permutations that respect a partial order.

Jain & Amarasinghe 2019, algorithm 1. One iteration projects onto row sums = 1, column sums = 1,
non-negativity, and then, one after the other, onto the half-space of every dependency a -> b,

    <X[b, :], v> - <X[a, :], v> >= 1,    v = (1, ..., n)    (8).

Deviations: the printed algorithm lacks the ReLU, which the slides have; it writes the half-space's
normal with entries +-1, where equation (8) has +-v, used here.

Made fast without changing the numbers: every half-space looks at X only through the expected slots
x = X v and moves X only along v, so the sequence over dependencies runs on the n numbers x, and X
follows in one step, X += (x' - x) v^T / |v|^2.
"""

from __future__ import annotations

import torch


def edge_normals(precedes: torch.Tensor) -> torch.Tensor:
    """Dependencies as rows of +1 (the later) and -1 (the earlier instruction), padded with rows of zeros.

    precedes: (B, n, n) bool, [b, i, k] where i must come before k.
    Returns (B, E, n) float32, E the largest number of dependencies of a block.
    """
    size, n, _ = precedes.shape
    count = precedes.sum((1, 2))
    normals = torch.zeros(size, int(count.max()) if size else 0, n)
    item, before, after = precedes.nonzero(as_tuple=True)
    rank = torch.arange(len(item)) - (count.cumsum(0) - count)[item]
    normals[item, rank, before] = -1.0
    normals[item, rank, after] = 1.0
    return normals


def popocs(proposal: torch.Tensor, normals: torch.Tensor, iterations: int) -> torch.Tensor:
    """Project proposals towards {soft permutations} and {dependencies} (algorithm 1).

    proposal: (B, n, n), instruction i in slot j; normals: (B, E, n) from `edge_normals`.
    Returns (B, n, n); with finitely many iterations it is near the intersection, not in it, and as
    the half-spaces come last, entries may be slightly negative.
    """
    n = proposal.shape[-1]
    v = torch.arange(1, n + 1, dtype=proposal.dtype, device=proposal.device)
    norm = v.square().sum()
    edges = normals.to(proposal).unbind(1)
    x = proposal
    for _ in range(iterations):
        x = x + (1 - x.sum(-1, keepdim=True)) / n
        x = x + (1 - x.sum(-2, keepdim=True)) / n
        x = x.relu()
        if edges:
            slots = moved = x @ v  # (B, n)
            for normal in edges:
                # Normal of the half-space: |(v, -v)|^2 = 2|v|^2, so each of the two slots moves by half the gap.
                gap = 1 - (moved * normal).sum(-1, keepdim=True)
                moved = moved + gap.relu() / 2 * normal
            x = x + (moved - slots).unsqueeze(-1) * (v / norm)
    return x


def residual(matrix: torch.Tensor, normals: torch.Tensor) -> torch.Tensor:
    """Largest violation of any constraint for each item, (B, n, n) and (B, E, n) -> (B,)."""
    n = matrix.shape[-1]
    v = torch.arange(1, n + 1, dtype=matrix.dtype)
    slots = matrix @ v
    gaps = (1 - (normals.to(matrix) @ slots.unsqueeze(-1)).squeeze(-1)).where(
        normals.abs().sum(-1) > 0, torch.zeros(())
    )
    parts = [
        (matrix.sum(-1) - 1).abs().amax(-1),
        (matrix.sum(-2) - 1).abs().amax(-1),
        (-matrix).relu().amax((-1, -2)),
    ]
    if normals.shape[1]:
        parts.append(gaps.relu().amax(-1))
    return torch.stack(parts).amax(0)
