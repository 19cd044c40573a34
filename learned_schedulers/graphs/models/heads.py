"""Parts of policies: scores whose first layer is scaled and shifted by a condition, and sums over a state's rows."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional

from learned_schedulers.graphs.models.conditions import N_CONDITIONS
from learned_schedulers.graphs.models.products import Linear

_WIDTH = 32


class Film(nn.Module):
    """Scales and shifts by a condition, (S, N_CONDITIONS); 1 and 0 before training. FiLM: Perez et al. 2018."""

    def __init__(self, outputs: int) -> None:
        super().__init__()
        self.widen, self.out = Linear(N_CONDITIONS, _WIDTH), Linear(_WIDTH, 2 * outputs)
        nn.init.zeros_(self.out.weight)
        nn.init.zeros_(self.out.bias)

    def forward(self, condition: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """(S, outputs) each."""
        scale, shift = self.out(functional.silu(self.widen(condition))).chunk(2, -1)
        return 1 + scale, shift


class Score(nn.Module):
    """A score from the sum of first layers: (..., hidden) -> (...); 0 before training.

    It has two terms, one of which is multiplied by what is at stake (conditions.py): at a low temperature scores have
    to be larger by this factor.
    """

    def __init__(self, hidden: int, second: bool = True) -> None:
        super().__init__()
        self.second = Linear(hidden, hidden) if second else None
        self.out = Linear(hidden, 2)
        nn.init.zeros_(self.out.weight)
        nn.init.zeros_(self.out.bias)

    def forward(self, first: torch.Tensor, stakes: torch.Tensor) -> torch.Tensor:
        """stakes: of a shape that broadcasts to (...)."""
        hidden = functional.relu(first)
        if self.second is not None:
            hidden = functional.silu(self.second(hidden))
        plain, scaled = self.out(hidden).unbind(-1)
        score: torch.Tensor = plain + stakes * scaled
        return score


def log_sums(scores: torch.Tensor, rows: torch.Tensor, states: int) -> torch.Tensor:
    """log sum exp of the scores of each state, (S,). scores: (R,); rows: (R,), the state that each score belongs to."""
    most = torch.full((states,), -torch.inf, dtype=scores.dtype, device=scores.device)
    most = most.scatter_reduce(0, rows, scores.detach(), "amax")
    sums = torch.zeros_like(most).index_add(0, rows, (scores - most[rows]).exp())
    return most + sums.log()
