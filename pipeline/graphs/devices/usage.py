"""How much memory each device holds over the time of a schedule."""

from __future__ import annotations

import numpy as np

from pipeline.graphs.devices.simulator import held
from pipeline.graphs.problems.problem import Problem


def usage(problem: Problem, order: np.ndarray, placement: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Of each device the seconds at which it holds more or less than before, ascending, and the bytes from then on.

    The first is second 0, with the weights that are placed there.
    """
    begins, ends, sizes, devices = held(problem, order, placement)
    weights = np.bincount(placement, problem.weights, problem.devices)
    curves = []
    for device in range(problem.devices):
        there = devices == device
        times = np.r_[0.0, begins[there], ends[there]]
        changes = np.r_[weights[device], sizes[there], -sizes[there]]
        seconds, which = np.unique(times, return_inverse=True)
        curves.append((seconds, np.cumsum(np.bincount(which, changes, len(seconds)))))
    return curves
