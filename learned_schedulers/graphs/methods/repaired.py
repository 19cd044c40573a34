"""Schedules of another method that fit the memory of the target, either unchanged or repaired by the one repair step.

Methods that know nothing of memory get the same chance as those that do. The method's schedules are tried in the order
of their costs on the target; the number of repairs is limited. If none can be repaired, the best one is squeezed.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

import numpy as np

from learned_schedulers.graphs import methods as schedulers
from learned_schedulers.graphs.devices.targets import Target
from learned_schedulers.graphs.method_settings import Repaired as Settings
from learned_schedulers.graphs.methods import UNSUPPORTED, Budget, Proposals
from learned_schedulers.graphs.methods.rules.proposing import proposed
from learned_schedulers.graphs.methods.rules.repair import fits, repaired
from learned_schedulers.graphs.methods.rules.squeeze import squeezed
from learned_schedulers.graphs.problems.problem import Problem

REPAIRED = 100  # at most so many schedules are repaired


class Repaired:
    def __init__(self, settings: Settings, target: Target, **resources: object) -> None:
        available: Mapping[str, object] = {"target": target} | resources
        self._method = schedulers.make(settings.of, available)
        self._settings, self._target = settings, target

    def propose(self, problem: Problem, rng: np.random.Generator, budget: Budget) -> Proposals:
        began = time.perf_counter()
        proposals = self._method.propose(problem, rng, self._allowed(budget))
        if proposals.status == UNSUPPORTED:
            return proposals
        problem_on_target, repairs = self._target.draws[0], 0
        chosen = []
        by_cost = np.argsort(self._target.seconds(proposals.orders, proposals.placements), kind="stable")
        for s in by_cost:
            schedule = proposals.orders[s], proposals.placements[s]
            if fits(problem_on_target, *schedule):
                chosen.append(schedule)
            elif repairs < REPAIRED:
                repairs += 1
                mended = repaired(problem_on_target, schedule[1])
                if mended is not None:
                    chosen.append(mended)
        if not chosen and len(by_cost):
            schedule_of_best = squeezed(problem_on_target, proposals.placements[by_cost[0]], rng)
            chosen = [] if schedule_of_best is None else [schedule_of_best]
        if not chosen:
            return Proposals.unsupported(
                len(problem),
                f"no schedule of {self._settings.of.method} fits devices of {problem_on_target.memory:g} bytes, "
                "repaired, squeezed or not",
            )
        orders, placements = (np.stack(part) for part in zip(*chosen, strict=True))
        return proposed(self._target, orders, placements, began)

    def _allowed(self, budget: Budget) -> Budget:
        """The budget of the other method: its own evaluations and seconds, and the proposals allowed here."""
        method_budget = Budget.of(self._settings.of)
        return Budget(budget.proposals, method_budget.evaluations, method_budget.seconds)


make = Repaired
