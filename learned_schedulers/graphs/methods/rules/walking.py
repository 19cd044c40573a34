"""A random walk from schedule to schedule that cools down: the inner loop of `local_search`.

A move gives an operation, alone or with neighbours that are on its device, another device, that of a neighbour or any,
or it gives the operation another slot between its last parent and its first child. Half of all operations that move are
drawn from the chain that the makespan consists of: only there can a single move shorten it. Worse schedules are
accepted with probability exp(-loss / temperature) (Kirkpatrick et al. 1983); the number that decides is drawn first, so
that a simulation ends as soon as an operation is too late. It begins with the first slot that a move has changed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from learned_schedulers.graphs.problems.problem import GraphArrays, Problem, link

_CRITICAL = 0.5  # of moves: the operation is drawn from the chain of the makespan
_SHIFTS = 0.5  # of moves: another slot; the others give another device
_NEAR = 0.5  # of the latter: a neighbour's device, if that is another one
_WIDE = 0.3  # of the latter: with neighbours
_WIDEST = 30  # operations that move at once
_SAME_TIME = 1e-9  # ratio of times that differ by rounding alone


class Lists(NamedTuple):
    """Operations in lists: list k is members[offsets[k]:offsets[k + 1]]."""

    offsets: np.ndarray  # (K + 1,) int64
    members: np.ndarray  # int64

    @classmethod
    def of(cls, labels: np.ndarray, members: np.ndarray, count: int) -> Lists:
        """From the list of each of the members."""
        offsets = np.r_[0, np.bincount(labels, minlength=count).cumsum()]
        return cls(offsets, members[np.argsort(labels, kind="stable")].astype(np.int64))


class Ground(NamedTuple):
    """What does not change in a walk over schedules of n operations."""

    graph: GraphArrays
    rests: np.ndarray  # (n,) seconds that pass at least between an operation's end and the end of all
    labels: np.ndarray  # (n,) int64 group of each operation
    groups: Lists  # of operations that share a device
    readers: Lists  # of each operation: others that read a weight that lies on its device

    @classmethod
    def of(cls, problem: Problem, groups: np.ndarray | None) -> Ground:
        """groups: (n,), operations of the same number share a device; None: none do."""
        n, shared = len(problem), problem.shared
        labels = np.arange(n) if groups is None else np.unique(groups, return_inverse=True)[1]
        equal = problem.seconds.ndim == 1  # otherwise the longest path, of mean run times, is no bound
        rests = problem.tails - problem.seconds if equal else np.zeros(n)
        of_groups = Lists.of(labels, np.arange(n), int(labels.max(initial=-1)) + 1)
        return cls(problem.arrays, rests, labels, of_groups, Lists.of(shared.firsts, shared.readers, n))


class _Times(NamedTuple):
    """A simulated schedule."""

    ends: np.ndarray  # (n,) seconds
    free: np.ndarray  # (n + 1, m) seconds from which on each device is free, before each slot


@njit(cache=True, nogil=True)
def walk(
    ground: Ground,
    loads: np.ndarray,
    room: np.ndarray,
    order: np.ndarray,
    placement: np.ndarray,
    temperatures: tuple[float, float],
    moves: int,
    rng: np.random.Generator,
) -> float:
    """Walk, and leave the best schedule of the walk in `order` and `placement`, (n,) int32 each. Returns its makespan.

    loads: (n,) bytes that an operation takes of its device's memory; room: (m,) bytes that are left there, changed in
    place: no move takes more; temperatures: seconds at first and at last.
    """
    graph, rests, readers = ground.graph, ground.rests, ground.readers
    n, m = len(order), len(room)
    best_order, best_placement = order.copy(), placement.copy()
    slots = np.empty(n, np.int64)
    for t in range(n):
        slots[order[t]] = t
    times = _Times(np.empty(n), np.zeros((n + 1, m)))
    trial = _Times(np.empty(n), np.zeros((n + 1, m)))
    current = best = _simulate(graph, order, placement, slots, times, times, 0, np.inf, rests)
    chain, moved, inside = np.empty(n, np.int64), np.empty(n, np.int64), np.zeros(n, np.bool_)
    links = 0  # of the chain; 0: it is not known
    temperature, cooling = temperatures[0], (temperatures[1] / temperatures[0]) ** (1 / max(moves, 1))
    for _ in range(moves):
        temperature *= cooling
        if rng.random() < _CRITICAL:
            if links == 0:
                links = _chain(graph, order, placement, slots, times.ends, chain)
            i = chain[int(rng.random() * links)]
        else:
            i = int(rng.random() * n)
        device = source = target = placement[i]
        count, first = 0, n
        if m == 1 or rng.random() < _SHIFTS:
            source, target = slots[i], _slot(graph, slots, i, rng)
            if source == target:
                continue
            first = min(source, target)
            shift(order, slots, source, target)
        else:
            count, target = _neighbourhood(ground, placement, i, m, moved, inside, rng)
            needed = 0.0
            for k in range(count):
                needed += loads[moved[k]]
                first = min(first, slots[moved[k]])
                for read in range(readers.offsets[moved[k]], readers.offsets[moved[k] + 1]):
                    first = min(first, slots[readers.members[read]])
            if needed > room[target]:
                continue
            for k in range(count):
                placement[moved[k]] = target
        limit = current + temperature * rng.standard_exponential()
        trial.free[first] = times.free[first]
        cost = _simulate(graph, order, placement, slots, times, trial, first, limit, rests)
        if cost <= limit:
            current, links = cost, 0
            for t in range(first, n):
                times.ends[order[t]] = trial.ends[order[t]]
                times.free[t + 1] = trial.free[t + 1]
            for k in range(count):
                room[device] += loads[moved[k]]
                room[target] -= loads[moved[k]]
            if cost < best:
                best, best_order[:], best_placement[:] = cost, order, placement
        elif count:
            for k in range(count):
                placement[moved[k]] = device
        else:
            shift(order, slots, target, source)
    order[:], placement[:] = best_order, best_placement
    return best


@njit(cache=True, nogil=True)
def _simulate(
    graph: GraphArrays,
    order: np.ndarray,
    placement: np.ndarray,
    slots: np.ndarray,
    before: _Times,
    times: _Times,
    first: int,
    limit: float,
    rests: np.ndarray,
) -> float:
    """Makespan of a schedule, as of devices/simulator.py; infinite as soon as it must be above `limit`.

    The slots before `first` are as in `before`; fills `times` from there on, whose row `free[first]` is given. The
    start of an operation is written here as there: by a function that both call, walks took two to three times as long.
    """
    offsets, parents, delays = graph.parent_offsets, graph.parents, graph.delays
    makespan = times.free[first].max()
    for t in range(first, len(order)):
        i = order[t]
        device = placement[i]
        start = times.free[t, device]
        for edge in range(offsets[i], offsets[i + 1]):
            parent = parents[edge]
            arrival = before.ends[parent] if slots[parent] < first else times.ends[parent]
            if placement[parent] != device:
                arrival += delays[link(graph, placement[parent], device), parent]
            start = max(start, arrival)
        for read in range(graph.read_offsets[i], graph.read_offsets[i + 1]):
            home = placement[graph.read_firsts[read]]
            if home != device:
                start = max(start, graph.read_delays[link(graph, home, device), read])
        end = times.ends[i] = start + graph.seconds[graph.kinds[device], i]
        if end + rests[i] > limit:
            return np.inf
        makespan = max(makespan, end)
        times.free[t + 1] = times.free[t]
        times.free[t + 1, device] = end
    return makespan


@njit(cache=True, nogil=True)
def _chain(
    graph: GraphArrays,
    order: np.ndarray,
    placement: np.ndarray,
    slots: np.ndarray,
    ends: np.ndarray,
    chain: np.ndarray,
) -> int:
    """Fill `chain`, from the last operation that ends back to one that waits for none; returns its length."""
    i = int(ends.argmax())
    for length in range(len(order)):
        chain[length] = i
        start = ends[i] - graph.seconds[graph.kinds[placement[i]], i]
        cause = -1
        for edge in range(graph.parent_offsets[i], graph.parent_offsets[i + 1]):
            parent = graph.parents[edge]
            arrival = ends[parent]
            if placement[parent] != placement[i]:
                arrival += graph.delays[link(graph, placement[parent], placement[i]), parent]
            if arrival >= start * (1 - _SAME_TIME):
                cause = parent
        t = slots[i] - 1
        while cause < 0 and t >= 0:
            if placement[order[t]] == placement[i]:
                cause = order[t]
            t -= 1
        if start <= 0.0 or cause < 0:
            return length + 1
        i = cause
    return len(order)


@njit(cache=True, nogil=True)
def _slot(graph: GraphArrays, slots: np.ndarray, i: int, rng: np.random.Generator) -> int:
    """A slot between an operation's last parent and its first child."""
    first, last = 0, len(slots) - 1
    for edge in range(graph.parent_offsets[i], graph.parent_offsets[i + 1]):
        first = max(first, slots[graph.parents[edge]] + 1)
    for edge in range(graph.child_offsets[i], graph.child_offsets[i + 1]):
        last = min(last, slots[graph.children[edge]] - 1)
    return first + int(rng.random() * (last - first + 1))


