"""All operations on the first device, in the order of their numbers: the schedule that every other one has to beat."""

from __future__ import annotations

import time
from typing import ClassVar

import numpy as np

from pipeline.config.graph_methods import GraphMethodSettings
from pipeline.graphs.devices.targets import Target
from pipeline.graphs.problems.problem import Problem
from pipeline.graphs.schedulers import Budget, Proposals
from pipeline.graphs.schedulers.rules.proposing import proposed
from pipeline.graphs.schedulers.rules.repair import fits


class Settings(GraphMethodSettings):
    draws: ClassVar[bool] = False


class OneDevice:
    def __init__(self, settings: GraphMethodSettings) -> None:
        pass

    def propose(self, problem: Problem, rng: np.random.Generator, budget: Budget) -> Proposals:
        began = time.perf_counter()
        n = len(problem)
        order, placement = np.arange(n, dtype=np.int32), np.zeros(n, np.int32)
        if not fits(problem, order, placement):
            return Proposals.unsupported(n, f"one device has {problem.memory:g} bytes, and the graph needs more")
        return proposed(Target((problem,)), order[None], placement[None], began)


make = OneDevice
