"""The network that scores the candidates of a step: a perceptron that also sees the mean and the maximum of all."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import nn

from learned_schedulers.learning import weights
from learned_schedulers.projects.models.candidate_policy import KIND
from learned_schedulers.projects.models.candidates import FEATURES


class CandidateNetwork(nn.Module):
    """Scores of candidates; the policy draws one by the softmax of its step's scores, or takes the highest."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width
        self.read = nn.Linear(FEATURES, width)
        self.each = nn.Linear(width, width)
        self.mean = nn.Linear(width, width, bias=False)
        self.most = nn.Linear(width, width, bias=False)
        self.score = nn.Linear(width, 1, bias=False)

    def forward(self, numbers: torch.Tensor, counts: torch.Tensor) -> torch.Tensor:
        """(R,) scores. numbers: (R, FEATURES) of the candidates of D steps, one after the other; counts: (D,)."""
        step = torch.repeat_interleave(torch.arange(len(counts)), counts)
        hidden = torch.relu(self.read(numbers))  # (R, width)
        empty = hidden.new_zeros(len(counts), self.width)
        mean = empty.index_add(0, step, hidden) / counts[:, None]
        most = empty.scatter_reduce(0, step[:, None].expand_as(hidden), hidden, "amax")  # no hidden number is below 0
        return self.score(torch.relu(self.each(hidden) + (self.mean(mean) + self.most(most))[step])).squeeze(1)

    def negative_log_likelihood(
        self, numbers: torch.Tensor, counts: torch.Tensor, choices: torch.Tensor
    ) -> torch.Tensor:
        """(D,) of the candidates that were chosen. choices: (D,) index within the step's candidates."""
        scores = self(numbers, counts)
        step = torch.repeat_interleave(torch.arange(len(counts)), counts)
        most = scores.new_full((len(counts),), -torch.inf).scatter_reduce(0, step, scores, "amax").detach()
        sums = scores.new_zeros(len(counts)).index_add(0, step, torch.exp(scores - most[step]))
        chosen = scores[torch.cumsum(counts, 0) - counts + choices]
        return most + torch.log(sums) - chosen


def save(network: CandidateNetwork, path: Path) -> None:
    """Write the weights with the width."""
    weights.save(network, path, KIND, str(network.width))
