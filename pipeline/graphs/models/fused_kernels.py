"""What is done for each of S states in fused.py: loops over its ready operations, compiled, with the memory reused.

All arrays belong to the caller, most of them share their memory with tensors. Numbers are those of observation.py and
of the head for operations in reads_once.py, but for rounding. Nothing here depends on the other states of a batch.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

LANES = 16  # hidden numbers that are added up side by side; their count is a multiple of it
FEATURES = 11  # of a candidate, N_OPERATION of observation.py
_SCALE, _SHIFT, _OUT = FEATURES * LANES, (FEATURES + 1) * LANES, (FEATURES + 2) * LANES
BLOCK = (FEATURES + 3) * LANES  # for so many hidden numbers: weights of each feature, then what follows them
_MOST = np.float32(5.0)  # as in observation.py
_ZERO, _ONE = np.float32(0), np.float32(1)


class Operations(NamedTuple):
    """The n operations of the graph."""

    seconds: np.ndarray  # (n,)
    delays: np.ndarray  # (n,) seconds until the result is on another device
    tails: np.ndarray  # (n,) seconds
    lengths: np.ndarray  # (n,) float32: the last feature, which is the same in all states
    child_offsets: np.ndarray  # (n + 1,)
    children: np.ndarray  # (E,)
    parent_offsets: np.ndarray  # (n + 1,)
    parents: np.ndarray  # (E,)
    vectors: np.ndarray  # (n, width) float32


class States(NamedTuple):
    """S partial schedules: the memory of an Environment, and what is kept from step to step beside it."""

    waiting: np.ndarray  # (S, n)
    placement: np.ndarray  # (S, n)
    ends: np.ndarray  # (S, n)
    needed: np.ndarray  # (S, n)
    arrivals: np.ndarray  # (S, n, m)
    free: np.ndarray  # (S, m)
    last: np.ndarray  # (S, m)
    now: np.ndarray  # (S,)
    added: np.ndarray  # (S,)
    ready: np.ndarray  # (S, n) int32: the ready operations, ascending, in the first `counts`
    counts: np.ndarray  # (S,)
    work: np.ndarray  # (S,) seconds of all operations that are left
    sums: np.ndarray  # (S, width) float64: of their vectors


class Seen(NamedTuple):
    """What observation.Observation holds, the candidates of each state in a row of their own."""

    tips: np.ndarray  # (S, m)
    devices: np.ndarray  # (S, m, N_DEVICE) float32
    whole: np.ndarray  # (S, N_STATE + width + 2) float32: of the state; mean vector of what is left; usable; 1
    counts: np.ndarray  # (S,) operations that may be added
    operations: np.ndarray  # (S, n) int32, ascending
    candidates: np.ndarray  # (S, FEATURES, n or a little more) float32


@njit(cache=True, nogil=True, error_model="numpy")
def observe(of: Operations, states: States, seen: Seen, by_start: bool, left: int, unit: float, total: float) -> None:
    """Fill `seen`. left: operations of every state that are not scheduled, at least one; unit, total: seconds."""
    m, n = states.free.shape[1], len(of.seconds)
    starts = np.empty((5, n))  # of each candidate: first and last start, the least idle time before it, its tail's end
    for s in range(len(states.free)):
        free, last = states.free[s], states.last[s]
        used, makespan, all_free = 0, 0.0, 0.0
        for d in range(m):
            used += last[d] >= 0
            makespan = max(makespan, free[d])
            all_free += free[d]
        usable = min(used + 1, m)
        count, first, longest, critical = _candidates(of, states, seen, s, usable, by_start, starts)
        seen.counts[s] = count
        _features(of, seen, s, count, first, longest, critical, 1 / unit, starts)

        idle = 0.0
        for d in range(m):
            of_device = seen.devices[s, d]
            later = (free[d] - first) / unit
            if d < usable and free[d] < first:
                idle += first - free[d]
            of_device[0] = _squashed(later)
            of_device[1] = min(max(later, -5.0), 5.0) / 5.0
            of_device[2] = last[d] < 0
            of_device[3] = d < usable
            of_device[4] = last[d] >= 0 and not states.needed[s, last[d]]
            seen.tips[s, d] = last[d] if last[d] >= 0 else n
        whole = seen.whole[s]
        whole[0] = states.work[s] / total
        whole[1] = left / n
        whole[2] = np.log1p(float(count)) / 4
        whole[3] = min(count, m) / m
        whole[4] = _squashed((makespan - first) / unit)
        whole[5] = _squashed((critical - (states.work[s] + all_free) / m) / unit)
        whole[6] = _squashed(longest / unit / 4)
        whole[7] = _squashed(idle / unit)
        width = states.sums.shape[1]
        for k in range(width):
            whole[8 + k] = states.sums[s, k] / left
        whole[8 + width], whole[9 + width] = usable / m, 1.0


@njit(cache=True, nogil=True, error_model="numpy")
def _candidates(
    of: Operations, states: States, seen: Seen, s: int, usable: int, by_start: bool, starts: np.ndarray
) -> tuple[int, float, float, float]:
    """Fill `starts`; how many there are, their first start, longest tail and last end of a tail."""
    free, last, arrivals, ready = states.free[s], states.last[s], states.arrivals[s], states.ready[s]
    now, added = states.now[s], states.added[s]
    operations, soonest, allowed = seen.operations[s], seen.candidates[s, 7], seen.candidates[s, 8]
    share = 1 / len(free)
    count, first, longest, critical = 0, np.inf, 0.0, 0.0
    for r in range(states.counts[s]):
        i = ready[r]
        best, latest, gap, fitting, same = np.inf, 0.0, np.inf, 0, 0
        for d in range(usable):  # without branches
            start = free[d] if free[d] > arrivals[i, d] else arrivals[i, d]
            fits = not by_start or (start > now) | ((start == now) & ((i > added) | (last[d] == added)))
            gap = start - free[d] if fits & (start - free[d] < gap) else gap
            latest = start if fits & (start > latest) else latest
            best = start if fits & (start < best) else best
            fitting += fits
        for d in range(usable):
            start = free[d] if free[d] > arrivals[i, d] else arrivals[i, d]
            fits = not by_start or (start > now) | ((start == now) & ((i > added) | (last[d] == added)))
            same += fits & (start == best)
        tail = of.tails[i]
        operations[count] = i
        soonest[count], allowed[count] = np.float32(same * share), np.float32(fitting * share)
        starts[0, count], starts[1, count], starts[2, count] = best, latest, gap
        starts[3, count], starts[4, count] = tail, best + tail
        if fitting > 0:
            first = best if best < first else first
            longest = tail if tail > longest else longest
            critical = best + tail if best + tail > critical else critical
            count += 1
    return count, first, longest, critical


@njit(cache=True, nogil=True, error_model="numpy")
def _features(
    of: Operations,
    seen: Seen,
    s: int,
    count: int,
    first: float,
    longest: float,
    critical: float,
    per_unit: float,
    starts: np.ndarray,
) -> None:
    """Fill the candidates' numbers but for two, in loops that are compiled to vector instructions."""
    operations, columns = seen.operations[s], seen.candidates[s]
    best, latest, gaps, tails, ends = starts[0], starts[1], starts[2], starts[3], starts[4]
    for r in range(count):
        columns[10, r] = of.lengths[operations[r]]
    _behind(tails, longest, per_unit, _ONE, count, columns[0], columns[2])
    _behind(ends, critical, per_unit, _MOST, count, columns[5], columns[4])
    later, squashed = columns[1], columns[3]
    for r in range(count):
        x = np.float32((best[r] - first) * per_unit)
        later[r] = x if x < _MOST else _MOST
        squashed[r] = x / (_ONE + x)
    gap, late = columns[6], columns[9]
    for r in range(count):
        x = np.float32(gaps[r] * per_unit)
        gap[r] = x / (_ONE + x)
    for r in range(count):
        x = np.float32((latest[r] - best[r]) * per_unit)
        late[r] = x / (_ONE + x)


