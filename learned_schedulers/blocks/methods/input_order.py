"""The order in which the block is shown: the stored random topological order (Table 2's "random")."""

from __future__ import annotations

import numpy as np

from learned_schedulers.blocks.methods import Budget, Solution
from learned_schedulers.blocks.problems.problems import Problems
from learned_schedulers.method_settings import MethodSettings


class InputOrder:
    def __init__(self, settings: MethodSettings) -> None:
        pass

    def solve(self, problems: Problems, rng: np.random.Generator, budget: Budget) -> Solution:
        size, n = problems.latencies.shape
        return Solution.of({"none": np.tile(np.arange(n, dtype=np.int16), (size, 1))})


make = InputOrder
