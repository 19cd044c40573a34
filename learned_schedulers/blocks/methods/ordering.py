"""A trained network that imitates GCC, for blocks of all lengths, with all decoders."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from learned_schedulers.blocks.method_settings import Ordering as Settings
from learned_schedulers.blocks.methods import Budget, Solution
from learned_schedulers.blocks.models.decoders import DECODERS
from learned_schedulers.blocks.models.greedy import Scores
from learned_schedulers.blocks.models.ordering_network import OrderingNetwork
from learned_schedulers.blocks.problems.instructions import Encodings
from learned_schedulers.blocks.problems.problems import Problems
from learned_schedulers.blocks.problems.relations import Relations, relations


class _Inference(NamedTuple):
    """What the network computes for a batch of blocks."""

    embedded: torch.Tensor
    relations: Relations
    scores: Scores  # of the head


class Ordering:
    def __init__(self, settings: Settings, weights: Path, encodings: Encodings) -> None:
        self._network = OrderingNetwork.load(weights)
        self._encodings = encodings
        self.decoders: tuple[str, ...] = (self._network.head.decoder, *DECODERS)
        self._bags = self._network.vocabulary.bags(encodings)

    def solve(self, problems: Problems, rng: np.random.Generator, budget: Budget) -> Solution:
        inference = self._infer(problems)
        orders = self._decode(problems, inference, rng, self.decoders)
        head = self._network.head
        confidence = head.confidence(inference.embedded, problems, inference.relations, orders[head.decoder])
        return Solution.of(orders, confidence=confidence)

    def decode(
        self, problems: Problems, rng: np.random.Generator, budget: Budget, decoders: Sequence[str]
    ) -> dict[str, np.ndarray]:
        """Orders by these decoders alone: name -> (B, n)."""
        return self._decode(problems, self._infer(problems), rng, decoders)

    @torch.no_grad()
    def _infer(self, problems: Problems) -> _Inference:
        related = relations(problems, self._encodings.compared)
        embedded = self._network.embed(problems, related, self._bags)
        return _Inference(embedded, related, self._network.head.output(embedded))

    def _decode(
        self, problems: Problems, inference: _Inference, rng: np.random.Generator, decoders: Sequence[str]
    ) -> dict[str, np.ndarray]:
        related, scores, head = inference.relations, inference.scores, self._network.head
        return {
            name: head.decode(scores, problems, related)
            if name == head.decoder
            else DECODERS[name](head, scores, problems, related, rng)
            for name in decoders
        }


make = Ordering
