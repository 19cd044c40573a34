"""All operations on the first device, in the order of their numbers: the schedule that every other one has to beat."""

from __future__ import annotations

import time

import numpy as np

from learned_schedulers.graphs.devices.targets import Target
from learned_schedulers.graphs.method_settings import OneDevice as Settings
from learned_schedulers.graphs.methods import Budget, Proposals
from learned_schedulers.graphs.methods.rules.proposing import proposed
from learned_schedulers.graphs.methods.rules.repair import fits
from learned_schedulers.graphs.problems.problem import Problem


class OneDevice:
    def __init__(self, settings: Settings) -> None:
        pass

    def propose(self, problem: Problem, rng: np.random.Generator, budget: Budget) -> Proposals:
        began = time.perf_counter()
        n = len(problem)
        order, placement = np.arange(n, dtype=np.int32), np.zeros(n, np.int32)
        if not fits(problem, order, placement):
            return Proposals.unsupported(n, f"one device has {problem.memory:g} bytes, and the graph needs more")
        return proposed(Target((problem,)), order[None], placement[None], began)


make = OneDevice
