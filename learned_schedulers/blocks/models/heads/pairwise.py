"""The head learns which of two independent instructions comes first; the decoder compares the ready instructions.

score[i, k] = -score[k, i] = log-odds that i comes before k. The difference of two strengths is the model of Bradley &
Terry 1952; the bilinear part allows preferences that are not transitive.
"""

from __future__ import annotations

import numpy as np
import torch
from numba import njit
from torch import nn
from torch.nn import functional

from learned_schedulers.blocks.dag.topology import slots_of
from learned_schedulers.blocks.models.ordering_settings import Head as Settings
from learned_schedulers.blocks.problems.problems import Problems
from learned_schedulers.blocks.problems.relations import Relations, independent


class Pairwise(nn.Module):
    decoder = "greedy"

    def __init__(self, width: int, settings: Settings) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(width, settings.hidden), nn.Linear(width, settings.hidden)
        self.strength = nn.Linear(width, 1, bias=False)
        self.scale = settings.hidden**-0.5

    def scores(self, embedded: torch.Tensor) -> torch.Tensor:
        """(B, n, n) float32, antisymmetric."""
        one_way = self.first(embedded).float() @ self.second(embedded).float().mT * self.scale
        one_way = one_way + self.strength(embedded).float()
        return one_way - one_way.mT

    def loss(
        self, embedded: torch.Tensor, problems: Problems, related: Relations, order: np.ndarray
    ) -> tuple[torch.Tensor, int]:
        """Sum of the binary cross-entropies of all independent pairs, nats, and their number."""
        slot = slots_of(order)
        block, i, k = np.nonzero(independent(related) & (slot[:, :, None] < slot[:, None, :]))
        if not len(block):
            return embedded.sum() * 0, 0
        pairs = tuple(torch.from_numpy(part).to(embedded.device) for part in (block, i, k))
        odds = self.scores(embedded)[pairs]  # of GCC's choice
        return functional.softplus(-odds).sum(), len(block)

    @torch.no_grad()
    def output(self, embedded: torch.Tensor, problems: Problems) -> torch.Tensor:
        return functional.logsigmoid(self.scores(embedded))

    def decode(self, output: torch.Tensor, problems: Problems, related: Relations) -> np.ndarray:
        order = np.empty(problems.instructions.shape, np.int16)
        _likeliest_first(problems.precedes, output.cpu().numpy(), order)
        return order


@njit(cache=True, nogil=True)
def _likeliest_first(precedes: np.ndarray, before: np.ndarray, order: np.ndarray) -> None:
    """Fill `order` (B, n): each slot gets the ready instruction that most likely precedes all other ready ones.

    before: (B, n, n), logarithm of the probability that i comes before k.
    """
    size, n = order.shape
    waiting = np.empty(n, np.int64)
    for b in range(size):
        for k in range(n):
            waiting[k] = 0
            for i in range(n):
                waiting[k] += precedes[b, i, k]
        for t in range(n):
            best, chosen = -np.inf, -1
            for i in range(n):
                if waiting[i] == 0:
                    total = 0.0
                    for k in range(n):
                        if k != i and waiting[k] == 0:
                            total += before[b, i, k]
                    if chosen < 0 or total > best:
                        best, chosen = total, i
            order[b, t] = chosen
            waiting[chosen] = -1
            for k in range(n):
                waiting[k] -= precedes[b, chosen, k]


make = Pairwise
