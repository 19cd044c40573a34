"""Random changes of levels, accepted as in simulated annealing (Kirkpatrick et al. 1983); hill climbing at heat 0.

A change gives one new level to a group of connected loops, as GO's moves do.
"""

from __future__ import annotations

import math

import numpy as np

from learned_schedulers.graphs.compilers.fusion_problem import FusionProblem
from learned_schedulers.graphs.compilers.levels import LEVELS
from learned_schedulers.graphs.methods.fusing import Fusion, fusion_of
from learned_schedulers.graphs.models.fusing.fusing_search import SearchResult, best_default, group_labels, judged
from learned_schedulers.graphs.models.fusing.joint import Machine
from learned_schedulers.graphs.models.fusing.settings import Annealing as Settings
from learned_schedulers.graphs.problems.groups import drawn_groups

_ALONE = 0.25  # share of the changes that concern single operations
_BATCH = 100  # groups that are drawn at a time


class Annealing:
    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def fuse(self, problem: FusionProblem, rng: np.random.Generator, machine: Machine | None = None) -> Fusion:
        result = search(problem, self._settings, rng)
        return fusion_of(problem, result.best.plan, result.costs, machine)


def search(problem: FusionProblem, settings: Settings, rng: np.random.Generator) -> SearchResult:
    """A search of that many evaluations, the start's included; it starts from the best default."""
    current = best = best_default(problem)
    costs = [current.seconds]
    groupable = group_labels(problem)
    while len(costs) < settings.evaluations:
        count = min(_BATCH, settings.evaluations - len(costs))
        chances = np.where(rng.random(count) < _ALONE, 0.0, np.sqrt(rng.random(count)))
        labels, groups = drawn_groups(problem.edges, groupable, chances, rng)
        for label, count_of_groups in zip(labels, groups, strict=True):
            levels = current.levels.copy()
            levels[label == rng.integers(count_of_groups)] = rng.integers(LEVELS)
            fused = judged(problem, levels)
            heat = _temperature(settings, len(costs) / settings.evaluations) * costs[0]
            worse = fused.seconds - current.seconds
            if worse <= 0 or (heat > 0 and rng.random() < math.exp(-worse / heat)):
                current = fused
            best = min(best, fused, key=lambda candidate: candidate.seconds)
            costs.append(fused.seconds)
    return SearchResult(best, np.array(costs))


def _temperature(settings: Settings, progress: float) -> float:
    if settings.hot == 0 or settings.cold == 0:
        return 0.0
    return settings.hot * (settings.cold / settings.hot) ** progress


make = Annealing
