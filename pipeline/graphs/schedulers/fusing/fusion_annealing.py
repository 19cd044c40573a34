"""Random changes of levels, accepted as in simulated annealing (Kirkpatrick et al. 1983); without heat, hill climbing.

A change gives one new level to a group of loops that hang together, as GO's moves do.
"""

from __future__ import annotations

import math

import numpy as np

from pipeline.config.fusion import Annealing
from pipeline.graphs.compilers.fusion_problem import FusionProblem
from pipeline.graphs.compilers.levels import LEVELS
from pipeline.graphs.models.fusing.fusing_search import Search, best_default, judged, kept_together
from pipeline.graphs.problems.groups import drawn_groups

_ALONE = 0.25  # share of changes of single operations
_BATCH = 100  # groups that are drawn at a time


def search(problem: FusionProblem, settings: Annealing, rng: np.random.Generator) -> Search:
    """So many evaluations, the best default's among them, from which it starts."""
    current = best = best_default(problem)
    costs = [current.seconds]
    together = kept_together(problem)
    while len(costs) < settings.evaluations:
        count = min(_BATCH, settings.evaluations - len(costs))
        chances = np.where(rng.random(count) < _ALONE, 0.0, np.sqrt(rng.random(count)))
        labels, groups = drawn_groups(problem.edges, together, chances, rng)
        for label, number in zip(labels, groups, strict=True):
            levels = current.levels.copy()
            levels[label == rng.integers(number)] = rng.integers(LEVELS)
            fused = judged(problem, levels)
            heat = _temperature(settings, len(costs) / settings.evaluations) * costs[0]
            worse = fused.seconds - current.seconds
            if worse <= 0 or (heat > 0 and rng.random() < math.exp(-worse / heat)):
                current = fused
            best = min(best, fused, key=lambda other: other.seconds)
            costs.append(fused.seconds)
    return Search(best, np.array(costs))


def _temperature(settings: Annealing, progress: float) -> float:
    if settings.hot == 0 or settings.cold == 0:
        return 0.0
    return settings.hot * (settings.cold / settings.hot) ** progress
