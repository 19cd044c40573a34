"""Makespans where a transfer keeps its sender and its receiver busy, as in the test bed for Zhang et al. 2023.

The simulator's transfers overlap (simulator.py), and the paper does not say whether theirs do. Of all settings that
were tried, the baselines of its table 3 behave here as there (reports/published/test_bed).
"""

from __future__ import annotations

import numpy as np
from numba import njit

from learned_schedulers.graphs.problems.problem import GraphArrays, Problem


def blocking_makespans(problem: Problem, orders: np.ndarray, placements: np.ndarray) -> np.ndarray:
    """Seconds of S legal schedules on equal devices, (S,); orders, placements: (S, n).

    Transfers begin in the sequence of the operations that need them; one serves all operations of a device that read
    the result.
    """
    makespans = np.zeros(len(orders))
    _run(problem.arrays, problem.devices, orders, placements, makespans)
    return makespans


@njit(cache=True, nogil=True)
def _run(graph: GraphArrays, n_devices: int, orders: np.ndarray, placements: np.ndarray, makespans: np.ndarray) -> None:
    """Fill `makespans`, (S,)."""
    seconds, delays = graph.seconds[0], graph.delays[0]
    n = len(seconds)
    ends, arrivals = np.empty(n), np.empty((n, n_devices))
    for s in range(len(orders)):
        free = np.zeros(n_devices)
        arrivals[:] = np.nan
        for t in range(n):
            i = orders[s, t]
            device, start = placements[s, i], 0.0
            for edge in range(graph.parent_offsets[i], graph.parent_offsets[i + 1]):
                parent = graph.parents[edge]
                source, delay = placements[s, parent], delays[parent]
                if source == device or delay == 0:
                    arrivals[parent, device] = ends[parent]
                elif np.isnan(arrivals[parent, device]):
                    end = max(ends[parent], free[source], free[device]) + delay
                    arrivals[parent, device] = free[source] = free[device] = end
                start = max(start, arrivals[parent, device])
            ends[i] = free[device] = max(start, free[device]) + seconds[i]
            makespans[s] = max(makespans[s], ends[i])
