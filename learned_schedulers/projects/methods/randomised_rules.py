"""The best priority rule with noise on its weights: the control of every learned method, with the same budget.

First comes each rule with each scheme as it is. What is left of the budget goes to the pair of rule and scheme that is
best on this project: each further schedule draws a level of noise, log-uniformly, and multiplies the rule's weights by
log-normal factors of this level.
"""

from __future__ import annotations

import numpy as np

from learned_schedulers.projects.method_settings import RandomisedRules as Settings
from learned_schedulers.projects.methods import Budget, Schedules
from learned_schedulers.projects.methods.rules.all_rules import PAIRS, by_rules, shortest
from learned_schedulers.projects.methods.rules.generation import generated
from learned_schedulers.projects.methods.rules.priorities import keys_of
from learned_schedulers.projects.problem import Project

_AT_ONCE = 2**20  # factors that are drawn at once: 8 MiB


class RandomisedRules:
    def __init__(self, settings: Settings) -> None:
        self._least, self._most = np.log(settings.least_noise), np.log(settings.most_noise)

    def schedule(self, project: Project, rng: np.random.Generator, budget: Budget) -> Schedules:
        n, pairs = len(project), PAIRS[: budget.schedules]
        starts = by_rules(project, pairs)
        best = shortest(project, starts)
        rule, scheme = pairs[best]
        least, left = starts[best], budget.schedules - len(pairs)
        while left > 0:
            count = min(left, max(1, _AT_ONCE // max(n, 1)))
            levels = np.exp(rng.uniform(self._least, self._most, count))
            factors = np.exp(rng.standard_normal((count, n)) * levels[:, None])
            drawn = np.vstack([least, generated(project, keys_of(project, rule, factors), scheme)])
            least = drawn[shortest(project, drawn)]
            left -= count
        return Schedules(least[None])


make = RandomisedRules
