"""A pointer to the instruction to issue next, masked to the ready ones: every order is legal by construction.

The head follows Vinyals et al. 2015, without their recurrent state: a perceptron computes a score from the
instruction, the last two issued instructions, the mean over the block and the features of the step
(`issue.STEP_FEATURES`). So the network learns all steps of GCC's order at once, and decoding needs only sums.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from learned_schedulers.blocks.models import greedy
from learned_schedulers.blocks.models.issue import N_STEP_CATEGORIES, Decisions, decisions
from learned_schedulers.blocks.models.ordering_settings import Head as Settings
from learned_schedulers.blocks.problems.problems import Problems
from learned_schedulers.blocks.problems.relations import Relations


class _Parts(NamedTuple):
    """What the head computes of the instructions, float32; see `greedy.Scores`."""

    base: torch.Tensor  # (B, n)
    candidate: torch.Tensor  # (B, n, K)
    last: torch.Tensor  # (B, n, K)
    last_but_one: torch.Tensor  # (B, n, K)
    block: torch.Tensor  # (B, K)


class Pointer(nn.Module):
    """The head: vectors of a block's instructions, (B, n, width) in a legal order, -> an order."""

    decoder = "greedy"  # it measures a training; further decoders: decoders.py

    def __init__(self, width: int, settings: Settings) -> None:
        super().__init__()
        self.hidden, self.beam = settings.hidden, settings.beam
        self.parts = nn.Linear(width, 4 * settings.hidden + 1)
        self.none = nn.Parameter(torch.zeros(2, settings.hidden))  # replaces the last and the last but one
        self.seen = nn.EmbeddingBag(N_STEP_CATEGORIES, settings.hidden, mode="sum")
        nn.init.normal_(self.seen.weight, std=0.1)
        self.weight = nn.Parameter(torch.randn(settings.hidden) * settings.hidden**-0.5)

    def _split(self, embedded: torch.Tensor) -> _Parts:
        parts = self.parts(embedded).float()
        candidate, last, last_but_one, block, base = parts.split([*[self.hidden] * 4, 1], -1)
        return _Parts(base.squeeze(-1), candidate, last, last_but_one, block.mean(1))

    def _log_probabilities(self, embedded: torch.Tensor, choices: Decisions) -> torch.Tensor:
        """Log-probability of every ready instruction at every choice, (C,)."""
        size, n, _ = embedded.shape

        def tensor(array: np.ndarray) -> torch.Tensor:
            return torch.from_numpy(array).to(embedded.device)

        parts = self._split(embedded)
        instruction, step, chosen = tensor(choices.instruction), tensor(choices.step), tensor(choices.chosen)
        # Plain indexing would add gradients in the order of the threads.
        context = functional.embedding(instruction[chosen] // n, parts.block)
        for part, none, issued in (
            (parts.last, self.none[:1], choices.last),
            (parts.last_but_one, self.none[1:], choices.last_but_one),
        ):
            row = tensor(issued) % (size * n + 1)  # -1 becomes the last row
            context = context + functional.embedding(row, torch.cat([part.reshape(size * n, -1), none]))
        hidden = parts.candidate.reshape(size * n, -1).index_select(0, instruction) + context.index_select(0, step)
        hidden = hidden + self.seen(tensor(choices.features))
        score = parts.base.reshape(-1).index_select(0, instruction) + (functional.relu(hidden) * self.weight).sum(-1)
        with torch.no_grad():
            largest = score.new_full((len(chosen),), -torch.inf).scatter_reduce(0, step, score, "amax")
        shifted = score - largest[step]
        return shifted - torch.zeros_like(largest).index_add(0, step, shifted.exp()).log()[step]

    def loss(
        self, embedded: torch.Tensor, problems: Problems, related: Relations, order: np.ndarray
    ) -> tuple[torch.Tensor, int]:
        """Sum of the cross-entropies of GCC's choices, nats, and their number; 0 if the blocks leave no choice."""
        choices = decisions(problems, related, order)
        if not len(choices.chosen):
            return embedded.sum() * 0, 0
        chosen = torch.from_numpy(choices.chosen).to(embedded.device)
        return -self._log_probabilities(embedded, choices)[chosen].sum(), len(chosen)

    @torch.no_grad()
    def confidence(
        self, embedded: torch.Tensor, problems: Problems, related: Relations, order: np.ndarray
    ) -> np.ndarray:
        """Probability that the network gives to orders (B, n), (B,)."""
        choices = decisions(problems, related, order)
        if not len(choices.chosen):
            return np.ones(len(order))
        logarithms = self._log_probabilities(embedded, choices).cpu().numpy()[choices.chosen]
        block = choices.instruction[choices.chosen] // order.shape[1]
        probability: np.ndarray = np.exp(np.bincount(block, logarithms, minlength=len(order)))
        return probability

    @torch.no_grad()
    def output(self, embedded: torch.Tensor) -> greedy.Scores:
        """The input of its decoders."""
        parts = _Parts(*(part.cpu() for part in self._split(embedded)))
        none = self.none.cpu().view(2, 1, 1, -1).expand(2, len(parts.base), 1, -1)
        return greedy.Scores(
            base=parts.base.numpy(),
            candidate=parts.candidate.numpy(),
            last=torch.cat([parts.last, none[0]], 1).numpy(),
            last_but_one=torch.cat([parts.last_but_one, none[1]], 1).numpy(),
            block=parts.block.numpy(),
            step=self.seen.weight.cpu().numpy(),
            weight=self.weight.cpu().numpy(),
        )

    def decode(self, output: greedy.Scores, problems: Problems, related: Relations) -> np.ndarray:
        """Orders from the head's decoder, (B, n)."""
        return greedy.decode(problems, related, output)

    def decode_with_probability(
        self, output: greedy.Scores, problems: Problems, related: Relations
    ) -> tuple[np.ndarray, np.ndarray]:
        """Orders from the head's decoder, (B, n), and the probability of each, (B,)."""
        order, logarithm = greedy.decode_with_probability(problems, related, output)
        return order, np.exp(logarithm)
