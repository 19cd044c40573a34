"""List scheduling with noise on its priorities, on one to all devices: the control of every learned method.

The first proposal is list scheduling itself. Every other one draws how many of the m devices it uses, uniformly from 1
to m, and a level of noise, log-uniformly; it multiplies the longest paths by log-normal factors of this level. Fewer
devices mean fewer transfers, which the proxy does not contain.
"""

from __future__ import annotations

import time
from typing import Annotated, Self

import numpy as np
from pydantic import Field, model_validator

from learned_schedulers.graphs.devices.targets import Target
from learned_schedulers.graphs.method_settings import GraphMethodSettings
from learned_schedulers.graphs.methods import Budget, Proposals
from learned_schedulers.graphs.methods.rules.listing import listed
from learned_schedulers.graphs.methods.rules.proposing import proposed
from learned_schedulers.graphs.problems.problem import Problem

Level = Annotated[float, Field(gt=0)]


class Settings(GraphMethodSettings):
    least_noise: Level = 0.01  # standard deviation of the logarithm of a priority; drawn log-uniform between these two
    most_noise: Level = 1.0

    @model_validator(mode="after")
    def _levels_are_a_range(self) -> Self:
        if self.least_noise > self.most_noise:
            raise ValueError(f"least_noise {self.least_noise} is more than most_noise {self.most_noise}")
        return self


class RandomisedList:
    def __init__(self, settings: Settings) -> None:
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
