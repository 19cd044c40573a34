"""List scheduling by critical path: whenever a device is free, it starts the operation with the longest path behind it.

Graham 1969; the baseline `list` of Zhang et al. 2023. The rule: rules/listing.py.
"""

from __future__ import annotations

import time

import numpy as np

from learned_schedulers.graphs.devices.targets import Target
from learned_schedulers.graphs.method_settings import ListScheduling as Settings
from learned_schedulers.graphs.methods import Budget, Proposals
from learned_schedulers.graphs.methods.rules.listing import by_critical_path
from learned_schedulers.graphs.methods.rules.proposing import proposed
from learned_schedulers.graphs.problems.problem import Problem


class ListScheduling:
    unequal = True

    def __init__(self, settings: Settings) -> None:
        self._ties = settings.ties

    def propose(self, problem: Problem, rng: np.random.Generator, budget: Budget) -> Proposals:
        began = time.perf_counter()
        order, placement = by_critical_path(problem, self._ties)
        return proposed(Target((problem,)), order[None], placement[None], began)


make = ListScheduling