@njit(cache=True, nogil=True, error_model="numpy")
def _behind(
    values: np.ndarray,
    most: float,
    per_unit: float,
    unit: np.float32,
    count: int,
    clamped: np.ndarray,
    squashed: np.ndarray,
) -> None:
    """What values lack to the largest one."""
    for r in range(count):
        x = np.float32((values[r] - most) * per_unit)
        clamped[r] = (x if x > -_MOST else -_MOST) / unit
        squashed[r] = x / (_ONE - x)


@njit(cache=True, nogil=True, error_model="numpy")
def _squashed(value: float) -> float:
    return value / (1.0 + abs(value))


@njit(cache=True, nogil=True, error_model="numpy")
def tips(seen: Seen, table: np.ndarray, weights: np.ndarray, hidden: np.ndarray) -> None:
    """The first layer of every device, table + weights . numbers, zeros where it is not usable: (S, m, hidden).

    table: (n + 1, hidden); weights: (N_DEVICE, hidden).
    """
    w0, w1, w2, w3, w4 = weights[0], weights[1], weights[2], weights[3], weights[4]
    for s in range(hidden.shape[0]):
        for d in range(hidden.shape[1]):
            numbers, own, out = seen.devices[s, d], table[seen.tips[s, d]], hidden[s, d]
            c0, c1, c2, c3, c4 = numbers[0], numbers[1], numbers[2], numbers[3], numbers[4]
            for j in range(len(out)):
                out[j] = (own[j] + c0 * w0[j] + c1 * w1[j] + c2 * w2[j] + c3 * w3[j] + c4 * w4[j]) * c3


