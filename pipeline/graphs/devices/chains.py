"""How different schedules are: the edges that the order on each device adds to the graph (Zhang et al. 2023, 5.1)."""

from __future__ import annotations

import numpy as np


def chains(orders: np.ndarray, placements: np.ndarray) -> np.ndarray:
    """(S, n) int32: the operation that follows each one on its device, -1 for the last there.

    orders: (S, n), operation in each slot; placements: (S, n), device of each operation.
    """
    followers = np.full(orders.shape, -1, np.int32)
    rows = np.arange(len(orders))
    last = np.full((len(orders), int(placements.max(initial=0)) + 1), -1, np.int64)
    for slot in range(orders.shape[1]):
        operation = orders[:, slot]
        device = placements[rows, operation]
        before = last[rows, device]
        there = before >= 0
        followers[rows[there], before[there]] = operation[there]
        last[rows, device] = operation
    return followers


def diversity(orders: np.ndarray, placements: np.ndarray) -> float:
    """Mean distance between two of S schedules: 1 - shared edges / the mean number of edges; 0 with less than two.

    It is the graph-edit distance of the chains, edges added or removed, over all edges of both. Devices are alike, so
    their names do not matter.
    """
    if len(orders) < 2:
        return 0.0
    followers = chains(orders, placements)
    edges = (followers >= 0).sum(1)
    distances = []
    for s in range(len(orders) - 1):
        shared = ((followers[s + 1 :] == followers[s]) & (followers[s] >= 0)).sum(1)
        both = edges[s + 1 :] + edges[s]
        distances.append(1 - np.divide(2 * shared, both, out=np.ones(len(both)), where=both > 0))
    return float(np.concatenate(distances).mean())
