"""Distances between the start times of schedules (Zhang et al. 2023, section 5.1); `chains.py` compares their edges."""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import pdist

from pipeline.graphs.devices.simulator import starts
from pipeline.graphs.problems.problem import Problem


def start_distances(problem: Problem, orders: np.ndarray, placements: np.ndarray) -> tuple[float, float]:
    """Mean distances between two of S schedules: by start times, and by start times and devices; 0 if S < 2.

    A distance is the root of the mean square over the operations, in mean run times. For the second distance, an
    operation has a coordinate for each device: its start on its device, and 0 on all other devices. Devices are
    numbered by their first use (at equal times by the number of the operation), because several orders describe the
    same schedule. The paper does not print its normalisation.
    """
    n, m = len(problem), problem.devices
    if len(orders) < 2 or not n or not problem.seconds.any():
        return 0.0, 0.0
    unit = float(problem.seconds.mean()) * np.sqrt(n)
    start_times = np.stack([starts(problem, *schedule) for schedule in zip(orders, placements, strict=True)]) / unit
    coordinates = np.zeros((len(orders), n, m))
    for s, placement in enumerate(placements):
        used, first_uses = np.unique(placement[np.argsort(start_times[s], kind="stable")], return_index=True)
        new_numbers = np.argsort(np.argsort(first_uses))  # of the used devices
        coordinates[s, np.arange(n), new_numbers[np.searchsorted(used, placement)]] = start_times[s]
    return float(pdist(start_times).mean()), float(pdist(coordinates.reshape(len(orders), -1)).mean())
