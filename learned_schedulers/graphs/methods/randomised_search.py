"""Randomised list scheduling with any number of evaluations; the best schedules on the proxy are proposed.

It draws as `randomised_list` does, but more schedules than it proposes: the result of a search without learning that
has as many evaluations as the training of a network.
"""

from __future__ import annotations

import time

import numpy as np

from learned_schedulers.graphs.devices.targets import Target
from learned_schedulers.graphs.method_settings import RandomisedSearch as Settings
from learned_schedulers.graphs.methods import Budget, Proposals
from learned_schedulers.graphs.methods.randomised_list import RandomisedList
from learned_schedulers.graphs.methods.rules.proposing import curve
from learned_schedulers.graphs.problems.problem import Problem
from learned_schedulers.method_settings import NoisySettings

_PART = 1000  # schedules at a time


class RandomisedSearch:
    def __init__(self, settings: Settings) -> None:
        levels = NoisySettings(method="randomised_list", least_noise=settings.noise, most_noise=settings.noise)
        self._drawing = RandomisedList(levels)

    def propose(self, problem: Problem, rng: np.random.Generator, budget: Budget) -> Proposals:
        began = time.perf_counter()
        proxy, n = Target((problem,)), len(problem)
        orders, placements, best_costs = np.zeros((0, n), np.int32), np.zeros((0, n), np.int32), np.zeros(0)
        costs = []
        for first in range(0, budget.evaluations, _PART):
            part = Budget(proposals=min(_PART, budget.evaluations - first))
            drawn = self._drawing.propose(problem, rng, part)
            seconds = proxy.seconds(drawn.orders, drawn.placements)
            costs.append(seconds)
            all_costs = np.r_[best_costs, seconds]
            best = np.argsort(all_costs, kind="stable")[: budget.proposals]
            orders, placements = np.r_[orders, drawn.orders][best], np.r_[placements, drawn.placements][best]
            best_costs = all_costs[best]
        stats = curve(np.concatenate(costs), time.perf_counter() - began)
        return Proposals(orders, placements, stats=stats)


make = RandomisedSearch