@njit(cache=True, nogil=True, error_model="numpy")
def score(
    seen: Seen,
    table: np.ndarray,
    weights: np.ndarray,
    scales: np.ndarray,
    shifts: np.ndarray,
    contexts: np.ndarray,
    outs: np.ndarray,
    preferences: np.ndarray,
    scores: np.ndarray,
) -> None:
    """Scores of all candidates, (S, n): relu((table + weights . candidate + context) * scale + shift) . out, and more.

    table: (n, hidden); weights: (hidden / LANES, BLOCK), those of the FEATURES filled; scales, shifts, contexts, outs:
    (S, hidden); preferences: (S, 2), of the first two features.
    """
    blocks = weights.copy()
    sums = np.empty((scores.shape[1], LANES), np.float32)
    for s in range(len(scores)):
        for b in range(len(blocks)):
            for k in range(LANES):
                j = b * LANES + k
                blocks[b, _SCALE + k] = scales[s, j]
                blocks[b, _SHIFT + k] = shifts[s, j] + scales[s, j] * contexts[s, j]
                blocks[b, _OUT + k] = outs[s, j]
        count, operations, columns = seen.counts[s], seen.operations[s], seen.candidates[s]
        _hidden_sums(operations, columns, count, table, blocks, sums)
        behind, later = preferences[s, 0], preferences[s, 1]
        for r in range(count):
            value = _ZERO
            for k in range(LANES):
                value += sums[r, k]
            scores[s, r] = value + (behind * columns[0, r] + later * columns[1, r])


@njit(cache=True, nogil=True, error_model="numpy")
def _hidden_sums(
    operations: np.ndarray, columns: np.ndarray, count: int, table: np.ndarray, blocks: np.ndarray, sums: np.ndarray
) -> None:
    """The last layer's products, every LANES-th added up: (count, LANES)."""
    for r in range(count):
        of_operation, out = table[operations[r]], sums[r]
        c0, c1, c2, c3, c4, c5 = (
            columns[0, r],
            columns[1, r],
            columns[2, r],
            columns[3, r],
            columns[4, r],
            columns[5, r],
        )
        c6, c7, c8, c9, c10 = columns[6, r], columns[7, r], columns[8, r], columns[9, r], columns[10, r]
        for k in range(LANES):
            out[k] = _ZERO
        for b in range(len(blocks)):
            w, own = blocks[b], of_operation[b * LANES : (b + 1) * LANES]
            for k in range(LANES):  # written out, so that it is compiled to vector instructions
                x = own[k] + c0 * w[k] + c1 * w[LANES + k] + c2 * w[2 * LANES + k] + c3 * w[3 * LANES + k]
                x = x + c4 * w[4 * LANES + k] + c5 * w[5 * LANES + k] + c6 * w[6 * LANES + k] + c7 * w[7 * LANES + k]
                x = x + c8 * w[8 * LANES + k] + c9 * w[9 * LANES + k] + c10 * w[10 * LANES + k]
                x = x * w[_SCALE + k] + w[_SHIFT + k]
                out[k] += (x if x > _ZERO else _ZERO) * w[_OUT + k]


@njit(cache=True, nogil=True, error_model="numpy")
def draw(scores: np.ndarray, counts: np.ndarray, uniforms: np.ndarray, chosen: np.ndarray) -> None:
    """An index below counts[s] for each row of scores, in proportion to exp(score): (S,), by a number of [0, 1)."""
    sums = np.empty(scores.shape[1])
    for s in range(len(scores)):
        most = scores[s, 0]
        for r in range(1, counts[s]):
            most = scores[s, r] if scores[s, r] > most else most
        total = 0.0
        for r in range(counts[s]):
            total += np.exp(float(scores[s, r]) - most)
            sums[r] = total
        index = 0
        while sums[index] <= uniforms[s] * total and sums[index] < total:
            index += 1
        chosen[s] = index


