"""The order in which the instructions stand: that of LLVM's passes."""

from __future__ import annotations

import numpy as np

from learned_schedulers.blocks.before_allocation.problem import Problem


def order(problem: Problem, rng: np.random.Generator) -> np.ndarray:
    """0 to n - 1."""
    return np.arange(len(problem.leaves))
