"""Losses of soft assignments against the true slots."""

from __future__ import annotations

import numpy as np
import torch
from torch.nn.functional import one_hot


def cross_entropy(matrix: torch.Tensor, slots: torch.Tensor, floor: float) -> torch.Tensor:
    """Mean negative log likelihood of the true slots, nats per instruction.

    matrix: (B, n, n); slots: (B, n) true slot of each instruction. POPOCS leaves entries <= 0, and the paper does
    not define the loss of those. Here the tangent continues the logarithm below `floor`, so that such entries
    still have a gradient.
    """
    entries = matrix.gather(-1, slots.unsqueeze(-1)).squeeze(-1)
    tangent = np.log(floor) + (entries - floor) / floor
    return -torch.where(entries > floor, entries.clamp_min(floor).log(), tangent).mean()


def fenchel_young(proposal: torch.Tensor, matrix: torch.Tensor, slots: torch.Tensor) -> torch.Tensor:
    """A loss made for projections: its gradient in the proposal is the projected matrix minus the true permutation.

    Blondel, Martins, Niculae 2020, proposition 2, with the Euclidean projection onto the constraints (`nearest`)
    or the entropic one (Sinkhorn). Unlike a likelihood, it has a gradient where the projection is flat. This is a
    descent direction only for a true projection: with `extrapolated`, which returns another point, training
    diverges. The value is the squared distance to the true permutation; a surrogate gives the gradient.
    proposal, matrix: (B, n, n), before and after the projection; slots: (B, n).
    """
    difference = (matrix - one_hot(slots, matrix.shape[-1])).detach()
    surrogate = (difference * proposal).sum((1, 2)).mean()
    return surrogate - surrogate.detach() + difference.square().sum((1, 2)).mean()
