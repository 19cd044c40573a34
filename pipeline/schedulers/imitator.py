"""A trained network, for blocks of all lengths, with the decoders of its head: it imitates GCC, or best orders."""

from __future__ import annotations

import numpy as np

from pipeline.models.imitator import Imitator
from pipeline.models.problems import Problems
from pipeline.models.processors import on_processor, with_costs
from pipeline.schedulers import Request, needed_machine


class Imitating:
    def __init__(self, request: Request) -> None:
        if request.weights is None or request.encodings is None:
            raise ValueError("the scheduler `imitator` needs weights and the table encodings")
        self._network = Imitator.load(request.weights)
        self._encodings, self._latencies = request.encodings, None
        if self._network.settings.machines:
            machine = needed_machine(request, "a network that learned best orders")
            self._encodings, self._latencies = with_costs(request.encodings, [machine]), machine.latencies
        self._bags = self._network.vocabulary.bags(self._encodings)

    def schedule(self, problems: Problems, rng: np.random.Generator) -> dict[str, np.ndarray]:
        return self._network.schedule(
            self._seen(problems), self._encodings, self._bags, rng, self._network.head.decoders
        )

    def confidence(self, problems: Problems, order: np.ndarray) -> np.ndarray:
        """Probability that the network gives to orders (B, n), (B,); NaN where its head knows none."""
        return self._network.confidence(self._seen(problems), self._encodings, self._bags, order)

    def _seen(self, problems: Problems) -> Problems:
        return problems if self._latencies is None else on_processor(problems, self._latencies)


make = Imitating
