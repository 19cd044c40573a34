"""Slot scores that Sinkhorn iteration makes doubly stochastic: the baseline of POCSNet, for blocks of any length."""

from __future__ import annotations

import numpy as np
import torch

from learned_schedulers.blocks.models.heads.slots import SlotHead, true_slots
from learned_schedulers.blocks.models.ordering_settings import Head as Settings
from learned_schedulers.blocks.problems.problems import Problems
from learned_schedulers.blocks.problems.relations import Relations
from learned_schedulers.operators.losses import cross_entropy
from learned_schedulers.operators.sinkhorn import sinkhorn

_FLOOR = 1e-6  # smallest entry in the cross-entropy's logarithm


class Sinkhorn(SlotHead):
    def __init__(self, width: int, settings: Settings) -> None:
        super().__init__(width, settings)
        self.iterations = settings.iterations

    def assigned(self, scores: torch.Tensor, problems: Problems) -> torch.Tensor:
        return sinkhorn(scores, self.iterations)

    def loss(
        self, embedded: torch.Tensor, problems: Problems, related: Relations, order: np.ndarray
    ) -> tuple[torch.Tensor, int]:
        """Sum of the cross-entropies of GCC's slots, nats, and their number."""
        matrix = self.assigned(self.scores(embedded), problems)
        return cross_entropy(matrix, true_slots(order, embedded.device), _FLOOR) * order.size, order.size


make = Sinkhorn
