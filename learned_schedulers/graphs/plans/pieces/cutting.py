"""A plan of units -> pieces: consecutive units of a device that one call of the runtime computes.

A piece begins where its device needs a result of the other one, and ends behind a result that the other one needs. So
no unit waits longer than in the plan, and no two pieces wait for each other: in the plan's order, the last unit of a
piece comes before the first one of a piece that reads its results. Each call takes time. So neighbours on a device
become one piece where the pieces together then take no longer, by their predicted seconds; a simulation of each merge
shows that, and whether pieces would wait for each other in a circle.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from learned_schedulers.graphs.problems.problem import Edges
from learned_schedulers.graphs.read.topology import topological_order

_MOST = 100  # pieces, if merges that cost little lead there: each needs a session of the runtime
_LONGER = (0.0, 0.01, 0.03, 0.1, 0.3)  # shares that merges may cost while there are too many pieces


class Cut(NamedTuple):
    """P pieces of u units, in a topological order."""

    of_units: np.ndarray  # (u,) int64: the piece of each unit
    devices: np.ndarray  # (P,) int64: 0 or 1
    parents: Edges  # of pieces
    seconds: float  # expected of all pieces, with their calls

    def __len__(self) -> int:
        return len(self.devices)


def cut(parents: Edges, priorities: np.ndarray, placement: np.ndarray, seconds: np.ndarray, call: float) -> Cut:
    """The pieces of a plan.

    parents: of u units; priorities: (u,) position in the plan; placement: (u,) device, 0 or 1; seconds: (u,) expected;
    call: seconds that each call takes beside its work.
    """
    u = len(placement)
    rank = np.argsort(np.argsort(priorities, kind="stable"), kind="stable")
    children = parents.reversed()
    sequence, _ = topological_order("plan", [""] * u, rank[children.sources], rank[children.targets])
    order = np.argsort(rank)[sequence]
    labels = _finest(parents, order, placement)
    count = int(labels.max()) + 1
    devices = np.zeros(count, np.int64)
    devices[labels] = placement
    edges = _between(labels, parents, count)
    work = np.bincount(labels, seconds, count)
    starts, total = _merged(devices, work, edges, call)
    groups = _groups(devices, starts)
    # The merged pieces in a topological order, in which each device keeps its sequence.
    _, first = np.unique(groups, return_index=True)
    following = _between(groups, edges, len(first)).reversed()
    neighbours = np.flatnonzero(np.diff(devices[first]) == 0)
    sources, targets = np.r_[following.sources, neighbours], np.r_[following.targets, neighbours + 1]
    pieces, _ = topological_order("pieces", [""] * len(first), sources, targets)
    number = np.argsort(pieces)
    of_units = number[groups[labels]]
    return Cut(of_units, devices[first][pieces], _between(of_units, parents, len(first)), total)


def _finest(parents: Edges, order: np.ndarray, placement: np.ndarray) -> np.ndarray:
    """(u,) piece of each unit, numbered by their first units in this order."""
    labels = np.zeros(len(order), np.int64)
    sent = np.zeros(len(order), bool)  # the other device reads it
    readers, sources = parents.sources, parents.targets
    sent[sources[placement[readers] != placement[sources]]] = True
    available: tuple[set[int], set[int]] = (set(), set())  # results of the other device that each has waited for
    last = [-1, -1]  # piece of each device that goes on
    count = 0
    for unit in order.tolist():
        device = int(placement[unit])
        needed = parents.targets[parents.offsets[unit] : parents.offsets[unit + 1]].tolist()
        new = {parent for parent in needed if placement[parent] != device} - available[device]
        available[device].update(new)
        if new or last[device] < 0:
            last[device] = count
            count += 1
        labels[unit] = last[device]
        if sent[unit]:
            last[device] = -1
    return labels


def _between(labels: np.ndarray, parents: Edges, count: int) -> Edges:
    """Parents of groups, from those of their members."""
    readers, sources = labels[parents.sources], labels[parents.targets]
    pairs = np.unique(np.stack([readers, sources], 1)[readers != sources], axis=0)
    offsets = np.r_[0, np.cumsum(np.bincount(pairs[:, 0], minlength=count))]
    return Edges(offsets.astype(np.int32), pairs[:, 1].astype(np.int32))


def _merged(devices: np.ndarray, work: np.ndarray, parents: Edges, call: float) -> tuple[np.ndarray, float]:
    """Which of the finest pieces still begin a piece, (P,) bool, and the seconds of all."""
    starts = np.ones(len(devices), bool)
    total = least = _seconds(devices, work, parents.offsets, parents.targets, starts, call)
    firsts = {int(np.flatnonzero(devices == device)[0]) for device in np.unique(devices)}
    for longer in _LONGER:
        changed = True
        while changed and (not longer or starts.sum() > _MOST):
            changed = False
            for piece in sorted({*np.flatnonzero(starts).tolist()} - firsts, key=lambda i: work[i]):
                if longer and starts.sum() <= _MOST:
                    break
                starts[piece] = False
                merged = _seconds(devices, work, parents.offsets, parents.targets, starts, call)
                if merged < math.inf and merged <= least * (1 + longer):
                    total, least, changed = merged, min(least, merged), True
                else:
                    starts[piece] = True
    return starts, total


def _groups(devices: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """(P,) number of the piece that each of the finest pieces belongs to."""
    groups = np.zeros(len(devices), np.int64)
    count = 0
    for device in np.unique(devices):
        inside = np.flatnonzero(devices == device)
        groups[inside] = count + np.cumsum(starts[inside]) - 1
        count += int(starts[inside].sum())
    return groups


@njit(cache=True, nogil=True)
def _seconds(
    devices: np.ndarray, work: np.ndarray, offsets: np.ndarray, parents: np.ndarray, starts: np.ndarray, call: float
) -> float:
    """Seconds until all pieces have ended; infinite if they wait for each other in a circle."""
    count = len(devices)
    head = np.zeros(count, np.int64)  # first of the finest pieces in the piece of each
    following = np.full(count, count, np.int64)  # the next one on its device
    last = np.full(2, -1, np.int64)
    position = np.full(2, count, np.int64)  # where each device goes on
    for p in range(count):
        device = devices[p]
        if last[device] < 0:
            position[device] = p
            head[p] = p
        else:
            following[last[device]] = p
            head[p] = p if starts[p] else head[last[device]]
        last[device] = p
    ends = np.full(count, -1.0)
    clock = np.zeros(2)
    moved = True
    while moved:
        moved = False
        for device in range(2):
            while position[device] < count:
                first = position[device]
                ready, seconds, waits = clock[device], call, False
                p = first
                while p < count and head[p] == first:
                    for e in range(offsets[p], offsets[p + 1]):
                        source = head[parents[e]]
                        if devices[source] != device:
                            if ends[source] < 0:
                                waits = True
                            ready = max(ready, ends[source])
                    seconds += work[p]
                    p = following[p]
                if waits:
                    break
                ends[first] = clock[device] = ready + seconds
                position[device] = p
                moved = True
    return max(clock[0], clock[1]) if position[0] >= count and position[1] >= count else np.inf
