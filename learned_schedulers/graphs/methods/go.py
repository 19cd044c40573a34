"""GO (Zhou et al. 2020): a network places and orders a whole graph, in rounds that start from the best schedule so far.

In mode `one` it learns from this graph alone; with a `model`, trained on other graphs, it starts from that network, and
may go on learning. It knows the target, and its costs are those of the target and of the memory: a schedule that does
not fit is invalid.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Literal

import numpy as np
import torch

from learned_schedulers.graphs.devices.completion import Completion
from learned_schedulers.graphs.devices.targets import Target
from learned_schedulers.graphs.method_settings import Go as Settings
from learned_schedulers.graphs.methods import Budget, Proposals
from learned_schedulers.graphs.methods.rules.proposing import improvements, of_search
from learned_schedulers.graphs.methods.rules.repair import repaired
from learned_schedulers.graphs.models.whole_graph.network import WholeGraph, load
from learned_schedulers.graphs.models.whole_graph.search import Learner, State, begin, search
from learned_schedulers.graphs.problems.problem import Problem

Tasks = Literal["joint", "separate", "placement", "priority"]


class Go:
    def __init__(
        self, settings: Settings, target: Target, weights: Path | None = None, expert: np.ndarray | None = None
    ) -> None:
        self._settings, self._target, self._weights, self._expert = settings, target, weights, expert

    def propose(self, problem: Problem, rng: np.random.Generator, budget: Budget) -> Proposals:
        began = time.perf_counter()
        n = len(problem)
        if not n:
            nothing = np.zeros((1, 0), np.int32)
            return Proposals(nothing, nothing, stats=improvements(np.zeros(1), 0.0))
        network = self._network(int(rng.integers(2**63)))
        search_settings = self._settings.settings
        learn = Learner(network, search_settings.learning_rate) if self._settings.learns else None
        started = self._start(budget.evaluations)
        if started is None:
            return Proposals.unsupported(n, "the expert's placement, from which it starts, exceeds the memory")
        start, spent = started
        shares = _shares(self._settings.tasks, search_settings.placing)
        result = search(network, start, search_settings, shares, budget.evaluations, rng, learn, spent)
        return of_search(result.best, result.costs, began)

    def _start(self, evaluations: int) -> tuple[State, np.ndarray] | None:
        """The state to start from, and the costs up to it; None if the expert's placement cannot be repaired."""
        problem = self._target.mean
        if self._expert is None:
            return begin(problem, evaluations)
        schedule = repaired(problem, self._expert)
        if schedule is None:
            return None
        start = State.begin(Completion(problem), schedule[1])
        return start, start.evaluated.costs

    def _network(self, seed: int) -> WholeGraph:
        """The trained network, or one with random weights."""
        if self._weights is not None:
            return load(self._weights)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            return WholeGraph(self._settings.settings)


def _shares(tasks: Tasks, placing: float) -> tuple[float, ...]:
    """Shares of the moves that place, in parts of equal length."""
    return {"joint": (placing,), "separate": (1.0, 0.0), "placement": (1.0,), "priority": (0.0,)}[tasks]


make = Go
