"""Which problems count: those that several devices can solve faster than one device."""

from __future__ import annotations

import numpy as np

from learned_schedulers.graphs.devices.simulator import peaks
from learned_schedulers.graphs.problems.problem import Problem

LEAST = 1.5  # times the bound that one device must take
NOTHING_TO_WIN = f"one device takes less than {LEAST} times the bound"

TOO_LARGE = "all devices together have not the memory for its weights"


def headroom(problem: Problem) -> float:
    """Seconds on one device over the bound, max(critical path, total / m); 1 for a graph without work."""
    return float(problem.seconds.sum()) / problem.bound if problem.bound else 1.0


def fits_one_device(problem: Problem) -> bool:
    """Whether one device can run all operations in the order of their numbers without exceeding its memory."""
    order = np.arange(len(problem), dtype=np.int32)
    return bool(np.isinf(problem.memory) or peaks(problem, order, np.zeros_like(order))[0] <= problem.memory)


def refusal_of(problem: Problem) -> str:
    """Why the problem does not count; empty if several devices can be faster, or if one device cannot run it."""
    if problem.weights.sum() > problem.devices * problem.memory:
        return TOO_LARGE
    return "" if headroom(problem) >= LEAST or not fits_one_device(problem) else NOTHING_TO_WIN
