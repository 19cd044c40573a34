"""A trained network for blocks of all lengths, with all decoders of its head. It imitates GCC, or best orders.

A network that learned best orders of processors also has the decoder `timed`: the fastest, in the model of the machine,
of the greedy order and orders drawn from the network. The budget's `evaluations` is the number of these orders.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from pydantic import BaseModel

from learned_schedulers.blocks.method_settings import MethodSettings, asks
from learned_schedulers.blocks.methods import Budget, Solution
from learned_schedulers.blocks.methods.on_machine.supported import solve_supported
from learned_schedulers.blocks.models import ordering_settings as ordering
from learned_schedulers.blocks.models.decoders import DECODERS, draws
from learned_schedulers.blocks.models.heads import Confident
from learned_schedulers.blocks.models.ordering_network import OrderingNetwork
from learned_schedulers.blocks.problems.instructions import Encodings
from learned_schedulers.blocks.problems.problems import Problems
from learned_schedulers.blocks.problems.processors import on_processor, with_costs
from learned_schedulers.blocks.problems.relations import Relations, relations
from learned_schedulers.blocks.processors import model
from learned_schedulers.blocks.processors.costs import Processor
from learned_schedulers.section import Positive


class Settings(MethodSettings):
    needs: ClassVar = asks("weights encodings")
    uses: ClassVar = asks("machine")

    evaluations: Positive = 32  # orders of each block among which the decoder `timed` chooses the fastest

    def modules(self, model: BaseModel | None) -> list[str]:
        """The network's encoder, head and decoders."""
        if not isinstance(model, ordering.Ordering):
            raise ValueError("ordering needs the settings of its network: they name its encoder and its head")
        return ordering.modules(model)


class _Inference(NamedTuple):
    """What the network computes for a batch of blocks."""

    embedded: torch.Tensor
    problems: Problems  # as the network sees them
    relations: Relations
    output: Any  # of the head


class Ordering:
    def __init__(
        self, settings: Settings, weights: Path, encodings: Encodings, machine: Processor | None = None
    ) -> None:
        self._network = OrderingNetwork.load(weights)
        self._machine: Processor | None = None
        self._encodings = encodings
        head = self._network.settings.head.kind
        self._decoders = DECODERS[head]
        self.decoders: tuple[str, ...] = (self._network.head.decoder, *self._decoders)
        if self._network.settings.machines:
            if machine is None:
                raise ValueError("a network that learned best orders schedules for a machine, and none is given")
            self._machine, self._encodings = machine, with_costs(encodings, [machine])
            if head == "pointer":
                self.decoders = (*self.decoders, "timed")
        self._bags = self._network.vocabulary.bags(self._encodings)

    def solve(self, problems: Problems, rng: np.random.Generator, budget: Budget) -> Solution:
        if self._machine is None:
            return self._solve(problems, rng, budget)
        return solve_supported(self._machine, problems, lambda part: self._solve(part, rng, budget))

    def _solve(self, problems: Problems, rng: np.random.Generator, budget: Budget) -> Solution:
        inference = self._infer(problems)
        orders = self._decode(problems, inference, rng, budget, self.decoders)
        head = self._network.head
        if not isinstance(head, Confident):
            return Solution.of(orders)
        confidence = head.confidence(inference.embedded, inference.problems, inference.relations, orders[head.decoder])
        return Solution.of(orders, confidence=confidence)

    def decode(
        self, problems: Problems, rng: np.random.Generator, budget: Budget, decoders: Sequence[str]
    ) -> dict[str, np.ndarray]:
        """Orders by these decoders alone: name -> (B, n)."""
        return self._decode(problems, self._infer(problems), rng, budget, decoders)

    @torch.no_grad()
    def _infer(self, problems: Problems) -> _Inference:
        shown = problems if self._machine is None else on_processor(problems, self._machine.latencies)
        related = relations(shown, self._encodings.compared)
        embedded = self._network.embed(shown, related, self._bags)
        return _Inference(embedded, shown, related, self._network.head.output(embedded, shown))

    def _decode(
        self,
        problems: Problems,
        inference: _Inference,
        rng: np.random.Generator,
        budget: Budget,
        decoders: Sequence[str],
    ) -> dict[str, np.ndarray]:
        shown, related, output = inference.problems, inference.relations, inference.output
        head = self._network.head
        orders: dict[str, np.ndarray] = {}
        for name in decoders:
            if name == head.decoder:
                orders[name] = head.decode(output, shown, related)
            elif name != "timed":
                orders[name] = self._decoders[name](head, output, shown, related, rng)
        if "timed" in decoders:
            assert self._machine is not None
            drawn = draws(head, output, shown, related, rng, budget.evaluations)
            cycles = model.makespans(model.costs(self._machine, problems.instructions), drawn)
            orders["timed"] = drawn[np.arange(len(drawn)), cycles.argmin(1)]
        return orders


make = Ordering
