"""An expert's placement by layers, as it was frozen: repaired where it exceeds the memory, ordered by the one rule.

The placement knows neither transfers nor memory (corpus/experts.py); the order is made for the target.
"""

from __future__ import annotations

import time

import numpy as np

from pipeline.config.graph_methods.expert import Settings
from pipeline.graphs.devices.targets import Target
from pipeline.graphs.problems.problem import Problem
from pipeline.graphs.schedulers import Budget, Proposals
from pipeline.graphs.schedulers.rules.proposing import placed


class Expert:
    def __init__(self, settings: Settings, target: Target, expert: np.ndarray | None) -> None:
        self._settings, self._target, self._placement = settings, target, expert

    def propose(self, problem: Problem, rng: np.random.Generator, budget: Budget) -> Proposals:
        began = time.perf_counter()
        if self._placement is None:
            return Proposals.unsupported(len(problem), f"no {self._settings.by} placement of this network is known")
        return placed(self._target.mean, self._placement[None], began)


make = Expert
