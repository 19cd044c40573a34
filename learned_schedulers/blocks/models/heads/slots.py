"""Heads that make a soft assignment (B, n, n) of instruction x slot, and decode its best order."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
import torch
from torch import nn

from learned_schedulers.blocks.dag.topology import slots_of
from learned_schedulers.blocks.models.ordering_settings import Head as Settings
from learned_schedulers.blocks.problems.problems import Problems
from learned_schedulers.blocks.problems.relations import Relations
from learned_schedulers.operators.best_order import best_order
from learned_schedulers.operators.orders import partial_orders

_LONGEST = 64  # slots


class SlotScores(nn.Module):
    """score[i, t] = query of instruction i . key of slot t; the key encodes the slot's distances from both ends."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.query = nn.Linear(width, width, bias=False)  # a bias would change all instructions of a slot alike
        self.from_start, self.from_end = nn.Embedding(_LONGEST, width), nn.Embedding(_LONGEST, width)
        self.scale = width**-0.5

    def forward(self, embedded: torch.Tensor) -> torch.Tensor:
        """(B, n, width) -> (B, n, n) float32. Raises ValueError for a block of more than 64 instructions."""
        n = embedded.shape[1]
        if n > _LONGEST:
            raise ValueError(f"a block has {n} instructions, but this head has {_LONGEST} slots; use the head pointer")
        slot = torch.arange(n, device=embedded.device)
        keys = self.from_start(slot) + self.from_end(n - 1 - slot)
        return (self.query(embedded).float() @ keys.float().T) * self.scale


def true_slots(order: np.ndarray, device: torch.device) -> torch.Tensor:
    """(B, n) int64 slot of each instruction in orders (B, n)."""
    return torch.from_numpy(slots_of(order).astype(np.int64)).to(device)


class SlotHead(nn.Module):
    """Slot scores that `assigned` makes a soft assignment."""

    decoder = "best"

    def __init__(self, width: int, settings: Settings) -> None:
        super().__init__()
        self.scores = SlotScores(width)

    @abstractmethod
    def assigned(self, scores: torch.Tensor, problems: Problems) -> torch.Tensor:
        """The soft assignments of scores, (B, n, n) each."""

    @torch.no_grad()
    def output(self, embedded: torch.Tensor, problems: Problems) -> torch.Tensor:
        return self.assigned(self.scores(embedded), problems)

    def decode(self, output: torch.Tensor, problems: Problems, related: Relations) -> np.ndarray:
        """The legal orders (B, n) of the largest weight in soft assignments (B, n, n)."""
        return best_order(output.cpu().numpy(), partial_orders(problems.precedes)).order
