"""List scheduling: whenever a device is free, it starts the ready operation of highest priority.

No device is idle while an operation is ready; therefore, without transfers, a schedule takes at most 2 - 1/m times the
shortest (Graham 1969). Ties go to the operation of the lowest number. Where devices differ, an operation goes to the
free device on which it takes the least time, and a schedule of fewer devices uses the fastest ones.
"""

from __future__ import annotations

from typing import get_args

import numpy as np
from numba import njit

from learned_schedulers.graphs.devices.heap import pop, push
from learned_schedulers.graphs.method_settings import Ties
from learned_schedulers.graphs.problems.problem import GraphArrays, Problem

TIES: tuple[Ties, ...] = get_args(Ties)


def listed(
    problem: Problem, priorities: np.ndarray, devices: np.ndarray, ties: Ties = "lowest"
) -> tuple[np.ndarray, np.ndarray]:
    """Orders and placements of S schedules, (S, n) int32 each, as if there were no transfers.

    priorities: (S, n); devices: (S,), how many of the problem's devices each schedule uses, at least 1; ties: between
    devices.
    """
    orders, placements = np.empty(priorities.shape, np.int32), np.empty(priorities.shape, np.int32)
    fastest = np.argsort(problem.totals, kind="stable").astype(np.int32)
    _list(problem.arrays, priorities, devices, fastest, TIES.index(ties), orders, placements)
    return orders, placements


def by_critical_path(problem: Problem, ties: Ties = "lowest") -> tuple[np.ndarray, np.ndarray]:
    """Order and placement of list scheduling on all devices, the longest path to the end first; (n,) each."""
    orders, placements = listed(problem, problem.tails[None], np.array([problem.devices]), ties)
    return orders[0], placements[0]


@njit(cache=True, nogil=True)
def _list(
    graph: GraphArrays,
    priorities: np.ndarray,
    devices: np.ndarray,
    fastest: np.ndarray,
    ties: int,
    orders: np.ndarray,
    placements: np.ndarray,
) -> None:
    """Fill orders and placements, (S, n). fastest: (m,) devices in the order in which they are used; ties: in TIES."""
    offsets, children, seconds, kinds = graph.child_offsets, graph.children, graph.seconds, graph.kinds
    n, parent_counts = seconds.shape[1], np.diff(graph.parent_offsets)
    ready_keys, ready = np.empty(n), np.empty(n, np.int32)  # heap of operations that may start now, by priority
    later_keys, later = np.empty(n), np.empty(n, np.int32)  # heap of those whose parents are scheduled, by release
    release = np.empty(n)
    for s in range(len(orders)):
        free = np.zeros(devices[s])
        waiting = parent_counts.copy()
        release[:] = 0.0
        n_ready, n_later, now = 0, 0, 0.0
        for i in range(n):
            if waiting[i] == 0:
                n_later = push(later_keys, later, n_later, 0.0, i)
        for t in range(n):
            now = max(now, free.min())
            if n_ready == 0:  # then an operation is released later, as the graph has no cycles
                now = max(now, later_keys[0])
            while n_later > 0 and later_keys[0] <= now:
                i = pop(later_keys, later, n_later)
                n_later -= 1
                n_ready = push(ready_keys, ready, n_ready, -priorities[s, i], i)
            i = pop(ready_keys, ready, n_ready)
            n_ready -= 1
            used, least, rank = -1, np.inf, -np.inf
            for d in range(len(free)):
                of_device, takes = 0.0, seconds[kinds[fastest[d]], i]
                if ties == 1:
                    of_device = -free[d]
                elif ties == 2:
                    for edge in range(graph.parent_offsets[i], graph.parent_offsets[i + 1]):
                        of_device += placements[s, graph.parents[edge]] == fastest[d]
                if free[d] <= now and (takes < least or (takes == least and of_device > rank)):
                    used, least, rank = d, takes, of_device
            orders[s, t], placements[s, i] = i, fastest[used]
            end = free[used] = now + least
            for edge in range(offsets[i], offsets[i + 1]):
                child = children[edge]
                waiting[child] -= 1
                release[child] = max(release[child], end)
                if waiting[child] == 0:
                    n_later = push(later_keys, later, n_later, release[child], child)
