"""Slot scores projected onto the partial order (POCSNet's operator), with the loss that belongs to the projection.

Of the operator's methods and losses, the pair `nearest` and Fenchel-Young learned best at five instructions.
"""

from __future__ import annotations

import numpy as np
import torch

from learned_schedulers.blocks.models.heads.slots import SlotHead, true_slots
from learned_schedulers.blocks.problems.problems import Problems
from learned_schedulers.blocks.problems.relations import Relations
from learned_schedulers.operators.losses import fenchel_young
from learned_schedulers.operators.orders import partial_orders
from learned_schedulers.operators.popocs import popocs


class Popocs(SlotHead):
    def assigned(self, scores: torch.Tensor, problems: Problems) -> torch.Tensor:
        return popocs(scores, partial_orders(problems.precedes), method="nearest")

    def loss(
        self, embedded: torch.Tensor, problems: Problems, related: Relations, order: np.ndarray
    ) -> tuple[torch.Tensor, int]:
        """Fenchel-Young loss of GCC's permutations, summed over blocks; its value is the squared distance to them."""
        scores = self.scores(embedded)
        with torch.no_grad():
            matrix = self.assigned(scores, problems)
        return fenchel_young(scores, matrix, true_slots(order, embedded.device)) * len(order), order.size


make = Popocs
