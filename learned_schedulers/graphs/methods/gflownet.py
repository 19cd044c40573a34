"""A GFlowNet draws schedules in proportion to exp(speedup / sigma): Zhang et al. 2023, "Robust Scheduling".

In the paper the speedup is the one on the proxy. A policy that was trained on drawn targets is also told transfers and
noise: those of the target if it is known, or several drawn ones if not, so that some of its schedules transfer little.
The proxy still decides which of the schedules are kept, or the target if it is known.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

from learned_schedulers.graphs.devices.targets import Target
from learned_schedulers.graphs.method_settings import Gflownet as Settings
from learned_schedulers.graphs.methods import Budget, Proposals
from learned_schedulers.graphs.methods.rules.proposing import proposed
from learned_schedulers.graphs.methods.rules.sampling import sampled
from learned_schedulers.graphs.methods.rules.telling import expected_transfers
from learned_schedulers.graphs.models.conditions import temperature
from learned_schedulers.graphs.models.policy import load
from learned_schedulers.graphs.problems.problem import Problem


class GFlowNet:
    def __init__(self, settings: Settings, weights: Path, target: Target | None = None) -> None:
        self._settings, self._target = settings, target
        self._policy = load(weights)

    def propose(self, problem: Problem, rng: np.random.Generator, budget: Budget) -> Proposals:
        began = time.perf_counter()
        n, most = len(problem), self._settings.most_operations
        if n > most:
            return Proposals.unsupported(n, f"{n} operations; the network takes at most {most}")
        problems = expected_transfers(self._settings, problem, self._target, rng)
        schedules = sampled(self._policy, problems, self._sigma(problem), budget.proposals, rng)
        return proposed(self._target or Target((problem,)), *schedules, began)

    def _sigma(self, problem: Problem) -> float:
        """In units of the speedup."""
        settings = self._settings
        if settings.sigma is None:
            return temperature(problem, self._policy.settings.least_sigma, self._policy.settings.sigma_unit)
        return temperature(problem, settings.sigma, settings.sigma_unit)


make = GFlowNet
