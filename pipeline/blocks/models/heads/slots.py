"""Instruction x slot scores for blocks of any length, and the best order by an assignment."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

from pipeline.blocks.dag.topology import slots_of
from pipeline.blocks.problems.problems import Problems
from pipeline.operators.best_order import best_order
from pipeline.operators.orders import partial_orders

_LONGEST = 64  # slots


class SlotScores(nn.Module):
    """score[i, t] = instruction i's query . slot t's key; a slot is known by its distance from both ends."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.query = nn.Linear(width, width, bias=False)  # it would move all slots alike
        self.from_start, self.from_end = nn.Embedding(_LONGEST, width), nn.Embedding(_LONGEST, width)
        self.scale = width**-0.5

    def forward(self, embedded: torch.Tensor) -> torch.Tensor:
        """(B, n, width) -> (B, n, n) float32. Raises ValueError for a block of more than 64 instructions."""
        n = embedded.shape[1]
        if n > _LONGEST:
            raise ValueError(f"slots are known of at most {_LONGEST} instructions, not {n}; use the head pointer")
        slot = torch.arange(n, device=embedded.device)
        keys = self.from_start(slot) + self.from_end(n - 1 - slot)
        return (self.query(embedded).float() @ keys.float().T) * self.scale


def true_slots(order: np.ndarray, device: torch.device) -> torch.Tensor:
    """(B, n) int64 slot of each instruction in orders (B, n)."""
    return torch.from_numpy(slots_of(order).astype(np.int64)).to(device)


def best(matrix: torch.Tensor, problems: Problems) -> np.ndarray:
    """The legal orders of greatest weight in soft assignments (B, n, n), (B, n)."""
    return best_order(matrix.cpu().numpy(), partial_orders(problems.precedes)).order
