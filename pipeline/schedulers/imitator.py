"""A trained imitator of GCC, for blocks of all lengths, with the decoders of its head."""

from __future__ import annotations

import numpy as np

from pipeline.models.imitator import Imitator
from pipeline.models.problems import Problems
from pipeline.schedulers import Request


class Imitating:
    def __init__(self, request: Request) -> None:
        if request.weights is None or request.encodings is None:
            raise ValueError("the scheduler `imitator` needs weights and the table encodings")
        self._network = Imitator.load(request.weights)
        self._encodings = request.encodings
        self._bags = self._network.vocabulary.bags(request.encodings)

    def schedule(self, problems: Problems, rng: np.random.Generator) -> dict[str, np.ndarray]:
        return self._network.schedule(problems, self._encodings, self._bags, rng, self._network.head.decoders)

    def confidence(self, problems: Problems, order: np.ndarray) -> np.ndarray:
        """Probability that the network gives to orders (B, n), (B,); NaN where its head knows none."""
        return self._network.confidence(problems, self._encodings, self._bags, order)


make = Imitating
