"""Operation i on device i mod m, ordered by the one rule: it balances the number of operations, and nothing else."""

from __future__ import annotations

import time

import numpy as np

from learned_schedulers.graphs.method_settings import RoundRobin as Settings
from learned_schedulers.graphs.methods import Budget, Proposals
from learned_schedulers.graphs.methods.rules.proposing import placed
from learned_schedulers.graphs.problems.problem import Problem


class RoundRobin:
    def __init__(self, settings: Settings) -> None:
        pass

    def propose(self, problem: Problem, rng: np.random.Generator, budget: Budget) -> Proposals:
        began = time.perf_counter()
        return placed(problem, np.arange(len(problem), dtype=np.int32)[None] % problem.devices, began)


make = RoundRobin