@njit(cache=True, nogil=True)
def _neighbourhood(
    ground: Ground,
    placement: np.ndarray,
    i: int,
    m: int,
    moved: np.ndarray,
    inside: np.ndarray,
    rng: np.random.Generator,
) -> tuple[int, int]:
    """Fill `moved` with an operation and others of its device that move with it; how many, and the device to move to.

    inside: (n,), all False, as it is left.
    """
    graph, device = ground.graph, placement[i]
    target = (device + 1 + int(rng.random() * (m - 1))) % m
    begin, parents = graph.parent_offsets[i], graph.parent_offsets[i + 1] - graph.parent_offsets[i]
    neighbours = parents + graph.child_offsets[i + 1] - graph.child_offsets[i]
    if neighbours and rng.random() < _NEAR:
        k = int(rng.random() * neighbours)
        j = graph.parents[begin + k] if k < parents else graph.children[graph.child_offsets[i] + k - parents]
        target = placement[j] if placement[j] != device else target
    widest = int(_WIDEST ** rng.random()) if rng.random() < _WIDE else 1
    count = _add(ground, i, moved, inside, 0)
    head = 0
    while head < count < widest:
        j = moved[head]
        for edge in range(graph.parent_offsets[j], graph.parent_offsets[j + 1]):
            parent = graph.parents[edge]
            if count < widest and placement[parent] == device and not inside[parent]:
                count = _add(ground, parent, moved, inside, count)
        for edge in range(graph.child_offsets[j], graph.child_offsets[j + 1]):
            child = graph.children[edge]
            if count < widest and placement[child] == device and not inside[child]:
                count = _add(ground, child, moved, inside, count)
        head += 1
    for k in range(count):
        inside[moved[k]] = False
    return count, target


@njit(cache=True, nogil=True)
def _add(ground: Ground, i: int, moved: np.ndarray, inside: np.ndarray, count: int) -> int:
    """Add an operation with its group to those that move; returns how many these are then."""
    offsets, members = ground.groups
    for k in range(offsets[ground.labels[i]], offsets[ground.labels[i] + 1]):
        moved[count], inside[members[k]] = members[k], True
        count += 1
    return count


@njit(cache=True, nogil=True)
def shift(order: np.ndarray, slots: np.ndarray, source: int, target: int) -> None:
    """Move the operation in slot `source` to slot `target`; those between them move by one slot the other way."""
    i, step = order[source], 1 if target > source else -1
    for t in range(source, target, step):
        order[t] = order[t + step]
        slots[order[t]] = t
    order[target], slots[i] = i, target
