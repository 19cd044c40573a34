"""A schedule from decisions about a whole graph: list scheduling with insertion decides what they leave open.

A decision gives each operation a device, or leaves it open, and a level of priority. Operations are inserted one after
the other, the highest priority first, each into the gap of its device in which it ends first; if its device is open,
into that of the device with the least score: the time at which it ends, and its reluctance times the transfers that it
causes. If all devices are open, all levels equal and the reluctance 0, the schedule is HEFT's (Topcuoglu, Hariri & Wu
2002). Where memory is limited, devices without room for an operation are left out, and an operation waits where room
comes later (as MemHEFT: Herrmann, Marchal & Robert 2014; here with insertion, transfers that take memory at both ends,
and weights). If no device has room, the one that lacks least is taken.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numba import njit

from learned_schedulers.graphs.devices.evaluation import Evaluated, evaluated
from learned_schedulers.graphs.devices.memory_use import Needs, empty, occupy, room
from learned_schedulers.graphs.problems.problem import GraphArrays, Problem, link
from learned_schedulers.kernel_arrays import MINUS_ONE, read_only

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


@dataclass(frozen=True)
class Lead:
    """What decisions start from: of each operation, how urgent it is, and how reluctant to have transfers made."""

    urgency: np.ndarray  # (n,) 0..1
    reluctance: np.ndarray  # (n,) seconds for each second of transfers

    @staticmethod
    def of(problem: Problem, by_number: float = 0.0, reluctance: float | None = None) -> Lead:
        """Urgency by the longest path to the end, as HEFT's, mixed with `by_number`, a share, of the graph's own order.

        reluctance: of all operations; by default 0 where memory is unlimited, otherwise 0.3, because every copy of a
        result takes memory (the best of five on the development graphs).
        """
        n, ranks = len(problem), upward_ranks(problem)
        ranks = ranks / max(float(ranks.max(initial=0.0)), np.finfo(float).tiny)
        if reluctance is None:
            reluctance = 0.3 if problem.limited else 0.0
        urgency = (1 - by_number) * ranks + by_number * (1 - np.arange(n) / max(n, 1))
        return Lead(urgency, np.full(n, reluctance, float))


def earliest_finish(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """HEFT without regard to memory: device of each operation, (n,) int32, and when it starts, (n,) seconds.

    Topcuoglu, Hariri & Wu 2002, sections 4.1 and 4.2: the operations by their upward rank, each where it ends first.
    """
    n, graph = len(problem), problem.arrays
    placement, starts = np.empty(n, np.int32), np.empty(n)
    _insert(
        graph,
        needs=Needs.of(replace(problem, memory=np.inf)),
        n_devices=problem.devices,
        sequence=np.argsort(-upward_ranks(problem), kind="stable"),  # equal ranks by number, so that parents come first
        devices=np.full(n, OPEN, np.int8),
        reluctance=np.zeros(n),
        placement=placement,
        starts=starts,
        ends=np.empty(n),
    )
    return placement, starts


class Completion:
    """Makes schedules from decisions about one problem."""

    def __init__(self, problem: Problem, lead: Lead | None = None) -> None:
        self.problem, self.lead = problem, Lead.of(problem) if lead is None else lead
        self._graph, self._needs = problem.arrays, Needs.of(problem)

    def __call__(self, decisions: Decisions) -> Evaluated:
        """S schedules and their costs, in O(S x (n + E) x devices) and the time to sort.

        Where memory is limited, an operation that finds it nearly full also looks through the device's changes so far.
        """
        problem = self.problem
        orders = np.empty(decisions.devices.shape, np.int32)
        placements = np.empty(decisions.devices.shape, np.int32)
        _complete(
            self._graph,
            needs=self._needs,
            n_devices=problem.devices,
            urgency=self.lead.urgency,
            reluctance=self.lead.reluctance,
            level_offsets=OFFSETS,
            devices=decisions.devices,
            levels=decisions.levels,
            orders=orders,
            placements=placements,
        )
        return evaluated(problem, orders, placements)


def upward_ranks(problem: Problem) -> np.ndarray:
    """(n,) seconds of the longest path from each operation to the end, if every result goes to another device.

    Where devices differ, by mean run times and mean transfers (Topcuoglu, Hariri & Wu 2002, section 2).
    """
    edges = problem.children
    return _upward_ranks(*read_only((edges.offsets, edges.targets, problem.mean_seconds, problem.delays)))


@njit(cache=True)
def _upward_ranks(offsets: np.ndarray, children: np.ndarray, seconds: np.ndarray, delays: np.ndarray) -> np.ndarray:
    ranks = seconds.copy()
    for i in range(len(ranks) - 1, -1, -1):
        longest = 0.0
        for edge in range(offsets[i], offsets[i + 1]):
            longest = max(longest, delays[i] + ranks[children[edge]])
        ranks[i] += longest
    return ranks


@njit(cache=True, nogil=True)
def _complete(
    graph: GraphArrays,
    needs: Needs,
    n_devices: int,
    urgency: np.ndarray,
    reluctance: np.ndarray,
    level_offsets: np.ndarray,
    devices: np.ndarray,
    levels: np.ndarray,
    orders: np.ndarray,
    placements: np.ndarray,
) -> None:
    """Fill orders and placements, (S, n)."""
    child_offsets, children = graph.child_offsets, graph.children
    n = len(urgency)
    keys, starts, ends = np.empty(n), np.empty(n), np.empty(n)
    for s in range(len(orders)):
        for i in range(n - 1, -1, -1):  # an operation is at least as urgent as those that need its result
            keys[i] = urgency[i] + level_offsets[levels[s, i]]
            for edge in range(child_offsets[i], child_offsets[i + 1]):
                keys[i] = max(keys[i], keys[children[edge]])
        sequence = np.argsort(-keys, kind="mergesort")  # stable: of equal keys the lowest number, so parents, first
        _insert(graph, needs, n_devices, sequence, devices[s], reluctance, placements[s], starts, ends)
        by_end = sequence[np.argsort(ends[sequence], kind="mergesort")]
        orders[s] = by_end[np.argsort(starts[by_end], kind="mergesort")]


@njit(cache=True, nogil=True)
def _insert(
    graph: GraphArrays,
    needs: Needs,
    n_devices: int,
    sequence: np.ndarray,
    devices: np.ndarray,
    reluctance: np.ndarray,
    placement: np.ndarray,
    starts: np.ndarray,
    ends: np.ndarray,
) -> None:
    """Fill placement, starts and ends, (n,): each operation of the sequence goes into the gap of the least score.

    Of equal ones the lowest device is taken. The gaps of a device are a linked list by time; the last gap has no end.
    An operation adds at most one gap. The search goes from the last gap back to the first that ends late enough; these
    are few, as the sequence is about that of the starts.
    """
    parent_offsets, parents, delays = graph.parent_offsets, graph.parents, graph.delays
    n, limited = len(placement), needs.memory.min() < np.inf
    gap_begins, gap_ends = np.zeros(n + n_devices), np.full(n + n_devices, np.inf)
    before, last = np.full(n + n_devices, -1, np.int64), np.arange(n_devices)
    use = empty(needs, n_devices)
    n_gaps = n_devices
    placement[:] = OPEN  # the first reader of a shared weight may come later than others
    for i in sequence:
        best_start, best_score, best_device, best_gap, best_after = 0.0, np.inf, MINUS_ONE, -1, -1
        least_excess, best_weights = np.inf, 0.0
        for device in range(n_devices):
            if devices[i] != OPEN and devices[i] != device:
                continue
            ready, transfers, new_weights = 0.0, 0.0, needs.weights[i]
            seconds = graph.seconds[graph.kinds[device], i]
            for edge in range(parent_offsets[i], parent_offsets[i + 1]):
                parent = parents[edge]
                if placement[parent] == device:
                    ready = max(ready, ends[parent])
                else:
                    delay = delays[link(graph, placement[parent], device), parent]
                    ready = max(ready, ends[parent] + delay)
                    transfers += delay
            excess = 0.0
            if limited:
                for k in range(graph.read_offsets[i], graph.read_offsets[i + 1]):
                    home = placement[graph.read_firsts[k]]
                    if home != device:
                        sender = (device + 1) % n_devices if home == OPEN else home  # open: any other device
                        delay = graph.read_delays[link(graph, sender, device), k]
                        ready = max(ready, delay)
                        if not use.sent[needs.shared[k], device]:
                            new_weights += needs.shared_sizes[k]
                            transfers += delay
                ready, excess = room(needs, use, ends, i, device, new_weights, ready)
            gap, after = last[device], -1
            fitting, after_fitting = gap, -1
            while before[gap] >= 0 and gap_ends[before[gap]] >= ready + seconds:
                gap, after = before[gap], gap
                if max(gap_begins[gap], ready) + seconds <= gap_ends[gap]:
                    fitting, after_fitting = gap, after
            start = max(gap_begins[fitting], ready)
            score = start + seconds + reluctance[i] * transfers
            if excess < least_excess or (excess == least_excess and score < best_score):
                best_start, best_score, least_excess, best_weights = start, score, excess, new_weights
                best_device, best_gap, best_after = device, fitting, after_fitting
        best_end = best_start + graph.seconds[graph.kinds[best_device], i]
        placement[i], starts[i], ends[i] = best_device, best_start, best_end
        if limited:
            for k in range(graph.read_offsets[i], graph.read_offsets[i + 1]):
                if placement[graph.read_firsts[k]] != best_device:
                    use.sent[needs.shared[k], best_device] = True
            occupy(needs, use, graph, i, best_device, best_weights, placement, starts, ends)
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
