"""Every slot gets one of the ready instructions, all equally likely."""

from __future__ import annotations

import numpy as np

from learned_schedulers.blocks.before_allocation.problem import Problem
from learned_schedulers.blocks.dag.sampling import random_ready


def order(problem: Problem, rng: np.random.Generator) -> np.ndarray:
    """A random legal order, (n,) int64."""
    return random_ready(problem.precedes[None], rng)[0].astype(np.int64)
