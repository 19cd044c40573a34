"""HEFT: operations by their longest path to the end, transfers included, each where it ends first; it knows the target.

Topcuoglu, Hariri & Wu 2002, sections 4.1 and 4.2. Upward rank = run time, the mean over the devices, + the largest,
over the children, of the mean transfer to another device plus the child's rank. An operation may be inserted between
two that are already placed. If run times are drawn, HEFT knows their means.
"""

from __future__ import annotations

import time

import numpy as np

from learned_schedulers.graphs.devices.completion import earliest_finish
from learned_schedulers.graphs.devices.ordering import by_times
from learned_schedulers.graphs.devices.targets import Target
from learned_schedulers.graphs.method_settings import Heft as Settings
from learned_schedulers.graphs.methods import Budget, Proposals
from learned_schedulers.graphs.methods.rules.proposing import proposed
from learned_schedulers.graphs.problems.problem import Problem


class Heft:
    unequal = True

    def __init__(self, settings: Settings, target: Target) -> None:
        self._target = target

    def propose(self, problem: Problem, rng: np.random.Generator, budget: Budget) -> Proposals:
        began = time.perf_counter()
        placement, starts = earliest_finish(self._target.mean)
        order = by_times(starts, starts + self._target.mean.seconds_on(placement))
        return proposed(self._target, order[None], placement[None], began)


make = Heft