@njit(cache=True, nogil=True, error_model="numpy")
def pair(
    states: States, by_start: bool, unit: float, operations: np.ndarray, pairs: np.ndarray, barred: np.ndarray
) -> None:
    """The pair numbers of a ready operation of each state, (S,), on all devices.

    pairs: (S, m, N_PAIR) float32; barred: (S, m) float32, -infinity where it may not be added, 0 elsewhere.
    """
    m = states.free.shape[1]
    starts = np.empty(m)
    for s in range(len(operations)):
        i, free, last, arrivals = operations[s], states.free[s], states.last[s], states.arrivals[s, operations[s]]
        now, added = states.now[s], states.added[s]
        used, best, emptiest = 0, np.inf, np.inf
        for d in range(m):
            used += last[d] >= 0
        for d in range(m):
            starts[d] = max(free[d], arrivals[d])
            emptiest = min(emptiest, free[d])
            fits = d <= used
            if by_start:
                fits &= starts[d] > now or (starts[d] == now and (i > added or last[d] == added))
            barred[s, d] = 0.0 if fits else -np.inf
            if fits:
                best = min(best, starts[d])
        for d in range(m):
            row, late, gap = pairs[s, d], (starts[d] - best) / unit, (starts[d] - free[d]) / unit
            row[0] = min(max(late, 0.0), 5.0)
            row[1] = _squashed(late)
            row[2] = min(max(gap, 0.0), 5.0) / 5.0
            row[3] = _squashed(gap)
            row[4] = _squashed((free[d] - emptiest) / unit)
            row[5] = last[d] < 0
            row[6] = late <= 0


@njit(cache=True, nogil=True, error_model="numpy")
def pair_hidden(
    seen: Seen,
    operations: np.ndarray,
    pairs: np.ndarray,
    of_tips: np.ndarray,
    of_choices: np.ndarray,
    weights: np.ndarray,
    scales: np.ndarray,
    shifts: np.ndarray,
    contexts: np.ndarray,
    hidden: np.ndarray,
) -> None:
    """The first layer of an operation on every device, (S, m, hidden): relu of the scaled and shifted sum.

    of_tips: (n + 1, hidden); of_choices: (n, hidden); weights: (N_PAIR, hidden); scales, shifts, contexts: (S, hidden).
    """
    shared = np.empty(hidden.shape[2], np.float32)
    w0, w1, w2, w3, w4, w5, w6 = weights[0], weights[1], weights[2], weights[3], weights[4], weights[5], weights[6]
    for s in range(hidden.shape[0]):
        choice, context, scale, shift = of_choices[operations[s]], contexts[s], scales[s], shifts[s]
        for j in range(len(shared)):
            shared[j] = choice[j] + context[j]
        for d in range(hidden.shape[1]):
            numbers, own, out = pairs[s, d], of_tips[seen.tips[s, d]], hidden[s, d]
            c0, c1, c2, c3, c4, c5, c6 = (
                numbers[0],
                numbers[1],
                numbers[2],
                numbers[3],
                numbers[4],
                numbers[5],
                numbers[6],
            )
            for j in range(len(out)):
                x = own[j] + shared[j] + c0 * w0[j] + c1 * w1[j] + c2 * w2[j] + c3 * w3[j]
                out[j] = x + c4 * w4[j] + c5 * w5[j] + c6 * w6[j]
            for j in range(len(out)):
                x = out[j] * scale[j] + shift[j]
                out[j] = max(x, _ZERO)


@njit(cache=True, nogil=True, error_model="numpy")
def add(of: Operations, states: States, operations: np.ndarray, devices: np.ndarray) -> None:
    """As Environment.step: add a ready operation to a usable device of every state, (S,) each."""
    m = states.free.shape[1]
    for s in range(len(operations)):
        i, device = operations[s], devices[s]
        waiting, arrivals, ready = states.waiting[s], states.arrivals[s], states.ready[s]
        start = max(states.free[s, device], arrivals[i, device])
        end = start + of.seconds[i]
        states.placement[s, i] = device
        states.ends[s, i] = end
        states.free[s, device] = end
        states.last[s, device] = i
        states.now[s], states.added[s] = start, i
        states.work[s] -= of.seconds[i]
        for k in range(states.sums.shape[1]):
            states.sums[s, k] -= of.vectors[i, k]
        waiting[i] = -1
        count = states.counts[s]
        at = np.searchsorted(ready[:count], i)
        count -= 1
        for r in range(at, count):
            ready[r] = ready[r + 1]
        for edge in range(of.parent_offsets[i], of.parent_offsets[i + 1]):
            states.needed[s, of.parents[edge]] = True
        arrives = end + of.delays[i]
        for edge in range(of.child_offsets[i], of.child_offsets[i + 1]):
            child = of.children[edge]
            for d in range(m):
                arrivals[child, d] = max(arrivals[child, d], end if d == device else arrives)
            waiting[child] -= 1
            if waiting[child] == 0:
                at = count
                while at > 0 and ready[at - 1] > child:
                    ready[at] = ready[at - 1]
                    at -= 1
                ready[at] = child
                count += 1
        states.counts[s] = count
