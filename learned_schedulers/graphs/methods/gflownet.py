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
from learned_schedulers.graphs.models.conditions import PLAIN, Strengths, draw_strengths_between, temperature
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
        sigma = temperature(problem, self._settings.sigma, self._settings.sigma_unit)
        schedules = sampled(self._policy, self._problems_and_strengths(problem, rng), sigma, budget.proposals, rng)
        return proposed(self._target or Target((problem,)), *schedules, began)

    def _problems_and_strengths(self, problem: Problem, rng: np.random.Generator) -> list[tuple[Problem, Strengths]]:
        """The problem with the transfers that the policy is told, and their strengths."""
        if self._target is not None:
            return [(self._target.mean, strengths_of(self._target))]
        if self._settings.told == "proxy":
            return [(problem, PLAIN)]
        least, most = self._settings.least_strength, self._settings.most_strength
        draws = [draw_strengths_between(rng, least, most) for _ in range(self._settings.strengths)]
        return [(strengths.transferring(problem), strengths) for strengths in draws]


def strengths_of(target: Target) -> Strengths:
    """The transfers and the noise of a target, in the units in which a policy is told them."""
    mean = target.mean
    unit = float(mean.seconds.mean()) if mean.seconds.any() else 1.0
    size = float(mean.sizes.mean()) if len(mean) else 0.0
    logs = np.log([draw.seconds[draw.seconds > 0] for draw in target.draws])
    noise = float(np.sqrt(logs.var(0, ddof=1).mean())) if len(target.draws) > 1 and logs.size else 0.0
    return Strengths(mean.transfers.slope * size / unit, mean.transfers.delay / unit, noise)


make = GFlowNet
