"""Schedules of another method that fit the memory of the target: as they are, or repaired by the one repair step.

Methods that know nothing of memory are given the same chance as those that do. What is best of the method's own
schedules by the target comes first, and only so many of those that do not fit are repaired.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

import numpy as np

from pipeline.config.graph_methods.repaired import Settings
from pipeline.graphs import schedulers
from pipeline.graphs.devices.targets import Target
from pipeline.graphs.problems.problem import Problem
from pipeline.graphs.schedulers import UNSUPPORTED, Budget, Proposals
from pipeline.graphs.schedulers.rules.proposing import proposed
from pipeline.graphs.schedulers.rules.repair import fits, repaired

REPAIRED = 100  # schedules at most


class Repaired:
    def __init__(self, settings: Settings, target: Target, **resources: object) -> None:
        given: Mapping[str, object] = {"target": target} | resources
        self._method = schedulers.make(settings.of, given)
        self._settings, self._target = settings, target

    def propose(self, problem: Problem, rng: np.random.Generator, budget: Budget) -> Proposals:
        began = time.perf_counter()
        proposals = self._method.propose(problem, rng, self._allowed(budget))
        if proposals.status == UNSUPPORTED:
            return proposals
        told, repairs = self._target.draws[0], 0
        chosen = []
        for s in np.argsort(self._target.seconds(proposals.orders, proposals.placements), kind="stable"):
            schedule = proposals.orders[s], proposals.placements[s]
            if fits(told, *schedule):
                chosen.append(schedule)
            elif repairs < REPAIRED:
                repairs += 1
                mended = repaired(told, schedule[1])
                if mended is not None:
                    chosen.append(mended)
        if not chosen:
            return Proposals.unsupported(
                len(problem),
                f"no schedule of {self._settings.of.method} fits devices of {told.memory:g} bytes, repaired or not",
            )
        orders, placements = (np.stack(part) for part in zip(*chosen, strict=True))
        return proposed(self._target, orders, placements, began)

    def _allowed(self, budget: Budget) -> Budget:
        """What the other method may spend: as much as it is given here."""
        own = Budget.of(self._settings.of)
        return Budget(budget.proposals, own.evaluations, own.seconds)


make = Repaired
