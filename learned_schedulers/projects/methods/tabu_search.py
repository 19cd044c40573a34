"""Tabu search with path relinking for job-shops, after Peng, Lü and Cheng 2015 (TS/PR).

A population of schedules, which begins with those of the priority rules, each improved by tabu search (rules/tabu.py).
Then two of them are drawn again and again, and a schedule between them is improved; the worst of all goes.
Deviation: between two schedules lies the order by a mean of the operations' ranks in both, which keeps every job's
order; the paper swaps neighbours and repairs what that breaks.
"""

from __future__ import annotations

import numpy as np

from learned_schedulers.projects.method_settings import TabuSearch as Settings
from learned_schedulers.projects.methods import TIMED_OUT, Budget, Schedules
from learned_schedulers.projects.methods.rules.all_rules import by_rules
from learned_schedulers.projects.methods.rules.tabu import Shop, improve
from learned_schedulers.projects.problem import Project

_RATE = 70e6  # operations that are visited in a second, about
_BEGIN = 10_000  # of them that a search from another schedule costs by itself, so that small job-shops end in time
_BETWEEN = (0.3, 0.7)  # the share of the second schedule


class TabuSearch:
    def __init__(self, settings: Settings) -> None:
        self._most, self._population, self._patience = settings.most_pairs, settings.population, settings.patience

    def schedule(self, project: Project, rng: np.random.Generator, budget: Budget) -> Schedules:
        n, shop = len(project), Shop.of(project)
        if shop is None:
            return Schedules.unsupported(n, "the project is no job-shop: chains of activities, each on one machine")
        pairs = n * (int(shop.places.max(initial=0)) + 1)
        if pairs > self._most:
            return Schedules.unsupported(n, f"{pairs} pairs of activities on a machine; at most {self._most}")
        of_rules = by_rules(project)
        by_makespan = np.argsort((of_rules + project.durations).max(1, initial=0), kind="stable")
        ranks = [_ranks(project, of_rules[each]) for each in by_makespan]
        least, best = int((of_rules[by_makespan[0]] + project.durations).max(initial=0)), of_rules[by_makespan[0]]
        improved: list[tuple[int, np.ndarray]] = []  # makespans and ranks, the best first
        left, number = int(budget.seconds * _RATE), 0
        while left > 0 and least > project.bound:
            if number < self._population:
                begin = ranks[number] if number < len(ranks) else _between(ranks, rng)
            else:
                begin = _between([each for _, each in improved] if len(improved) > 1 else ranks, rng)
            number += 1
            order, starts = np.argsort(begin, kind="stable"), np.empty(n, np.int64)
            left -= _BEGIN + improve(shop, order, starts, self._patience, left, rng)
            makespan = int((starts + project.durations).max())
            if makespan < least:
                least, best = makespan, starts
            begin = np.argsort(order).astype(np.float64)
            if not any(makespan == other and (begin == same).all() for other, same in improved):
                improved = sorted([*improved, (makespan, begin)], key=lambda each: each[0])[: self._population]
        if least <= project.bound:
            return Schedules(best[None], bound=project.bound)
        return Schedules(best[None], TIMED_OUT, f"no proof within {budget.seconds:g} s of deterministic time")


def _ranks(project: Project, starts: np.ndarray) -> np.ndarray:
    """(n,) the rank of each activity by its start; in a job, of equal starts that of the earlier step is less."""
    order = project.order[np.argsort(starts[project.order], kind="stable")]
    return np.argsort(order).astype(np.float64)


def _between(ranks: list[np.ndarray], rng: np.random.Generator) -> np.ndarray:
    """Ranks between those of two schedules that are drawn: every mean of them keeps the jobs' sequences."""
    first, second = rng.choice(len(ranks), 2, replace=False)
    share = rng.uniform(*_BETWEEN)
    return (1 - share) * ranks[first] + share * ranks[second]


make = TabuSearch
