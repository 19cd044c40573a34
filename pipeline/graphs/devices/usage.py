"""Memory use of each device over the time of a schedule."""

from __future__ import annotations

import numpy as np

from pipeline.graphs.devices.simulator import residencies
from pipeline.graphs.problems.problem import Problem


def usage(problem: Problem, order: np.ndarray, placement: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """For each device: the seconds at which its memory use changes, ascending, and the bytes from then on.

    The first time is second 0, when the weights of the device's operations are in its memory.
    """
    results = residencies(problem, order, placement)
    weights = np.bincount(placement, problem.weights, problem.devices)
    curves = []
    for device in range(problem.devices):
        inside = results.devices == device
        times = np.r_[0.0, results.begins[inside], results.ends[inside]]
        changes = np.r_[weights[device], results.sizes[inside], -results.sizes[inside]]
        seconds, step = np.unique(times, return_inverse=True)
        curves.append((seconds, np.cumsum(np.bincount(step, changes, len(seconds)))))
    return curves
