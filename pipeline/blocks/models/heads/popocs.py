"""Slot scores projected onto the partial order (POCSNet's operator), with the loss that belongs to the projection.

Of the operator's methods and losses, the pair `nearest` and Fenchel-Young learned best at five instructions.
"""

from __future__ import annotations

import numpy as np
import torch

from pipeline.blocks.models.heads.slots import SlotHead, true_slots
from pipeline.blocks.problems.problems import Problems
from pipeline.blocks.problems.relations import Relations
from pipeline.operators.losses import fenchel_young
from pipeline.operators.orders import partial_orders
from pipeline.operators.popocs import popocs


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
