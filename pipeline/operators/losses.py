"""Losses of soft assignments against the true slots."""

from __future__ import annotations

import numpy as np
import torch
from torch.nn.functional import one_hot


def cross_entropy(matrix: torch.Tensor, slots: torch.Tensor, floor: float) -> torch.Tensor:
    """Mean negative log likelihood of the true slots, nats per instruction.

    matrix: (B, n, n); slots: (B, n) true slot of each instruction. The paper does not say what becomes
    of entries <= 0, which POPOCS leaves. Below `floor` the logarithm goes on as its tangent, so such
    entries still learn.
    """
    entries = matrix.gather(-1, slots.unsqueeze(-1)).squeeze(-1)
    tangent = np.log(floor) + (entries - floor) / floor
    return -torch.where(entries > floor, entries.clamp_min(floor).log(), tangent).mean()


def fenchel_young(proposal: torch.Tensor, matrix: torch.Tensor, slots: torch.Tensor) -> torch.Tensor:
    """A loss made for projections: its gradient in the proposal is the projected matrix minus the true permutation.

    Blondel, Martins, Niculae 2020, proposition 2, with the Euclidean projection onto the constraints (`nearest`)
    or the entropic one (Sinkhorn); unlike a likelihood it still learns where the projection is flat. It is a
    descent direction only of a true projection: with `extrapolated`, whose point is another one, it diverges. The
    value is a surrogate of the same gradient, plus the squared distance to the truth, which has none.
    proposal, matrix: (B, n, n), before and after the projection; slots: (B, n).
    """
    difference = (matrix - one_hot(slots, matrix.shape[-1])).detach()
    surrogate = (difference * proposal).sum((1, 2)).mean()
    return surrogate - surrogate.detach() + difference.square().sum((1, 2)).mean()
