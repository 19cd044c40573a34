"""Priority rules: a schedule for each rule and each generation scheme.

In a job-shop, the parallel scheme is the usual dispatching, and the rules `shortest` and `latest_start` are the ones
that are called shortest processing time and most work remaining.
"""

from __future__ import annotations

import numpy as np

from learned_schedulers.projects.method_settings import PriorityRules as Settings
from learned_schedulers.projects.methods import Budget, Schedules
from learned_schedulers.projects.methods.rules.all_rules import by_rules
from learned_schedulers.projects.problem import Project


class PriorityRules:
    def __init__(self, settings: Settings) -> None:
        self._pairs = [(rule, scheme) for rule in settings.rules for scheme in settings.schemes]

    def schedule(self, project: Project, rng: np.random.Generator, budget: Budget) -> Schedules:
        return Schedules(by_rules(project, self._pairs[: budget.schedules]))


make = PriorityRules
