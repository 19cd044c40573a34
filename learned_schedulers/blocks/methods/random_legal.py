"""A uniform random legal order, drawn anew for each seed: the baseline without learning.

It is GCC's order with probability 1 / (number of legal orders).
"""

from __future__ import annotations

import numpy as np

from learned_schedulers.blocks.dag.sampling import uniform
from learned_schedulers.blocks.methods import Budget, Solution
from learned_schedulers.blocks.problems.problems import Problems
from learned_schedulers.method_settings import MethodSettings


class RandomLegal:
    def __init__(self, settings: MethodSettings) -> None:
        pass

    def solve(self, problems: Problems, rng: np.random.Generator, budget: Budget) -> Solution:
        return Solution.of({"none": uniform(problems.precedes, rng)})


make = RandomLegal
