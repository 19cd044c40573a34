"""Decisions about a whole graph become a schedule: what they leave open, list scheduling with insertion decides.

A decision names a device for each operation, or leaves it open, and a level of priority. Operations are inserted one
after the other, the highest priority first: into the gap of its device in which it ends first, or, where the device is
open, of that device on which it ends first. With everything open and all levels the same it is HEFT's schedule
(Topcuoglu, Hariri & Wu 2002), but for devices whose memory has no room for an operation's weights: these are left out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from pipeline.graphs.devices.evaluation import Evaluated, evaluated
from pipeline.graphs.problems.problem import Problem

OPEN = -1  # instead of a device
LEVELS = 20  # of priority (Zhou et al. 2020)
PLAIN = 10  # the level that changes nothing
_LEAST, _MOST = 1e-3, 0.3  # what the levels beside PLAIN, and the outermost, are worth of the longest path
OFFSETS = np.r_[-np.geomspace(_MOST, _LEAST, PLAIN), 0.0, np.geomspace(_LEAST, _MOST, LEVELS - PLAIN - 1)]  # (LEVELS,)


@dataclass(frozen=True)
class Decisions:
    """S decisions about n operations."""

    devices: np.ndarray  # (S, n) int8: device, or OPEN
    levels: np.ndarray  # (S, n) int8: 0..LEVELS - 1, what is more urgent has a higher one

    @staticmethod
    def open(n: int) -> Decisions:
        """One that leaves everything open: HEFT's schedule."""
        return Decisions(np.full((1, n), OPEN, np.int8), np.full((1, n), PLAIN, np.int8))

    def __getitem__(self, chosen: slice | list[int] | np.ndarray) -> Decisions:
        return Decisions(self.devices[chosen], self.levels[chosen])


class Completion:
    """Makes schedules of decisions about one problem."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        transfers, children = problem.transfers, problem.children
        self.delays = transfers.slope * problem.sizes + transfers.delay  # (n,) seconds to another device
        ranks = upward_ranks(children.offsets, children.targets, problem.seconds, self.delays)
        self.urgency = ranks / max(float(ranks.max(initial=0.0)), np.finfo(float).tiny)  # (n,) 0..1

    def __call__(self, decisions: Decisions) -> Evaluated:
        """S schedules and what they cost. O(S x (n + E) x devices), and sorting."""
        problem = self.problem
        orders = np.empty(decisions.devices.shape, np.int32)
        placements = np.empty(decisions.devices.shape, np.int32)
        _complete(
            problem.children.offsets,
            problem.children.targets,
            problem.parents.offsets,
            problem.parents.targets,
            problem.seconds,
            self.delays,
            problem.weights,
            problem.memory,
            problem.devices,
            self.urgency,
            OFFSETS,
            decisions.devices,
            decisions.levels,
            orders,
            placements,
        )
        return evaluated(problem, orders, placements)


@njit(cache=True)
def upward_ranks(offsets: np.ndarray, children: np.ndarray, seconds: np.ndarray, delays: np.ndarray) -> np.ndarray:
    """(n,) seconds of the longest path from each operation to the end, every result sent to another device."""
    ranks = seconds.copy()
    for i in range(len(seconds) - 1, -1, -1):
        longest = 0.0
        for edge in range(offsets[i], offsets[i + 1]):
            longest = max(longest, delays[i] + ranks[children[edge]])
        ranks[i] += longest
    return ranks


@njit(cache=True, nogil=True)
def _complete(
    child_offsets: np.ndarray,
    children: np.ndarray,
    parent_offsets: np.ndarray,
    parents: np.ndarray,
    seconds: np.ndarray,
    delays: np.ndarray,
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
    n = len(seconds)
    keys, starts, ends = np.empty(n), np.empty(n), np.empty(n)
    # Gaps of a device are a linked list by time; the last one has no end. An operation splits one gap into two at most.
    gap_begins, gap_ends = np.empty(n + n_devices), np.empty(n + n_devices)
    before, last = np.empty(n + n_devices, np.int64), np.empty(n_devices, np.int64)
    kept = np.empty(n_devices)
    for s in range(len(orders)):
        placement = placements[s]
        for i in range(n - 1, -1, -1):  # no operation is less urgent than one that needs its result
            keys[i] = urgency[i] + level_offsets[levels[s, i]]
            for edge in range(child_offsets[i], child_offsets[i + 1]):
                keys[i] = max(keys[i], keys[children[edge]])
        sequence = np.argsort(-keys, kind="mergesort")  # of equals the lowest number: parents come first
        gap_begins[:n_devices], gap_ends[:n_devices], before[:n_devices] = 0.0, np.inf, -1
        for device in range(n_devices):
            last[device] = device
        n_gaps = n_devices
        kept[:] = 0.0
        for i in sequence:
            finish, where, at, behind, begin = np.inf, -1, -1, -1, 0.0
            chosen_device = devices[s, i]
            emptiest = int(kept.argmin())
            for device in range(n_devices):
                if chosen_device >= 0:
                    if device != chosen_device:
                        continue
                elif kept[device] + weights[i] > memory and device != emptiest:
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
                if start + seconds[i] < finish:
                    finish, where, at, behind, begin = start + seconds[i], device, fitting, after_fitting, start
            placement[i], starts[i], ends[i] = where, begin, finish
            kept[where] += weights[i]
            if begin > gap_begins[at]:  # what is left before it stays this gap; what is left behind it is a new one
                if finish < gap_ends[at]:
                    gap_begins[n_gaps], gap_ends[n_gaps], before[n_gaps] = finish, gap_ends[at], at
                    if behind >= 0:
                        before[behind] = n_gaps
                    else:
                        last[where] = n_gaps
                    n_gaps += 1
                gap_ends[at] = begin
            else:
                gap_begins[at] = finish
        by_end = sequence[np.argsort(ends[sequence], kind="mergesort")]
        orders[s] = by_end[np.argsort(starts[by_end], kind="mergesort")]
