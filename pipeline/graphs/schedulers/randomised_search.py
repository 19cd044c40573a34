"""Randomised list scheduling with any number of evaluations, of which the best on the proxy are proposed.

As `randomised_list`, but more schedules are drawn than handed over: what a search that learns nothing finds with as
many evaluations as the training of a network has.
"""

from __future__ import annotations

import time

import numpy as np

from pipeline.config.graph_methods.randomised_list import Settings as Levels
from pipeline.config.graph_methods.randomised_search import Settings
from pipeline.graphs.devices.targets import Target
from pipeline.graphs.problems.problem import Problem
from pipeline.graphs.schedulers import Budget, Proposals
from pipeline.graphs.schedulers.randomised_list import RandomisedList
from pipeline.graphs.schedulers.rules.curve import curve

_PART = 1000  # schedules at a time


class RandomisedSearch:
    def __init__(self, settings: Settings) -> None:
        levels = Levels(method="randomised_list", least_noise=settings.noise, most_noise=settings.noise)
        self._drawn = RandomisedList(levels)

    def propose(self, problem: Problem, rng: np.random.Generator, budget: Budget) -> Proposals:
        began = time.perf_counter()
        proxy, n = Target((problem,)), len(problem)
        best = (np.zeros((0, n), np.int32), np.zeros((0, n), np.int32), np.zeros(0))
        costs = []
        for first in range(0, budget.evaluations, _PART):
            part = Budget(proposals=min(_PART, budget.evaluations - first))
            drawn = self._drawn.propose(problem, rng, part)
            seconds = proxy.seconds(drawn.orders, drawn.placements)
            costs.append(seconds)
            every = (np.r_[best[0], drawn.orders], np.r_[best[1], drawn.placements], np.r_[best[2], seconds])
            kept = np.argsort(every[2], kind="stable")[: budget.proposals]
            best = (every[0][kept], every[1][kept], every[2][kept])
        stats = curve(np.concatenate(costs), time.perf_counter() - began)
        return Proposals(best[0], best[1], stats=stats)


make = RandomisedSearch
