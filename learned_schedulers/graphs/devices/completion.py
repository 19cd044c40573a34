"""A schedule from decisions about a whole graph: list scheduling with insertion decides what they leave open.

A decision gives each operation a device, or leaves it open, and a level of priority. Operations are inserted one after
the other, the highest priority first, each into the gap of its device in which it ends first; if its device is open,
into that of the device on which it ends first. If all devices are open and all levels equal, the schedule is HEFT's
(Topcuoglu, Hariri & Wu 2002), except that devices without enough memory for an operation's weights are skipped.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from learned_schedulers.graphs.devices.evaluation import Evaluated, evaluated
from learned_schedulers.graphs.problems.problem import GraphArrays, Problem

OPEN = -1  # stands for a device that is not decided
LEVELS = 20  # number of priority levels (Zhou et al. 2020)
PLAIN = 10  # the level that does not change the priority
_LEAST, _MOST = 1e-3, 0.3  # change by the levels next to PLAIN and by the outermost, as a share of the longest path
OFFSETS = np.r_[-np.geomspace(_MOST, _LEAST, PLAIN), 0.0, np.geomspace(_LEAST, _MOST, LEVELS - PLAIN - 1)]  # (LEVELS,)


@dataclass(frozen=True)
class Decisions:
    """S decisions about n operations."""

    devices: np.ndarray  # (S, n) int8: device, or OPEN
    levels: np.ndarray  # (S, n) int8: 0..LEVELS - 1; a higher level is more urgent

    @staticmethod
    def open(n: int) -> Decisions:
        """One decision that leaves everything open: HEFT's schedule."""
        return Decisions(np.full((1, n), OPEN, np.int8), np.full((1, n), PLAIN, np.int8))

    def __getitem__(self, chosen: slice | list[int] | np.ndarray) -> Decisions:
        return Decisions(self.devices[chosen], self.levels[chosen])


