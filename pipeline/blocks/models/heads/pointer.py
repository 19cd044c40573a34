"""A pointer to the instruction to issue next, masked to the ready ones: every order is legal by construction.

After Vinyals et al. 2015, without their recurrent state: a score is a perceptron's of the instruction, the last two
issued, the block's mean and what is to be seen at that step (`issue.SEEN`). So all steps of GCC's order are learned
at once, and decoding needs no network beyond sums.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from pipeline.blocks.models import greedy
from pipeline.blocks.models.issue import N_SEEN, Decisions, decisions
from pipeline.blocks.problems.problems import Problems
from pipeline.blocks.problems.relations import Relations
from pipeline.config.ordering import Head as Settings


class Pointer(nn.Module):
    decoder = "greedy"

    def __init__(self, width: int, settings: Settings) -> None:
        super().__init__()
        self.hidden, self.beam = settings.hidden, settings.beam
        self.parts = nn.Linear(width, 4 * settings.hidden + 1)
        self.none = nn.Parameter(torch.zeros(2, settings.hidden))  # in place of the last, and the last but one
        self.seen = nn.EmbeddingBag(N_SEEN, settings.hidden, mode="sum")
        nn.init.normal_(self.seen.weight, std=0.1)
        self.weight = nn.Parameter(torch.randn(settings.hidden) * settings.hidden**-0.5)

    def _split(self, embedded: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """own (B, n), candidate, last, last_but_one (B, n, K), block (B, K), all float32."""
        parts = self.parts(embedded).float()
        candidate, last, last_but_one, block, own = parts.split([*[self.hidden] * 4, 1], -1)
        return own.squeeze(-1), candidate, last, last_but_one, block.mean(1)

    def _log_probabilities(self, embedded: torch.Tensor, found: Decisions) -> torch.Tensor:
        """Of every ready instruction at every choice, (C,)."""
        size, n, _ = embedded.shape
        device = embedded.device
        own, candidate, last, last_but_one, block = self._split(embedded)
        instruction, step, taken, was_last, was_before = (torch.from_numpy(part).to(device) for part in found[1:])
        # plain indexing adds gradients in the threads' order
        context = functional.embedding(instruction[taken] // n, block)
        for part, none, was in ((last, self.none[:1], was_last), (last_but_one, self.none[1:], was_before)):
            row = was % (size * n + 1)  # -1 takes the last row
            context = context + functional.embedding(row, torch.cat([part.reshape(size * n, -1), none]))
        hidden = candidate.reshape(size * n, -1).index_select(0, instruction) + context.index_select(0, step)
        hidden = hidden + self.seen(torch.from_numpy(found.seen).to(device))
        score = own.reshape(-1).index_select(0, instruction) + (functional.relu(hidden) * self.weight).sum(-1)
        with torch.no_grad():
            largest = score.new_full((len(taken),), -torch.inf).scatter_reduce(0, step, score, "amax")
        shifted = score - largest[step]
        return shifted - torch.zeros_like(largest).index_add(0, step, shifted.exp()).log()[step]

    def loss(
        self, embedded: torch.Tensor, problems: Problems, related: Relations, order: np.ndarray
    ) -> tuple[torch.Tensor, int]:
        """Cross-entropy of every choice that GCC had, nats."""
        found = decisions(problems, related, order)
        if not len(found.taken):
            return embedded.sum() * 0, 0
        taken = torch.from_numpy(found.taken).to(embedded.device)
        return -self._log_probabilities(embedded, found)[taken].sum(), len(taken)

    @torch.no_grad()
    def confidence(
        self, embedded: torch.Tensor, problems: Problems, related: Relations, order: np.ndarray
    ) -> np.ndarray:
        """Probability that the network gives to orders (B, n), (B,)."""
        found = decisions(problems, related, order)
        if not len(found.taken):
            return np.ones(len(order))
        taken = self._log_probabilities(embedded, found).cpu().numpy()[found.taken]
        block = found.instruction[found.taken] // order.shape[1]
        total: np.ndarray = np.exp(np.bincount(block, taken, minlength=len(order)))
        return total

    @torch.no_grad()
    def output(self, embedded: torch.Tensor, problems: Problems) -> greedy.Scores:
        own, candidate, last, last_but_one, block = (part.cpu() for part in self._split(embedded))
        size = len(own)
        none = self.none.cpu().view(2, 1, 1, -1).expand(2, size, 1, -1)
        return greedy.Scores(
            own.numpy(),
            candidate.numpy(),
            torch.cat([last, none[0]], 1).numpy(),
            torch.cat([last_but_one, none[1]], 1).numpy(),
            block.numpy(),
            self.seen.weight.cpu().numpy(),
            self.weight.cpu().numpy(),
        )

    def decode(self, output: greedy.Scores, problems: Problems, related: Relations) -> np.ndarray:
        return greedy.decode(problems, related, output)

    def decode_believed(
        self, output: greedy.Scores, problems: Problems, related: Relations
    ) -> tuple[np.ndarray, np.ndarray]:
        order, logarithm = greedy.decode_believed(problems, related, output)
        return order, np.exp(logarithm)


make = Pointer
