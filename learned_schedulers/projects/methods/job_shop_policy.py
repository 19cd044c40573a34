"""A trained network builds active schedules of job-shops: first by its best choices, then by drawn ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from learned_schedulers.projects.method_settings import JobShopPolicy as Settings
from learned_schedulers.projects.methods import Budget, Schedules
from learned_schedulers.projects.models.active import Shop
from learned_schedulers.projects.models.candidate_policy import drawn, load
from learned_schedulers.projects.problem import Project

_AT_ONCE = 2**20  # numbers that are drawn at once: 8 MiB


class JobShopPolicy:
    def __init__(self, settings: Settings, weights: Path) -> None:
        self._network = load(weights)

    def schedule(self, project: Project, rng: np.random.Generator, budget: Budget) -> Schedules:
        """The shortest of the budget's schedules, the first of which takes no random choice."""
        n = len(project)
        if project.job_shop is None:
            return Schedules.unsupported(n, "the project is no job-shop, and the network knows nothing else")
        shop = Shop.of(project.job_shop)
        left, best, least = budget.schedules, np.zeros(0), np.inf
        uniforms = np.full((1, n), -1.0)
        while left > 0:
            makespans, starts = drawn(shop, self._network, uniforms)
            if makespans.min() < least:
                least, best = makespans.min(), starts[int(makespans.argmin())]
            left -= len(uniforms)
            uniforms = rng.random((min(left, max(1, _AT_ONCE // max(n, 1))), n))
        return Schedules(best.reshape(1, n).astype(np.int64))


make = JobShopPolicy
