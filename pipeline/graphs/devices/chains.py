"""Differences of schedules by the edges that the order on each device adds to the graph (Zhang et al. 2023, 5.1)."""

from __future__ import annotations

import numpy as np


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
    """Mean distance between two of S schedules: 1 - shared edges / mean number of edges; 0 if S < 2.

    It is the graph-edit distance of the chains (number of edges to add and remove) over the number of edges of both
    schedules. Devices are identical, so their numbers do not matter.
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
