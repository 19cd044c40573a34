"""A trained network gives operations slots, POPOCS projects them onto the precedence: POCSNet's operator on jobs.

Jain & Amarasinghe 2019 name job scheduling as an application of their operator. The projected slots are decoded to a
legal order; placement is by the one rule for orders, list scheduling with this order as priorities. The first proposal
is what the network says. Each other one adds noise to its scores before the projection, of a level drawn log-uniform,
and draws how many devices it uses, as randomised list scheduling does. Graphs that are larger than those of the
training are unsupported: the soft assignment has operations^2 entries, and is not tried where it was not learned.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import torch

from pipeline.config.graph_methods.projected_slots import Settings
from pipeline.graphs.devices.targets import Target
from pipeline.graphs.models.slot_network import SlotNetwork
from pipeline.graphs.models.views import batch, view
from pipeline.graphs.problems.problem import Problem
from pipeline.graphs.schedulers import Budget, Proposals
from pipeline.graphs.schedulers.rules.listing import listed
from pipeline.graphs.schedulers.rules.proposing import proposed
from pipeline.operators.decoding import expected_slots


class ProjectedSlots:
    def __init__(self, settings: Settings, weights: Path) -> None:
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
        orders = self._orders(problem, levels, rng) if n else np.zeros((count, 0), np.int16)
        priorities = -np.argsort(orders, 1).astype(np.float64)  # the first slot is the most urgent
        return proposed(Target((problem,)), *listed(problem, priorities, devices), began)

    @torch.inference_mode()
    def _orders(self, problem: Problem, levels: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Legal orders (S, n), one of each level of noise (S,)."""
        graph = batch([view(problem)])
        scores = self._network.scores(graph).numpy()  # (1, n, n)
        noise = rng.gumbel(size=(len(levels), *scores.shape[1:])) * levels[:, None, None]
        noisy = (scores + scores.std() * noise).astype(np.float32)
        orders = graph.orders.take(np.zeros(len(levels), np.int64))
        return expected_slots(self._network.constrain(torch.from_numpy(noisy), orders).numpy(), orders)


make = ProjectedSlots
