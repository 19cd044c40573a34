"""Simulated annealing over the same decisions as GO's, one operation at a time, without a network and without groups.

A move gives one operation another device, leaves it open, or gives it another level of priority
(devices/completion.py). Worse decisions are accepted with probability exp(-loss / temperature), where the temperature
falls geometrically (Kirkpatrick et al. 1983). It starts from the schedule where all is open, as GO does, or from the
best placement of another method; it knows the target and the memory.
"""

from __future__ import annotations

import time
from typing import Annotated

import numpy as np
from pydantic import Field

from learned_schedulers.graphs import methods as schedulers
from learned_schedulers.graphs.devices.completion import LEVELS, OPEN, PLAIN, Completion, Decisions
from learned_schedulers.graphs.devices.targets import Target
from learned_schedulers.graphs.method_settings import DecisionAnnealing as Settings
from learned_schedulers.graphs.methods import Budget, Proposals
from learned_schedulers.graphs.methods.rules.proposing import of_search
from learned_schedulers.graphs.models.whole_graph.search import losses
from learned_schedulers.graphs.problems.problem import Problem

Share = Annotated[float, Field(gt=0)]


class DecisionAnnealing:
    def __init__(self, settings: Settings, target: Target, **resources: object) -> None:
        self._settings, self._target = settings, target
        self._start = (
            None if settings.start is None else schedulers.make(settings.start, {"target": target} | resources)
        )

    def propose(self, problem: Problem, rng: np.random.Generator, budget: Budget) -> Proposals:
        began = time.perf_counter()
        n, m = len(problem), problem.devices
        completion = Completion(self._target.mean)
        current = Decisions.open(n)
        evaluated = completion(current)
        best, loss = evaluated, float(losses(completion, evaluated)[0])
        least, costs = loss, [float(evaluated.costs[0])]
        placements, spent = self._placements(problem, rng)
        costs += [np.inf] * spent
        for placement in placements[: max(budget.evaluations - len(costs), 0)]:
            begun = Decisions(placement[None].astype(np.int8), np.full((1, n), PLAIN, np.int8))
            evaluated = completion(begun)
            costs.append(float(evaluated.costs[0]))
            if (begun_loss := float(losses(completion, evaluated)[0])) < loss:
                current, best, loss, least = begun, evaluated, begun_loss, begun_loss
        moves = budget.evaluations - len(costs)
        temperatures = np.geomspace(self._settings.hot, self._settings.cold, max(moves, 1))
        for move in range(moves if n else 0):
            i, (task, choice, accept) = int(rng.integers(n)), rng.random(3)
            changed = Decisions(current.devices.copy(), current.levels.copy())
            if task < self._settings.placing:
                changed.devices[0, i] = OPEN + int(choice * (m + 1))
            else:
                changed.levels[0, i] = int(choice * LEVELS)
            evaluated = completion(changed)
            costs.append(float(evaluated.costs[0]))
            changed_loss = float(losses(completion, evaluated)[0])
            if changed_loss <= loss or accept < np.exp((loss - changed_loss) / (temperatures[move] * least)):
                current, loss = changed, changed_loss
            if changed_loss < least:
                best, least = evaluated, changed_loss
        return of_search(best, np.array(costs), began)

    def _placements(self, problem: Problem, rng: np.random.Generator) -> tuple[np.ndarray, int]:
        """The placements of the method that it starts from, (proposals, n), and that method's evaluations."""
        if self._start is None or self._settings.start is None:
            return np.empty((0, len(problem)), np.int32), 0
        budget = Budget.of(self._settings.start)
        return self._start.propose(problem, rng, budget).placements, budget.evaluations


make = DecisionAnnealing
