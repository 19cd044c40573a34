"""List scheduling with noise on its priorities, on one to all devices: the control of every learned method.

The first proposal is list scheduling itself. Every other one draws how many of the m devices it uses, uniformly from 1
to m, and a level of noise, log-uniformly; it multiplies the longest paths by log-normal factors of this level. Fewer
devices mean fewer transfers, which the proxy does not contain.
"""

from __future__ import annotations

import time

import numpy as np

from pipeline.config.graph_methods.randomised_list import Settings
from pipeline.graphs.devices.targets import Target
from pipeline.graphs.problems.problem import Problem
from pipeline.graphs.schedulers import Budget, Proposals
from pipeline.graphs.schedulers.rules.listing import listed
from pipeline.graphs.schedulers.rules.proposing import proposed


class RandomisedList:
    def __init__(self, settings: Settings) -> None:
        self._least, self._most = np.log(settings.least_noise), np.log(settings.most_noise)

    def propose(self, problem: Problem, rng: np.random.Generator, budget: Budget) -> Proposals:
        began = time.perf_counter()
        count = budget.proposals
        levels, devices = (
            np.exp(rng.uniform(self._least, self._most, count)),
            rng.integers(1, problem.devices + 1, count),
        )
        levels[0], devices[0] = 0.0, problem.devices
        priorities = rng.standard_normal((count, len(problem)))
        priorities *= levels[:, None]
        np.exp(priorities, out=priorities)
        priorities *= problem.tails
        return proposed(Target((problem,)), *listed(problem, priorities, devices), began)


make = RandomisedList
