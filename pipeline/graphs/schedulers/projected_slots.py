"""A trained network gives operations slots, POPOCS projects them onto the precedence: POCSNet's operator on jobs.

Jain & Amarasinghe 2019 name job scheduling as an application of their operator. The projected slots are decoded to a
legal order; the one rule for orders, list scheduling with this order as priorities, gives the placement. The first
proposal has no noise. Every other proposal adds noise of a level drawn log-uniformly, either to the network's scores,
which are then projected and decoded, or to the expected slots of the one projection; it also draws the number of
devices that it uses, as randomised list scheduling does. Graphs larger than those of the training are unsupported: the
soft assignment has operations^2 entries, and such graphs were not learned.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Literal, Self

import numpy as np
import torch
from pydantic import Field, model_validator

from pipeline.config.graph_methods import GraphMethodSettings
from pipeline.graphs.devices.targets import Target
from pipeline.graphs.models.slot_network import SlotNetwork
from pipeline.graphs.models.views import batch, view
from pipeline.graphs.problems.problem import Problem
from pipeline.graphs.schedulers import Budget, Proposals
from pipeline.graphs.schedulers.rules.listing import listed
from pipeline.graphs.schedulers.rules.proposing import proposed
from pipeline.operators.decoding import expected_slots

Noise = Literal["scores", "slots"]
Level = Annotated[float, Field(gt=0)]


class Settings(GraphMethodSettings):
    model: str = "popocs"  # the trained network that it loads, of the same experiment
    noise: Noise = "scores"  # what is disturbed: scores before the projection | expected slots after
    least_noise: Level = 0.01  # drawn log-uniform between these two; of the scores' standard deviation | of all slots
    most_noise: Level = 1.0

    @model_validator(mode="after")
    def _levels_are_a_range(self) -> Self:
        if self.least_noise > self.most_noise:
            raise ValueError(f"least_noise {self.least_noise} is more than most_noise {self.most_noise}")
        return self


class ProjectedSlots:
    def __init__(self, settings: Settings, weights: Path) -> None:
        self._noise = settings.noise
        self._least, self._most = np.log(settings.least_noise), np.log(settings.most_noise)
        self._network = SlotNetwork.load(weights)

    def propose(self, problem: Problem, rng: np.random.Generator, budget: Budget) -> Proposals:
        began = time.perf_counter()
        n, count, most = len(problem), budget.proposals, self._network.settings.most_operations
        if n > most:
            return Proposals.unsupported(n, f"{n} operations; the network takes at most {most}")
        levels = np.exp(rng.uniform(self._least, self._most, count))
        devices = rng.integers(1, problem.devices + 1, count)
        levels[0], devices[0] = 0.0, problem.devices
        slots = self._slots(problem, levels, rng) if n else np.zeros((count, 0))
        # the first slot is the most urgent
        return proposed(Target((problem,)), *listed(problem, -slots, devices), began)

    @torch.inference_mode()
    def _slots(self, problem: Problem, levels: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """The slot of each operation, (S, n), for each level of noise, (S,)."""
        graph = batch([view(problem)])
        scores = self._network.scores(graph)  # (1, n, n)
        n = len(problem)
        if self._noise == "slots":
            soft = self._network.constrain(scores, graph.orders)[0].double().numpy()  # (n, n)
            expected = np.cumsum(soft * np.arange(n), 1)[:, -1]  # summed in sequence: the same bits on every processor
            noisy: np.ndarray = expected + n * levels[:, None] * rng.standard_normal((len(levels), n))
            return noisy
        noise = levels[:, None, None] * rng.gumbel(size=(len(levels), n, n))
        disturbed = (scores.numpy() + scores.numpy().std() * noise).astype(np.float32)
        orders = graph.orders.take(np.zeros(len(levels), np.int64))
        decoded = expected_slots(self._network.constrain(torch.from_numpy(disturbed), orders).numpy(), orders)
        return np.argsort(decoded, 1).astype(np.float64)


make = ProjectedSlots