def earliest_finish(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """HEFT without regard to memory: device of each operation, (n,) int32, and when it starts, (n,) seconds.

    Topcuoglu, Hariri & Wu 2002, sections 4.1 and 4.2: the operations by their upward rank, each where it ends first.
    """
    n, graph = len(problem), problem.arrays
    placement, starts = np.empty(n, np.int32), np.empty(n)
    _insert(
        graph,
        weights=problem.weights,
        memory=np.inf,
        n_devices=problem.devices,
        sequence=np.argsort(-_upward_ranks(graph), kind="stable"),  # equal ranks by number, so that parents come first
        devices=np.full(n, OPEN, np.int8),
        placement=placement,
        starts=starts,
        ends=np.empty(n),
    )
    return placement, starts


class Completion:
    """Makes schedules from decisions about one problem."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self._graph = problem.arrays
        ranks = _upward_ranks(self._graph)
        self.urgency = ranks / max(float(ranks.max(initial=0.0)), np.finfo(float).tiny)  # (n,) 0..1

    def __call__(self, decisions: Decisions) -> Evaluated:
        """S schedules and their costs, in O(S x (n + E) x devices) and the time to sort."""
        problem = self.problem
        orders = np.empty(decisions.devices.shape, np.int32)
        placements = np.empty(decisions.devices.shape, np.int32)
        _complete(
            self._graph,
            weights=problem.weights,
            memory=problem.memory,
            n_devices=problem.devices,
            urgency=self.urgency,
            level_offsets=OFFSETS,
            devices=decisions.devices,
            levels=decisions.levels,
            orders=orders,
            placements=placements,
        )
        return evaluated(problem, orders, placements)


@njit(cache=True)
def _upward_ranks(graph: GraphArrays) -> np.ndarray:
    """(n,) seconds of the longest path from each operation to the end, if every result goes to another device."""
    offsets, children, delays = graph.child_offsets, graph.children, graph.delays
    ranks = graph.seconds.copy()
    for i in range(len(ranks) - 1, -1, -1):
        longest = 0.0
        for edge in range(offsets[i], offsets[i + 1]):
            longest = max(longest, delays[i] + ranks[children[edge]])
        ranks[i] += longest
    return ranks


@njit(cache=True, nogil=True)
def _complete(
    graph: GraphArrays,
    weights: np.ndarray,
    memory: float,
    n_devices: int,
    urgency: np.ndarray,
    level_offsets: np.ndarray,
    devices: np.ndarray,
    levels: np.ndarray,
    orders: np.ndarray,
    placements: np.ndarray,
) -> None:
    """Fill orders and placements, (S, n)."""
    child_offsets, children = graph.child_offsets, graph.children
    n = len(weights)
    keys, starts, ends = np.empty(n), np.empty(n), np.empty(n)
    for s in range(len(orders)):
        for i in range(n - 1, -1, -1):  # an operation is at least as urgent as those that need its result
            keys[i] = urgency[i] + level_offsets[levels[s, i]]
            for edge in range(child_offsets[i], child_offsets[i + 1]):
                keys[i] = max(keys[i], keys[children[edge]])
        sequence = np.argsort(-keys, kind="mergesort")  # stable: of equal keys the lowest number, so parents, first
        _insert(graph, weights, memory, n_devices, sequence, devices[s], placements[s], starts, ends)
        by_end = sequence[np.argsort(ends[sequence], kind="mergesort")]
        orders[s] = by_end[np.argsort(starts[by_end], kind="mergesort")]


@njit(cache=True, nogil=True)
def _insert(
    graph: GraphArrays,
    weights: np.ndarray,
    memory: float,
    n_devices: int,
    sequence: np.ndarray,
    devices: np.ndarray,
    placement: np.ndarray,
    starts: np.ndarray,
    ends: np.ndarray,
) -> None:
    """Fill placement, starts and ends, (n,): each operation of the sequence goes into the gap in which it ends first.

    Of equal ones the lowest device is taken. The gaps of a device are a linked list by time; the last gap has no end.
    An operation adds at most one gap. The search goes from the last gap back to the first that ends late enough; these
    are few, as the sequence is about that of the starts.
    """
    parent_offsets, parents, seconds, delays = graph.parent_offsets, graph.parents, graph.seconds, graph.delays
    n = len(seconds)
    gap_begins, gap_ends = np.zeros(n + n_devices), np.full(n + n_devices, np.inf)
    before, last = np.full(n + n_devices, -1, np.int64), np.arange(n_devices)
    weights_on = np.zeros(n_devices)  # bytes of the weights on each device so far
    n_gaps = n_devices
    for i in sequence:
        best_start, best_end, best_device, best_gap, best_after = 0.0, np.inf, -1, -1, -1
        chosen_device = devices[i]
        emptiest = int(weights_on.argmin())
        for device in range(n_devices):
            if chosen_device >= 0:
                if device != chosen_device:
                    continue
            elif weights_on[device] + weights[i] > memory and device != emptiest:
                continue
            ready = 0.0
            for edge in range(parent_offsets[i], parent_offsets[i + 1]):
                parent = parents[edge]
                ready = max(ready, ends[parent] if placement[parent] == device else ends[parent] + delays[parent])
            gap, after = last[device], -1
            fitting, after_fitting = gap, -1
            while before[gap] >= 0 and gap_ends[before[gap]] >= ready + seconds[i]:
                gap, after = before[gap], gap
                if max(gap_begins[gap], ready) + seconds[i] <= gap_ends[gap]:
                    fitting, after_fitting = gap, after
            start = max(gap_begins[fitting], ready)
            if start + seconds[i] < best_end:
                best_start, best_end = start, start + seconds[i]
                best_device, best_gap, best_after = device, fitting, after_fitting
        placement[i], starts[i], ends[i] = best_device, best_start, best_end
        weights_on[best_device] += weights[i]
        if best_start > gap_begins[best_gap]:  # the gap ends at the operation; the time after it is a new gap
            if best_end < gap_ends[best_gap]:
                gap_begins[n_gaps], gap_ends[n_gaps], before[n_gaps] = best_end, gap_ends[best_gap], best_gap
                if best_after >= 0:
                    before[best_after] = n_gaps
                else:
                    last[best_device] = n_gaps
                n_gaps += 1
            gap_ends[best_gap] = best_start
        else:
            gap_begins[best_gap] = best_end
