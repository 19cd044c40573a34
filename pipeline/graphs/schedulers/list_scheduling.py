"""List scheduling by critical path: whenever a device is free, it starts the operation with the longest path behind it.

Graham 1969; the baseline `list` of Zhang et al. 2023. The rule: rules/listing.py.
"""

from __future__ import annotations

import time
from typing import ClassVar

import numpy as np

from pipeline.config.graph_methods import GraphMethodSettings
from pipeline.graphs.devices.targets import Target
from pipeline.graphs.problems.problem import Problem
from pipeline.graphs.schedulers import Budget, Proposals
from pipeline.graphs.schedulers.rules.listing import by_critical_path
from pipeline.graphs.schedulers.rules.proposing import proposed


class Settings(GraphMethodSettings):
    draws: ClassVar[bool] = False


class ListScheduling:
    def __init__(self, settings: GraphMethodSettings) -> None:
        pass

    def propose(self, problem: Problem, rng: np.random.Generator, budget: Budget) -> Proposals:
        began = time.perf_counter()
        order, placement = by_critical_path(problem)
        return proposed(Target((problem,)), order[None], placement[None], began)


make = ListScheduling
