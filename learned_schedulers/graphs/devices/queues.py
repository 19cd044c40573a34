"""Makespans where transfers wait for each other: what one keeps busy, and whether each reader has one of its own.

The simulator's transfers overlap (simulator.py). Zhang et al. 2023 do not say whether theirs do; the search for a test
bed in which their baselines behave as in their table 3 (benchmarks/test_bed.py) ends with some that wait.
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numba import njit

from learned_schedulers.graphs.problems.problem import GraphArrays, Problem

Busy = Literal["none", "sender", "receiver", "both", "link"]  # during a transfer; link: one for all devices
BUSY: tuple[Busy, ...] = get_args(Busy)


def queued_makespans(
    problem: Problem, orders: np.ndarray, placements: np.ndarray, busy: Busy = "sender", each_child: bool = True
) -> np.ndarray:
    """Seconds of S legal schedules on equal devices, (S,); orders, placements: (S, n).

    Transfers begin in the sequence of the operations that need them. each_child: whether every operation that reads a
    result on another device has a transfer of its own; otherwise one serves all operations there.
    """
    makespans = np.zeros(len(orders))
    waits = (busy in ("sender", "both"), busy in ("receiver", "both"), busy == "link")
    _run(problem.arrays, problem.devices, orders, placements, waits, each_child, makespans)
    return makespans


@njit(cache=True, nogil=True)
def _run(
    graph: GraphArrays,
    n_devices: int,
    orders: np.ndarray,
    placements: np.ndarray,
    waits: tuple[bool, bool, bool],
    each_child: bool,
    makespans: np.ndarray,
) -> None:
    """Fill `makespans`, (S,). waits: whether transfers wait for the sender, for the receiver, for the link."""
    for_sender, for_receiver, for_link = waits
    seconds, delays = graph.seconds[0], graph.delays[0]
    n = len(seconds)
    ends, arrivals = np.empty(n), np.empty((n, n_devices))
    for s in range(len(orders)):
        free, link = np.zeros(n_devices), 0.0
        arrivals[:] = np.nan
        for t in range(n):
            i = orders[s, t]
            device, start = placements[s, i], 0.0
            for edge in range(graph.parent_offsets[i], graph.parent_offsets[i + 1]):
                parent = graph.parents[edge]
                source, delay = placements[s, parent], delays[parent]
                if source == device or delay == 0:
                    arrivals[parent, device] = ends[parent]
                elif each_child or np.isnan(arrivals[parent, device]):
                    begin = ends[parent]
                    if for_sender:
                        begin = max(begin, free[source])
                    if for_receiver:
                        begin = max(begin, free[device])
                    if for_link:
                        begin = max(begin, link)
                    end = arrivals[parent, device] = begin + delay
                    if for_sender:
                        free[source] = end
                    if for_receiver:
                        free[device] = end
                    if for_link:
                        link = end
                start = max(start, arrivals[parent, device])
            ends[i] = free[device] = max(start, free[device]) + seconds[i]
            makespans[s] = max(makespans[s], ends[i])
