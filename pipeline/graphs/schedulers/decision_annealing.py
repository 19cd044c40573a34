"""Simulated annealing over the same decisions as GO, one operation at a time: what needs no network and no groups.

A move gives one operation another device, leaves it open, or gives it another level of priority
(devices/completion.py). Worse decisions are accepted with probability exp(-loss / temperature), which falls
geometrically (Kirkpatrick et al. 1983). It starts as GO does, from HEFT's schedule, and is told the target and memory.
"""

from __future__ import annotations

import time

import numpy as np

from pipeline.config.graph_methods.decision_annealing import Settings
from pipeline.graphs.devices.completion import LEVELS, OPEN, Completion, Decisions
from pipeline.graphs.devices.targets import Target
from pipeline.graphs.models.whole_graph.search import losses
from pipeline.graphs.problems.problem import Problem
from pipeline.graphs.schedulers import Budget, Proposals
from pipeline.graphs.schedulers.rules.improvements import improvements
from pipeline.graphs.schedulers.rules.unfit import nothing_fits


class DecisionAnnealing:
    def __init__(self, settings: Settings, target: Target) -> None:
        self._settings, self._target = settings, target

    def propose(self, problem: Problem, rng: np.random.Generator, budget: Budget) -> Proposals:
        began = time.perf_counter()
        n, m, moves = len(problem), problem.devices, budget.evaluations - 1
        completion = Completion(self._target.mean)
        now = Decisions.open(n)
        evaluated = completion(now)
        best, loss = evaluated, float(losses(completion, evaluated)[0])
        least, costs = loss, [float(evaluated.costs[0])]
        temperatures = np.geomspace(self._settings.hot, self._settings.cold, max(moves, 1))
        for move in range(moves if n else 0):
            i, (which, what, accept) = int(rng.integers(n)), rng.random(3)
            changed = Decisions(now.devices.copy(), now.levels.copy())
            if which < self._settings.placing:
                changed.devices[0, i] = OPEN + int(what * (m + 1))
            else:
                changed.levels[0, i] = int(what * LEVELS)
            evaluated = completion(changed)
            costs.append(float(evaluated.costs[0]))
            after = float(losses(completion, evaluated)[0])
            if after <= loss or accept < np.exp((loss - after) / (temperatures[move] * least)):
                now, loss = changed, after
            if after < least:
                best, least = evaluated, after
        if not best.fits[0]:
            return nothing_fits(best, budget.evaluations)
        stats = improvements(np.array(costs), time.perf_counter() - began)
        return Proposals(best.orders, best.placements, stats=stats)


make = DecisionAnnealing
