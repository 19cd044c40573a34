"""BRKGA, a genetic algorithm over random keys, by pymoo (Gonçalves & Resende 2011); it may see the target (`sees`).

A schedule has 2 n keys in [0, 1]: n priorities, and n devices (key times m, rounded down); the one rule of ordering
turns them into a schedule. Or it has the priorities alone, and list scheduling decodes them (`ties`). BRKGA is the
baseline of Zhang et al. 2023, which does not say how it decodes.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from pymoo.algorithms.soo.nonconvex.brkga import BRKGA
from pymoo.core.problem import Problem as Keys
from pymoo.optimize import minimize

from learned_schedulers.graphs.devices.ordering import ordered
from learned_schedulers.graphs.devices.targets import Target
from learned_schedulers.graphs.method_settings import Brkga as Settings
from learned_schedulers.graphs.method_settings import Ties
from learned_schedulers.graphs.methods import Budget, Proposals
from learned_schedulers.graphs.methods.rules.listing import listed
from learned_schedulers.graphs.methods.rules.proposing import curve, proposed
from learned_schedulers.graphs.problems.problem import Problem


class Brkga:
    def __init__(self, settings: Settings, target: Target | None = None) -> None:
        self._settings, self._target = settings, target

    def propose(self, problem: Problem, rng: np.random.Generator, budget: Budget) -> Proposals:
        began = time.perf_counter()
        n = len(problem)
        visible_target = self._target or Target((problem,))
        if not n:
            nothing = np.zeros((1, 0), np.int32)
            return proposed(visible_target, nothing, nothing, began)
        record, ties = _Record(visible_target, n, budget), self._settings.ties

        class Evaluated(Keys):
            def _evaluate(self, x: np.ndarray, out: dict[str, Any], *args: object, **kwargs: object) -> None:
                out["F"] = record.add(*schedules(visible_target.mean, x, ties))[:, None]

        size = self._settings.population
        elites, mutants = size // 5, size // 10
        algorithm = BRKGA(elites, size - elites - mutants, mutants, self._settings.bias)
        keys = Evaluated(n_var=n if ties else 2 * n, n_obj=1, xl=0.0, xu=1.0)
        minimize(keys, algorithm, ("n_eval", budget.evaluations), seed=int(rng.integers(2**31)))
        costs = np.concatenate(record.costs)[: budget.evaluations]
        return Proposals(record.orders, record.placements, stats=curve(costs, time.perf_counter() - began))


class _Record:
    """The best schedules of all generations, within the budget: the last generation may count in part."""

    def __init__(self, visible_target: Target, n: int, budget: Budget) -> None:
        self._visible_target, self._budget, self._remaining = visible_target, budget, budget.evaluations
        self._best_costs = np.zeros(0)
        self.costs: list[np.ndarray] = []
        self.orders = self.placements = np.zeros((0, n), np.int32)

    def add(self, orders: np.ndarray, placements: np.ndarray) -> np.ndarray:
        """Costs of a generation, (S,), whose schedules are recorded."""
        costs = self._visible_target.seconds(orders, placements)
        self.costs.append(costs)
        count = min(len(costs), self._remaining)
        self._remaining -= count
        costs_so_far = np.r_[self._best_costs, costs[:count]]
        chosen = np.argsort(costs_so_far, kind="stable")[: self._budget.proposals]
        self._best_costs = costs_so_far[chosen]
        self.orders = np.concatenate([self.orders, orders[:count]])[chosen]
        self.placements = np.concatenate([self.placements, placements[:count]])[chosen]
        return costs


def schedules(problem: Problem, keys: np.ndarray, ties: Ties | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Orders and placements, (S, n) int32, from keys in [0, 1]: n priorities, then n devices unless `ties` is given."""
    n = len(problem)
    if ties is not None:
        return listed(problem, keys, np.full(len(keys), problem.devices), ties)
    placements = np.minimum(keys[:, n:] * problem.devices, problem.devices - 1).astype(np.int32)
    return ordered(problem, placements, keys[:, :n]), placements


make = Brkga
