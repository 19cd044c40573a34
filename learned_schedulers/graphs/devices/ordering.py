"""The one rule of ordering for all methods that only place: critical path first.

Operations start one after the other: always the one that can start first and, of those that can start at the same time
on a device, the one of highest priority. Ties go to the lowest number.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from learned_schedulers.graphs.devices.heap import pop, push
from learned_schedulers.graphs.problems.problem import GraphArrays, Problem, link
from learned_schedulers.kernel_arrays import read_only


def ordered(problem: Problem, placements: np.ndarray, priorities: np.ndarray | None = None) -> np.ndarray:
    """Orders of S placements, (S, n) int32.

    placements: (S, n); priorities: (S, n), by default the longest path to the end.
    """
    orders = np.empty(placements.shape, np.int32)
    if priorities is None:
        priorities = np.broadcast_to(problem.tails, placements.shape)
    _order(
        problem.arrays,
        problem.devices,
        *read_only((np.asarray(priorities, np.float64), np.asarray(placements, np.int32))),
        orders,
    )
    return orders


def by_times(starts: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """An order from the times of a schedule, (n,) int32: by their start, equal starts by their end, then by number.

    The order is topological if no operation starts before its parents end: an operation that starts with its parent,
    which then takes no time, does not end earlier, and has a higher number.
    """
    return np.lexsort((np.arange(len(starts)), ends, starts)).astype(np.int32)


@njit(cache=True, nogil=True)
def _order(
    graph: GraphArrays, n_devices: int, priorities: np.ndarray, placements: np.ndarray, orders: np.ndarray
) -> None:
    """Fill `orders`, (S, n)."""
    offsets, children, seconds, delays = graph.child_offsets, graph.children, graph.seconds, graph.delays
    n, parent_counts = seconds.shape[1], np.diff(graph.parent_offsets)
    # Two heaps for each device, in begins[d]:begins[d + 1]: `ready` has the operations that may start when the device
    # is free, by priority, and `later` those whose parents are scheduled, by release.
    ready_keys, ready = np.empty(n), np.empty(n, np.int32)
    later_keys, later = np.empty(n), np.empty(n, np.int32)
    release, begins = np.empty(n), np.zeros(n_devices + 1, np.int64)
    for s in range(len(orders)):
        placement = placements[s]
        begins[:] = 0
        for i in range(n):
            begins[placement[i] + 1] += 1
        for d in range(n_devices):
            begins[d + 1] += begins[d]
        free = np.zeros(n_devices)
        n_ready, n_later = np.zeros(n_devices, np.int64), np.zeros(n_devices, np.int64)
        waiting = parent_counts.copy()
        release[:] = 0.0
        for i in range(n):
            if waiting[i] == 0:
                d = placement[i]
                n_later[d] = push(later_keys[begins[d] :], later[begins[d] :], n_later[d], 0.0, i)
        for t in range(n):
            device, start = 0, np.inf
            for d in range(n_devices):
                if n_ready[d] > 0:
                    first = free[d]
                elif n_later[d] > 0:
                    first = max(free[d], later_keys[begins[d]])
                else:
                    continue
                if first < start:
                    device, start = d, first
            begin = begins[device]
            while n_later[device] > 0 and later_keys[begin] <= start:
                i = pop(later_keys[begin:], later[begin:], n_later[device])
                n_later[device] -= 1
                n_ready[device] = push(ready_keys[begin:], ready[begin:], n_ready[device], -priorities[s, i], i)
            i = pop(ready_keys[begin:], ready[begin:], n_ready[device])
            n_ready[device] -= 1
            orders[s, t] = i
            end = free[device] = start + seconds[graph.kinds[device], i]
            for edge in range(offsets[i], offsets[i + 1]):
                child = children[edge]
                d = placement[child]
                waiting[child] -= 1
                arrival = end if d == device else end + delays[link(graph, device, d), i]
                release[child] = max(release[child], arrival)
                if waiting[child] == 0:
                    n_later[d] = push(later_keys[begins[d] :], later[begins[d] :], n_later[d], release[child], child)
