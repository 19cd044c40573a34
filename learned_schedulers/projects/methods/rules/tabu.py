"""Tabu search among the sequences of a job-shop's machines: the inner loop of `tabu_search`.

A move takes an operation of a critical block, which is a run of neighbours on a machine along a longest path, to the
block's begin or end, or the first or the last one into the block: the neighbourhood N6 of Balas and Vazacopoulos (1998)
with the moves that Zhang et al. (2007) add. Its makespan is estimated by the operations between the two places alone,
as Balas and Vazacopoulos do. The best move is made that brings back no pair of operations that a late move has turned
round, unless it promises the best schedule of all.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from learned_schedulers.projects.problem import Project

_LEAST_TENURE, _SPREAD = 10.0, 1.5  # moves for which a turned pair stays, and its most over its least


class Shop(NamedTuple):
    """n operations of chains, the jobs, each on one machine; -1: no operation."""

    durations: np.ndarray  # (n,) int64
    before: np.ndarray  # (n,) int64: the operation before in the job
    behind: np.ndarray  # (n,) int64: the operation behind in the job
    machines: np.ndarray  # (n,) int64
    places: np.ndarray  # (n,) int64: the operation's number among those of its machine

    @classmethod
    def of(cls, project: Project) -> Shop | None:
        """None if activities are not in chains, or one needs more than one machine."""
        n = len(project)
        if (np.bincount(project.targets, minlength=n) > 1).any() or (np.diff(project.offsets) > 1).any():
            return None
        if (project.demands.sum(1) > 1).any() or (project.capacities[project.demands.any(0)] != 1).any():
            return None
        before, behind = np.full((2, n), -1)
        before[project.targets], behind[project.sources] = project.sources, project.targets
        machines = len(project.capacities) + np.arange(n)  # what needs nothing has a machine of its own
        users, needed = np.nonzero(project.demands)
        machines[users] = needed
        by_machine = np.argsort(machines, kind="stable")
        firsts = np.searchsorted(machines[by_machine], machines[by_machine])
        places = np.empty(n, np.int64)
        places[by_machine] = np.arange(n) - firsts
        return cls(project.durations, before, behind, machines, places)


class _State(NamedTuple):
    """A schedule in which nothing can start earlier."""

    order: np.ndarray  # (n,) int64: all operations, each behind those that it waits for
    slots: np.ndarray  # (n,) int64: its inverse
    before: np.ndarray  # (n,) int64: the operation before on the machine
    behind: np.ndarray  # (n,) int64
    heads: np.ndarray  # (n,) int64: starts
    tails: np.ndarray  # (n,) int64: from an operation's start to the end of all


@njit(cache=True, nogil=True)
def improve(
    shop: Shop, order: np.ndarray, starts: np.ndarray, patience: int, work: int, rng: np.random.Generator
) -> int:
    """Leave the best schedule in `starts`, (n,) int64, and all operations by their starts in `order`, (n,) int64.

    order: at first any order of all operations that keeps the jobs', which machines follow; patience: moves without a
    better schedule until it ends; work: operations that are visited at most, about. Returns those that were.
    """
    n, most, machines = len(order), shop.places.max() + 1, shop.machines.max() + 1
    state = _state(shop, order, machines)
    visited, least = 2 * n, state.tails.max()
    best = order.copy()
    starts[:] = state.heads
    tenure = _LEAST_TENURE + most / machines
    until = np.zeros((n, most), np.int64)  # of operation i before the one at place p of its machine: the move
    path, sequence, scratch = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    moves = np.empty((4 * n, 3), np.int64)
    number = last_better = 0
    while visited < work and number - last_better < patience:
        number += 1
        links = _critical(shop, state, path, rng)
        count = _neighbours(shop, path[:links], moves)
        chosen, estimated = _best(shop, state, moves[:count], until, number, least, sequence, scratch, rng)
        visited += links + estimated
        if chosen < 0:
            break  # one job or machine alone is critical: nothing is shorter
        u, v, forwards = moves[chosen, 0], moves[chosen, 1], moves[chosen, 2] == 1
        length = _sequence(state, u, v, forwards, sequence)
        ends = number + int(tenure * (1 + (_SPREAD - 1) * rng.random()))
        for k in range(length):
            i = sequence[k]
            if forwards and i != u:
                until[u, shop.places[i]] = ends
            elif not forwards and i != v:
                until[i, shop.places[v]] = ends
        first, final = state.slots[u], state.slots[v]
        _move(shop, state, u, v, forwards, sequence[:length], scratch)
        _heads(shop, state, first)
        _tails(shop, state, final)
        visited += n + final - first
        makespan = state.tails.max()
        if makespan < least:
            least, last_better = makespan, number
            best[:] = order
            starts[:] = state.heads
    order[:] = best[np.argsort(starts[best], kind="mergesort")]
    return visited


@njit(cache=True, nogil=True)
def _state(shop: Shop, order: np.ndarray, machines: int) -> _State:
    """The schedule of an order, which it keeps and changes."""
    n = len(order)
    nothing, last = np.full(n, -1, np.int64), np.full(machines, -1, np.int64)
    state = _State(order, np.empty(n, np.int64), nothing, nothing.copy(), np.zeros(n, np.int64), np.zeros(n, np.int64))
    for t in range(n):
        i = order[t]
        state.slots[i] = t
        previous = last[shop.machines[i]]
        state.before[i] = previous
        if previous >= 0:
            state.behind[previous] = i
        last[shop.machines[i]] = i
    _heads(shop, state, 0)
    _tails(shop, state, n - 1)
    return state


@njit(cache=True, nogil=True)
def _heads(shop: Shop, state: _State, first: int) -> None:
    """Heads of the operations from a slot on."""
    for t in range(first, len(state.order)):
        i = state.order[t]
        head = 0
        for other in (shop.before[i], state.before[i]):
            if other >= 0:
                head = max(head, state.heads[other] + shop.durations[other])
        state.heads[i] = head


@njit(cache=True, nogil=True)
def _tails(shop: Shop, state: _State, final: int) -> None:
    """Tails of the operations up to a slot."""
    for t in range(final, -1, -1):
        i = state.order[t]
        tail = 0
        for other in (shop.behind[i], state.behind[i]):
            if other >= 0:
                tail = max(tail, state.tails[other])
        state.tails[i] = tail + shop.durations[i]


@njit(cache=True, nogil=True)
def _critical(shop: Shop, state: _State, path: np.ndarray, rng: np.random.Generator) -> int:
    """Leave a longest path, drawn where there are several, in `path`, (n,) int64. Returns its length."""
    links, i, ties, most = 0, -1, 0, state.tails.max()
    for first in range(len(path)):
        if state.heads[first] == 0 and state.tails[first] == most:
            ties += 1
            if rng.random() * ties < 1:
                i = first
    while i >= 0:
        path[links] = i
        links += 1
        rest = state.tails[i] - shop.durations[i]
        in_job, on_machine = shop.behind[i], state.behind[i]
        by_job = in_job >= 0 and state.tails[in_job] == rest and rest > 0
        by_machine = on_machine >= 0 and state.tails[on_machine] == rest and rest > 0
        if by_job and by_machine:
            by_job = rng.random() < 0.5
        i = in_job if by_job else on_machine if by_machine else -1
    return links


@njit(cache=True, nogil=True)
def _neighbours(shop: Shop, path: np.ndarray, moves: np.ndarray) -> int:
    """List the moves (u, v, forwards) in `moves`: u, which is before v on its machine, goes behind it; or v before u.

    What begins or ends the longest path cannot gain by another begin or end. Returns how many there are.
    """
    count, links, first = 0, len(path), 0
    while first < links:
        final = first
        while final + 1 < links and shop.machines[path[final + 1]] == shop.machines[path[first]]:
            final += 1
        for k in range(first, final + 1):
            inside = first < k < final
            if final < links - 1:
                if k < final:
                    moves[count] = path[k], path[final], 1
                    count += 1
                if inside:
                    moves[count] = path[k], path[final], 0
                    count += 1
            if first > 0:
                if k > first:
                    moves[count] = path[first], path[k], 0
                    count += 1
                if inside:
                    moves[count] = path[first], path[k], 1
                    count += 1
        first = final + 1
    return count


@njit(cache=True, nogil=True)
def _best(
    shop: Shop,
    state: _State,
    moves: np.ndarray,
    until: np.ndarray,
    number: int,
    least: int,
    sequence: np.ndarray,
    scratch: np.ndarray,
    rng: np.random.Generator,
) -> tuple[int, int]:
    """The best of the moves that are allowed, or any if none is; -1 if there is none. And the operations visited.

    least: the makespan below which nothing is forbidden; sequence, scratch: (n,) int64.
    """
    chosen, drawn, cost, ties, possible, visited = -1, -1, 1 << 62, 0, 0, 0
    for k in range(len(moves)):
        u, v, forwards = moves[k, 0], moves[k, 1], moves[k, 2] == 1
        if not _keeps(shop, state, u, v, forwards):
            continue
        length = _sequence(state, u, v, forwards, sequence)
        makespan = _estimate(shop, state, u, v, sequence[:length], scratch)
        visited += length
        possible += 1
        if rng.random() * possible < 1:
            drawn = k
        allowed = makespan < least or not _forbidden(shop, u, v, sequence[:length], forwards, until, number)
        if makespan <= cost and allowed:
            ties = ties + 1 if makespan == cost else 1
            if rng.random() * ties < 1:
                chosen = k
            cost = makespan
    return (drawn if chosen < 0 else chosen), visited


@njit(cache=True, nogil=True)
def _keeps(shop: Shop, state: _State, u: int, v: int, forwards: bool) -> bool:
    """Whether a move is known to close no cycle (Balas and Vazacopoulos 1998, propositions 2.2 and 2.3).

    With an operation that takes no time, equal paths prove nothing.
    """
    if forwards:
        other = shop.behind[u]
        if other < 0 or state.tails[v] > state.tails[other]:
            return True
        return state.tails[v] == state.tails[other] and shop.durations[other] > 0
    other = shop.before[v]
    if other < 0:
        return True
    end, end_of_other = state.heads[u] + shop.durations[u], state.heads[other] + shop.durations[other]
    return end > end_of_other or (end == end_of_other and shop.durations[other] > 0)


@njit(cache=True, nogil=True)
def _sequence(state: _State, u: int, v: int, forwards: bool, sequence: np.ndarray) -> int:
    """Leave the operations from u to v in `sequence`, (n,) int64, as they follow each other after the move."""
    length = 0
    if not forwards:
        sequence[0] = v
        length = 1
    each = state.behind[u] if forwards else u
    last = v if forwards else state.before[v]
    while True:
        sequence[length] = each
        length += 1
        if each == last:
            break
        each = state.behind[each]
    if forwards:
        sequence[length] = u
        length += 1
    return length


@njit(cache=True, nogil=True)
def _estimate(shop: Shop, state: _State, u: int, v: int, sequence: np.ndarray, ready: np.ndarray) -> int:
    """The longest path through a new sequence of the operations from u to v, about. ready: (n,) int64, scratch."""
    durations, longest = shop.durations, 0
    before, behind = state.before[u], state.behind[v]
    free = state.heads[before] + durations[before] if before >= 0 else 0
    for k in range(len(sequence)):
        i = sequence[k]
        other = shop.before[i]
        if other >= 0:
            free = max(free, state.heads[other] + durations[other])
        ready[k] = free
        free += durations[i]
    rest = state.tails[behind] if behind >= 0 else 0
    for k in range(len(sequence) - 1, -1, -1):
        i = sequence[k]
        other = shop.behind[i]
        if other >= 0:
            rest = max(rest, state.tails[other])
        rest += durations[i]
        longest = max(longest, ready[k] + rest)
    return longest


@njit(cache=True, nogil=True)
def _forbidden(shop: Shop, u: int, v: int, sequence: np.ndarray, forwards: bool, until: np.ndarray, now: int) -> bool:
    """Whether a move brings a pair back that was turned round lately."""
    for k in range(len(sequence)):
        i = sequence[k]
        if forwards and i != u and until[i, shop.places[u]] > now:
            return True
        if not forwards and i != v and until[v, shop.places[i]] > now:
            return True
    return False


@njit(cache=True, nogil=True)
def _move(shop: Shop, state: _State, u: int, v: int, forwards: bool, sequence: np.ndarray, scratch: np.ndarray) -> None:
    """Make a move that closes no cycle: the machine follows `sequence`, and what depends on the moved one goes with it.

    scratch: (n,) int64.
    """
    first, final = state.slots[u], state.slots[v]
    previous, last = state.before[u], state.behind[v]
    for k in range(len(sequence)):
        i = sequence[k]
        state.before[i] = previous
        if previous >= 0:
            state.behind[previous] = i
        previous = i
    state.behind[previous] = last
    if last >= 0:
        state.before[last] = previous
    # Between the two, what goes with the moved one keeps its sequence, and so does the rest.
    if forwards:
        staying = going = 0
        for t in range(first, final + 1):
            i = state.order[t]
            if i == u or _goes(state, shop.before[i]) or _goes(state, state.before[i]):
                scratch[going] = i
                going += 1
                state.slots[i] = -1
            else:
                state.order[first + staying] = i
                staying += 1
        for k in range(going):
            state.order[first + staying + k] = scratch[k]
    else:
        staying = going = 0
        for t in range(final, first - 1, -1):
            i = state.order[t]
            if i == v or _goes(state, shop.behind[i]) or _goes(state, state.behind[i]):
                scratch[going] = i
                going += 1
                state.slots[i] = -1
            else:
                state.order[final - staying] = i
                staying += 1
        for k in range(going):
            state.order[first + k] = scratch[going - 1 - k]
    for t in range(first, final + 1):
        state.slots[state.order[t]] = t


@njit(cache=True, nogil=True)
def _goes(state: _State, other: int) -> bool:
    """Whether another operation goes with the moved one: it has no slot for now."""
    return other >= 0 and state.slots[other] < 0
