"""A trained network, for blocks of all lengths, with all decoders of its head: it imitates GCC, or best orders.

One that learned best orders of processors has the decoder `timed` besides: the fastest, by the model of the machine, of
the greedy order and of others drawn from the network; the budget's `evaluations` in all.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import torch

from pipeline.blocks.latency import model
from pipeline.blocks.latency.costs import Processor
from pipeline.blocks.models.heads import Confident
from pipeline.blocks.models.ordering_network import OrderingNetwork
from pipeline.blocks.problems.instructions import Encodings
from pipeline.blocks.problems.problems import Problems
from pipeline.blocks.problems.processors import on_processor, with_costs
from pipeline.blocks.problems.relations import Relations, relations
from pipeline.blocks.schedulers import Budget, Solution
from pipeline.blocks.schedulers.on_machine.supported import where_known
from pipeline.config.methods.ordering import Settings


class Ordering:
    def __init__(
        self, settings: Settings, weights: Path, encodings: Encodings, machine: Processor | None = None
    ) -> None:
        self._network = OrderingNetwork.load(weights)
        self._machine: Processor | None = None
        self._encodings = encodings
        head = self._network.settings.head.kind
        self._further = import_module(f"pipeline.blocks.models.decoders.{head}_decoders")
        self.decoders: tuple[str, ...] = (self._network.head.decoder, *self._further.DECODERS)
        if self._network.settings.machines:
            if machine is None:
                raise ValueError("a network that learned best orders schedules for a machine, and none is given")
            self._machine, self._encodings = machine, with_costs(encodings, [machine])
            if hasattr(self._further, "draws"):
                self.decoders = (*self.decoders, "timed")
        self._bags = self._network.vocabulary.bags(self._encodings)

    def solve(self, problems: Problems, rng: np.random.Generator, budget: Budget) -> Solution:
        if self._machine is None:
            return self._solve(problems, rng, budget)
        return where_known(self._machine, problems, lambda part: self._solve(part, rng, budget))

    def _solve(self, problems: Problems, rng: np.random.Generator, budget: Budget) -> Solution:
        seen = self._see(problems)
        orders = self._decode(problems, seen, rng, budget, self.decoders)
        head = self._network.head
        if not isinstance(head, Confident):
            return Solution.of(orders)
        return Solution.of(orders, confidence=head.confidence(*seen[:3], orders[head.decoder]))

    def decode(
        self, problems: Problems, rng: np.random.Generator, budget: Budget, decoders: Sequence[str]
    ) -> dict[str, np.ndarray]:
        """Orders by some of the `decoders` alone: name -> (B, n)."""
        return self._decode(problems, self._see(problems), rng, budget, decoders)

    @torch.no_grad()
    def _see(self, problems: Problems) -> tuple[torch.Tensor, Problems, Relations, Any]:
        """The blocks embedded, as the network sees them, their relations, and the head's output."""
        shown = problems if self._machine is None else on_processor(problems, self._machine.latencies)
        related = relations(shown, self._encodings.compared)
        embedded = self._network.embed(shown, related, self._bags)
        return embedded, shown, related, self._network.head.output(embedded, shown)

    def _decode(
        self,
        problems: Problems,
        seen: tuple[torch.Tensor, Problems, Relations, Any],
        rng: np.random.Generator,
        budget: Budget,
        decoders: Sequence[str],
    ) -> dict[str, np.ndarray]:
        _, shown, related, output = seen
        head = self._network.head
        orders: dict[str, np.ndarray] = {}
        for name in decoders:
            if name == head.decoder:
                orders[name] = head.decode(output, shown, related)
            elif name != "timed":
                orders[name] = self._further.DECODERS[name](head, output, shown, related, rng)
        if "timed" in decoders:
            assert self._machine is not None
            drawn = self._further.draws(head, output, shown, related, rng, budget.evaluations)
            cycles = model.makespans(model.costs(self._machine, problems.instructions), drawn)
            orders["timed"] = drawn[np.arange(len(drawn)), cycles.argmin(1)]
        return orders


make = Ordering
