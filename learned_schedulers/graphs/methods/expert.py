"""An expert's frozen placement by layers, repaired where it exceeds the memory.

The placement takes account of neither transfers nor memory (pipeline/graph_sets/experts.py of version 1.0.0); the
order is made for the target.
"""

from __future__ import annotations

import time

import numpy as np

from learned_schedulers.graphs.devices.targets import Target
from learned_schedulers.graphs.method_settings import Expert as Settings
from learned_schedulers.graphs.methods import UNSUPPORTED, Budget, Proposals
from learned_schedulers.graphs.methods.rules.proposing import placed, proposed
from learned_schedulers.graphs.methods.rules.repair import fits
from learned_schedulers.graphs.problems.problem import Problem


class Expert:
    def __init__(self, settings: Settings, target: Target, expert: np.ndarray | None) -> None:
        self._settings, self._target, self._placement = settings, target, expert

    def propose(self, problem: Problem, rng: np.random.Generator, budget: Budget) -> Proposals:
        began = time.perf_counter()
        if self._placement is None:
            return Proposals.unsupported(len(problem), f"no {self._settings.by} placement of this network is known")
        proposals = placed(self._target.mean, self._placement[None], began)
        if proposals.status == UNSUPPORTED or self._settings.order == "rule":
            return proposals
        order, problem_on_target = np.arange(len(problem), dtype=np.int32), self._target.mean
        if not fits(problem_on_target, order, proposals.placements[0]):
            return Proposals.unsupported(len(problem), "in the order of the graph the schedule exceeds the memory")
        return proposed(Target((problem_on_target,)), order[None], proposals.placements, began)


make = Expert
