"""`pressure_list` with paths to the end that are multiplied by random factors, and a random reserve of registers."""

from __future__ import annotations

import numpy as np

from learned_schedulers.blocks.before_allocation.methods.pressure_list import listed
from learned_schedulers.blocks.before_allocation.problem import Problem

_SPREADS = (0.05, 0.2, 0.8)  # factors are 1 to 1 + one of these, drawn for the order
_RESERVES = 8  # reserves are drawn below


def order(problem: Problem, rng: np.random.Generator) -> np.ndarray:
    """A random order, (n,) int64."""
    weights = 1 + rng.choice(_SPREADS) * rng.random(len(problem.leaves))
    return listed(problem, weights, int(rng.integers(_RESERVES)))
