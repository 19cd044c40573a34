"""The shortest schedule of a small problem with transfers, proven by branch and bound.

Some shortest schedule starts every operation as soon as its device is free and its inputs are there. It is built in the
sequence of its starts, an operation and a device at a time; of the devices that are still empty, only the first is
tried. A branch ends where a lower bound reaches the best makespan: the work that is left, spread evenly, or a longest
path. Up to ten operations take milliseconds.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from learned_schedulers.graphs.problems.problem import GraphArrays, Problem

_ROUNDING = 1 - 1e-12  # a bound this near to the best makespan reaches it


def optimum(problem: Problem, reached: float = np.inf) -> float:
    """Seconds of the shortest schedule; without shared weights, and without regard to memory.

    reached: seconds of some schedule, from which the search begins.
    """
    if len(problem.shared.readers):
        raise ValueError("operations share weights; this search has none")
    return float(_search(problem.arrays, problem.tails, problem.devices, reached)) if len(problem) else 0.0


@njit(cache=True)
def _search(graph: GraphArrays, tails: np.ndarray, n_devices: int, best: float) -> float:
    """The least makespan, or `best` if none is less. The stack has a level for each operation of the sequence."""
    offsets, parents, seconds, delays = graph.parent_offsets, graph.parents, graph.seconds, graph.delays
    n = len(seconds)
    choices = np.zeros(n + 1, np.int64)  # of each level, the next pair of operation and device to try
    sequence = np.full(n, -1, np.int64)
    ends, placement = np.full(n, np.nan), np.full(n, -1, np.int64)  # NaN: not in the sequence
    free = np.zeros((n + 1, n_devices))  # of each level, when the devices are free
    last, used = np.zeros(n + 1), np.zeros(n + 1, np.int64)  # the last start, and how many devices are not empty
    makespans, remaining = np.zeros(n + 1), np.zeros(n + 1)
    remaining[0] = seconds.sum()
    level = 0
    while level >= 0:
        if sequence[level] >= 0:  # back from the next level: the operation leaves the sequence
            ends[sequence[level]] = np.nan
            sequence[level] = -1
        if choices[level] == n * n_devices:
            level -= 1
            continue
        i, device = choices[level] // n_devices, choices[level] % n_devices
        choices[level] += 1
        if not np.isnan(ends[i]) or device > used[level]:
            continue
        start, ready = free[level, device], True
        for edge in range(offsets[i], offsets[i + 1]):
            parent = parents[edge]
            if np.isnan(ends[parent]):
                ready = False
                break
            start = max(start, ends[parent] if placement[parent] == device else ends[parent] + delays[parent])
        if not ready or start < last[level]:
            continue
        makespan = max(makespans[level], start + seconds[i])
        left = remaining[level] - seconds[i]
        ends[i], placement[i] = start + seconds[i], device
        free[level + 1] = free[level]
        free[level + 1, device] = ends[i]
        if _bound(graph, tails, ends, free[level + 1], start, makespan, left) >= best * _ROUNDING:
            ends[i] = np.nan
            continue
        if level == n - 1:
            best = makespan
            ends[i] = np.nan
            continue
        sequence[level] = i
        level += 1
        last[level], makespans[level], remaining[level] = start, makespan, left
        used[level] = max(used[level - 1], device + 1)
        choices[level] = 0
    return best


@njit(cache=True)
def _bound(
    graph: GraphArrays,
    tails: np.ndarray,
    ends: np.ndarray,
    free: np.ndarray,
    start: float,
    makespan: float,
    left: float,
) -> float:
    """A lower bound of all schedules that go on from here: no further operation starts before `start`."""
    bound = max(makespan, (np.maximum(free, start).sum() + left) / len(free))
    for i in range(len(ends)):
        if np.isnan(ends[i]):
            earliest = start
            for edge in range(graph.parent_offsets[i], graph.parent_offsets[i + 1]):
                parent_end = ends[graph.parents[edge]]
                if not np.isnan(parent_end):
                    earliest = max(earliest, parent_end)
            bound = max(bound, earliest + tails[i])
    return bound
