"""Differences of schedules (Zhang et al. 2023, section 5.1): by their start times, and by the edges of their chains."""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import pdist

from learned_schedulers.graphs.devices.simulator import starts
from learned_schedulers.graphs.problems.problem import Problem


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


def chains(orders: np.ndarray, placements: np.ndarray) -> np.ndarray:
    """(S, n) int32: the operation that follows each operation on its device; -1 for the last one of a device.

    orders: (S, n), operation in each slot; placements: (S, n), device of each operation.
    """
    followers = np.full(orders.shape, -1, np.int32)
    rows = np.arange(len(orders))
    last = np.full((len(orders), int(placements.max(initial=0)) + 1), -1, np.int64)
    for slot in range(orders.shape[1]):
        operation = orders[:, slot]
        device = placements[rows, operation]
        before = last[rows, device]
        has_before = before >= 0
        followers[rows[has_before], before[has_before]] = operation[has_before]
        last[rows, device] = operation
    return followers


def diversity(orders: np.ndarray, placements: np.ndarray) -> float:
    """Mean distance between two of S schedules by the edges of their chains; 0 if S < 2.

    A distance is 1 - shared edges / mean number of edges: the graph-edit distance of the chains (number of edges to add
    and remove) over the number of edges of both schedules. Devices are identical, so their numbers do not matter.
    """
    if len(orders) < 2:
        return 0.0
    followers = chains(orders, placements)
    edges = (followers >= 0).sum(1)
    distances = []
    for s in range(len(orders) - 1):
        shared = ((followers[s + 1 :] == followers[s]) & (followers[s] >= 0)).sum(1)
        total = edges[s + 1 :] + edges[s]
        distances.append(1 - np.divide(2 * shared, total, out=np.ones(len(total)), where=total > 0))
    return float(np.concatenate(distances).mean())
