"""List scheduling with noise on its priorities, on one to all devices: the control of every learned method.

The first proposal is list scheduling itself. Every other one draws how many of the m devices it uses, uniformly from 1
to m, and a level of noise, log-uniformly; it multiplies the longest paths by log-normal factors of this level. Fewer
devices mean fewer transfers, which the proxy does not contain.
"""

from __future__ import annotations

import time

import numpy as np

from learned_schedulers.graphs.devices.targets import Target
from learned_schedulers.graphs.methods import Budget, Proposals
from learned_schedulers.graphs.methods.rules.listing import listed
from learned_schedulers.graphs.methods.rules.proposing import proposed
from learned_schedulers.graphs.problems.problem import Problem
from learned_schedulers.method_settings import NoisySettings


class RandomisedList:
    unequal = True

    def __init__(self, settings: NoisySettings) -> None:
        self._least, self._most = np.log(settings.least_noise), np.log(settings.most_noise)

    def propose(self, problem: Problem, rng: np.random.Generator, budget: Budget) -> Proposals:
        began = time.perf_counter()
        count = budget.proposals
        levels = np.exp(rng.uniform(self._least, self._most, count))
        devices = rng.integers(1, problem.devices + 1, count)
        levels[0], devices[0] = 0.0, problem.devices
        priorities = rng.standard_normal((count, len(problem)))
        priorities *= levels[:, None]
        np.exp(priorities, out=priorities)
        priorities *= problem.tails
        return proposed(Target((problem,)), *listed(problem, priorities, devices), began)


make = RandomisedList
