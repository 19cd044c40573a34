"""A trained network, for blocks of all lengths, with the decoders of its head: it imitates GCC, or best orders.

One that learned best orders of processors has the decoder `timed` besides: the fastest, by the model of the request's
machine, of the greedy order and of others drawn from the network; `schedulers.<name>.evaluations` in all.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pipeline.blocks.latency import model
from pipeline.blocks.latency.costs import Processor
from pipeline.blocks.models.heads import Drawing
from pipeline.blocks.models.ordering_network import OrderingNetwork
from pipeline.blocks.problems.problems import Problems
from pipeline.blocks.problems.processors import on_processor, with_costs
from pipeline.blocks.schedulers import Request, needed_machine

EVALUATIONS = 32  # unless the settings say otherwise


class Ordering:
    def __init__(self, request: Request) -> None:
        if request.weights is None or request.encodings is None:
            raise ValueError("the scheduler `ordering` needs weights and the table encodings")
        self._network = OrderingNetwork.load(request.weights)
        self.decoders = self._network.head.decoders
        self._encodings, self._evaluations = request.encodings, request.settings.evaluations or EVALUATIONS
        self._machine: Processor | None = None
        if self._network.settings.machines:
            self._machine = needed_machine(request, "a network that learned best orders")
            self._encodings = with_costs(request.encodings, [self._machine])
            if isinstance(self._network.head, Drawing):
                self.decoders = (*self.decoders, "timed")
        self._bags = self._network.vocabulary.bags(self._encodings)

    def schedule(self, problems: Problems, rng: np.random.Generator) -> dict[str, np.ndarray]:
        return self.decode(problems, rng, self.decoders)

    def decode(self, problems: Problems, rng: np.random.Generator, decoders: Sequence[str]) -> dict[str, np.ndarray]:
        """Orders by some of the `decoders` alone: name -> (B, n)."""
        own = [name for name in decoders if name != "timed"]
        found: dict[str, np.ndarray] = {}
        if own:
            found = self._network.schedule(self._seen(problems), self._encodings, self._bags, rng, own)
        if "timed" in decoders:
            found["timed"] = self._fastest(problems, rng)
        return found

    def confidence(self, problems: Problems, order: np.ndarray) -> np.ndarray:
        """Probability that the network gives to orders (B, n), (B,); NaN where its head knows none."""
        return self._network.confidence(self._seen(problems), self._encodings, self._bags, order)

    def _fastest(self, problems: Problems, rng: np.random.Generator) -> np.ndarray:
        assert self._machine is not None
        drawn = self._network.draws(self._seen(problems), self._encodings, self._bags, rng, self._evaluations)
        cycles = model.makespans(model.costs(self._machine, problems.instructions), drawn)
        return drawn[np.arange(len(drawn)), cycles.argmin(1)]

    def _seen(self, problems: Problems) -> Problems:
        return problems if self._machine is None else on_processor(problems, self._machine.latencies)


make = Ordering
