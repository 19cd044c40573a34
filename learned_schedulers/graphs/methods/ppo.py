"""A policy trained by proximal policy optimisation: the method that Zhang et al. 2023 compare the GFlowNet with."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

from learned_schedulers.graphs.devices.targets import Target
from learned_schedulers.graphs.method_settings import Ppo as Settings
from learned_schedulers.graphs.methods import Budget, Proposals
from learned_schedulers.graphs.methods.rules.proposing import proposed
from learned_schedulers.graphs.methods.rules.sampling import sampled
from learned_schedulers.graphs.models.conditions import PLAIN, temperature
from learned_schedulers.graphs.models.policy import load
from learned_schedulers.graphs.problems.problem import Problem


class Ppo:
    def __init__(self, settings: Settings, weights: Path) -> None:
        self._settings = settings
        self._policy = load(weights)

    def propose(self, problem: Problem, rng: np.random.Generator, budget: Budget) -> Proposals:
        began = time.perf_counter()
        n, most = len(problem), self._settings.most_operations
        if n > most:
            return Proposals.unsupported(n, f"{n} operations; the network takes at most {most}")
        trained = self._policy.settings
        sigma = temperature(problem, trained.least_sigma, trained.sigma_unit)  # the lowest one of its training
        schedules = sampled(self._policy, [(problem, PLAIN)], sigma, budget.proposals, rng)
        return proposed(Target((problem,)), *schedules, began)


make = Ppo
