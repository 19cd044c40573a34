"""Compiled loops of fused.py over the ready operations of each of S states; memory is reused from step to step.

All arrays belong to the caller, and most of them share their memory with tensors. Numbers are those of observation.py
and of the head for operations in policy.py, but for rounding. No state depends on the other states of a batch.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from learned_schedulers.graphs.models.observation import (
    ALLOWED_SHARE,
    BEHIND_LONGEST,
    BEHIND_SQUASHED,
    BEST_SHARE,
    DEVICE_EMPTY,
    DEVICE_LATER,
    DEVICE_LATER_CLAMPED,
    DEVICE_REMOVABLE,
    DEVICE_USABLE,
    LATER_SQUASHED,
    LATER_THAN_BEST,
    LATER_THAN_FIRST,
    LATEST_START,
    LEAST_GAP,
    N_STATE,
    PAIR_BEST,
    PAIR_EMPTY,
    PAIR_FREE,
    PAIR_GAP_CLAMPED,
    PAIR_GAP_SQUASHED,
    PAIR_LATER_SQUASHED,
    RUN_TIME,
    SLACK_CLAMPED,
    SLACK_SQUASHED,
    STATE_CRITICAL,
    STATE_IDLE,
    STATE_MAKESPAN,
    STATE_OPERATIONS,
    STATE_READY,
    STATE_READY_SHARE,
    STATE_TAIL,
    STATE_WORK,
)

LANES = 16  # hidden numbers that are summed side by side; the number of them is a multiple of LANES
FEATURES = 11  # of a candidate, N_OPERATION of observation.py
_SCALE, _SHIFT, _OUT = FEATURES * LANES, (FEATURES + 1) * LANES, (FEATURES + 2) * LANES
BLOCK = (FEATURES + 3) * LANES  # of LANES hidden numbers: weights of each feature, then their scale, shift and output
_BEST, _LATEST, _GAP, _TAIL, _END = range(5)  # rows of `starts`, see observe
_MOST = np.float32(5.0)  # as in observation.py
_ZERO, _ONE = np.float32(0), np.float32(1)


class Operations(NamedTuple):
    """The n operations of the graph, GraphArrays first; this tuple is the parameter `graph` of the kernels."""

    parent_offsets: np.ndarray  # (n + 1,)
    parents: np.ndarray  # (E,)
    child_offsets: np.ndarray  # (n + 1,)
    children: np.ndarray  # (E,)
    seconds: np.ndarray  # (n,)
    delays: np.ndarray  # (n,) seconds that a transfer of the result takes
    tails: np.ndarray  # (n,) seconds
    lengths: np.ndarray  # (n,) float32: the feature RUN_TIME, which is the same in all states
    vectors: np.ndarray  # (n, width) float32


class States(NamedTuple):
    """S partial schedules: the memory of an Environment, and numbers that are updated from step to step."""

    waiting: np.ndarray  # (S, n)
    placement: np.ndarray  # (S, n)
    ends: np.ndarray  # (S, n)
    needed: np.ndarray  # (S, n)
    arrivals: np.ndarray  # (S, n, m)
    free: np.ndarray  # (S, m)
    last: np.ndarray  # (S, m)
    now: np.ndarray  # (S,)
    added: np.ndarray  # (S,)
    ready: np.ndarray  # (S, n) int32: the ready operations, ascending, in the first `counts` columns
    counts: np.ndarray  # (S,)
    work: np.ndarray  # (S,) seconds of all operations that are not scheduled
    sums: np.ndarray  # (S, width) float64: sums of their vectors


class Observations(NamedTuple):
    """The numbers of observation.Observation; each state has a row of its own for its candidates."""

    tips: np.ndarray  # (S, m)
    devices: np.ndarray  # (S, m, N_DEVICE) float32
    whole: np.ndarray  # (S, N_STATE + width + 2) float32: of the state; mean unscheduled vector; usable; 1
    counts: np.ndarray  # (S,) number of operations that may be added
    operations: np.ndarray  # (S, n) int32, ascending
    candidates: np.ndarray  # (S, FEATURES, n or a little more) float32


@njit(cache=True, nogil=True, error_model="numpy")
def observe(
    graph: Operations,
    states: States,
    observations: Observations,
    by_start: bool,
    remaining: int,
    unit: float,
    total: float,
) -> None:
    """Fill `observations`. remaining: number of unscheduled operations of a state; unit, total: seconds."""
    m, n = states.free.shape[1], len(graph.seconds)
    # Of each candidate: first and last start, least idle time before it, tail, end of the tail.
    starts = np.empty((5, n))
    for s in range(len(states.free)):
        free, last = states.free[s], states.last[s]
        used, makespan, all_free = 0, 0.0, 0.0
        for d in range(m):
            used += last[d] >= 0
            makespan = max(makespan, free[d])
            all_free += free[d]
        usable = min(used + 1, m)
        count, first, longest, critical = _candidates(graph, states, observations, s, usable, by_start, starts)
        observations.counts[s] = count
        if remaining == 0:
            first, critical, states.work[s] = makespan, makespan, 0.0  # without what rounding left
        _features(graph, observations, s, count, first, longest, critical, 1 / unit, starts)

        idle = 0.0
        for d in range(m):
            numbers = observations.devices[s, d]
            later = (free[d] - first) / unit
            if d < usable and free[d] < first:
                idle += first - free[d]
            numbers[DEVICE_LATER] = _squashed(later)
            numbers[DEVICE_LATER_CLAMPED] = min(max(later, -5.0), 5.0) / 5.0
            numbers[DEVICE_EMPTY] = last[d] < 0
            numbers[DEVICE_USABLE] = d < usable
            numbers[DEVICE_REMOVABLE] = last[d] >= 0 and not states.needed[s, last[d]]
            observations.tips[s, d] = last[d] if last[d] >= 0 else n
        whole = observations.whole[s]
        whole[STATE_WORK] = states.work[s] / total
        whole[STATE_OPERATIONS] = remaining / n
        whole[STATE_READY] = np.log1p(float(count)) / 4
        whole[STATE_READY_SHARE] = min(count, m) / m
        whole[STATE_MAKESPAN] = _squashed((makespan - first) / unit)
        whole[STATE_CRITICAL] = _squashed((critical - (states.work[s] + all_free) / m) / unit)
        whole[STATE_TAIL] = _squashed(longest / unit / 4)
        whole[STATE_IDLE] = _squashed(idle / unit)
        width = states.sums.shape[1]
        for k in range(width):
            whole[N_STATE + k] = states.sums[s, k] / max(remaining, 1)
        whole[N_STATE + width], whole[N_STATE + width + 1] = usable / m, 1.0


@njit(cache=True, nogil=True, error_model="numpy")
def _candidates(
    graph: Operations,
    states: States,
    observations: Observations,
    s: int,
    usable: int,
    by_start: bool,
    starts: np.ndarray,
) -> tuple[int, float, float, float]:
    """Fill `starts`; returns the number of candidates, their first start, longest tail, and last end of a tail."""
    free, last, arrivals, ready = states.free[s], states.last[s], states.arrivals[s], states.ready[s]
    now, added = states.now[s], states.added[s]
    operations = observations.operations[s]
    soonest, allowed = observations.candidates[s, BEST_SHARE], observations.candidates[s, ALLOWED_SHARE]
    share = 1 / len(free)
    count, first, longest, critical = 0, np.inf, 0.0, 0.0
    for r in range(states.counts[s]):
        i = ready[r]
        best, latest, gap, fitting, same = np.inf, 0.0, np.inf, 0, 0
        for d in range(usable):  # no branches, so that it is compiled to vector instructions
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
        tail = graph.tails[i]
        operations[count] = i
        soonest[count], allowed[count] = np.float32(same * share), np.float32(fitting * share)
        starts[_BEST, count], starts[_LATEST, count], starts[_GAP, count] = best, latest, gap
        starts[_TAIL, count], starts[_END, count] = tail, best + tail
        if fitting > 0:
            first = best if best < first else first
            longest = tail if tail > longest else longest
            critical = best + tail if best + tail > critical else critical
            count += 1
    return count, first, longest, critical


@njit(cache=True, nogil=True, error_model="numpy")
def _features(
    graph: Operations,
    observations: Observations,
    s: int,
    count: int,
    first: float,
    longest: float,
    critical: float,
    per_unit: float,
    starts: np.ndarray,
) -> None:
    """Fill all columns of the candidates but BEST_SHARE and ALLOWED_SHARE, in loops of vector instructions."""
    operations, columns = observations.operations[s], observations.candidates[s]
    best, latest, gaps, tails, ends = starts[_BEST], starts[_LATEST], starts[_GAP], starts[_TAIL], starts[_END]
    for r in range(count):
        columns[RUN_TIME, r] = graph.lengths[operations[r]]
    _behind(tails, longest, per_unit, _ONE, count, columns[BEHIND_LONGEST], columns[BEHIND_SQUASHED])
    _behind(ends, critical, per_unit, _MOST, count, columns[SLACK_CLAMPED], columns[SLACK_SQUASHED])
    later, squashed = columns[LATER_THAN_FIRST], columns[LATER_SQUASHED]
    for r in range(count):
        x = np.float32((best[r] - first) * per_unit)
        later[r] = x if x < _MOST else _MOST
        squashed[r] = x / (_ONE + x)
    gap, late = columns[LEAST_GAP], columns[LATEST_START]
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
    """By how much values are below the largest one, `most`."""
    for r in range(count):
        x = np.float32((values[r] - most) * per_unit)
        clamped[r] = (x if x > -_MOST else -_MOST) / unit
        squashed[r] = x / (_ONE - x)


@njit(cache=True, nogil=True, error_model="numpy")
def _squashed(value: float) -> float:
    return value / (1.0 + abs(value))


@njit(cache=True, nogil=True, error_model="numpy")
def listed(observations: Observations, rows: np.ndarray, operations: np.ndarray, candidates: np.ndarray) -> None:
    """Write the candidates of all states one after the other: their state, (R,), operation, (R,), and numbers."""
    r = 0
    for s in range(len(observations.counts)):
        for k in range(observations.counts[s]):
            rows[r], operations[r] = s, observations.operations[s, k]
            for j in range(FEATURES):
                candidates[r, j] = observations.candidates[s, j, k]
            r += 1


@njit(cache=True, nogil=True, error_model="numpy")
def tips(observations: Observations, table: np.ndarray, weights: np.ndarray, hidden: np.ndarray) -> None:
    """The first layer of every device, table + weights . numbers, 0 for a device that is not usable: (S, m, hidden).

    table: (n + 1, hidden); weights: (N_DEVICE, hidden).
    """
    w0, w1, w2, w3, w4 = weights[0], weights[1], weights[2], weights[3], weights[4]
    for s in range(hidden.shape[0]):
        for d in range(hidden.shape[1]):
            numbers, of_tip, out = observations.devices[s, d], table[observations.tips[s, d]], hidden[s, d]
            c0, c1, c2, c3, c4 = numbers[0], numbers[1], numbers[2], numbers[3], numbers[4]
            for j in range(len(out)):
                out[j] = (of_tip[j] + c0 * w0[j] + c1 * w1[j] + c2 * w2[j] + c3 * w3[j] + c4 * w4[j]) * c3


@njit(cache=True, nogil=True, error_model="numpy")
def score(
    observations: Observations,
    table: np.ndarray,
    weights: np.ndarray,
    scales: np.ndarray,
    shifts: np.ndarray,
    contexts: np.ndarray,
    outs: np.ndarray,
    preferences: np.ndarray,
    scores: np.ndarray,
) -> None:
    """Fill `scores`, (S, n): relu((table + weights . candidate + context) * scale + shift) . out + preferences.
    table: (n, hidden); weights: (hidden / LANES, BLOCK), of which those of the FEATURES are filled; scales, shifts,
    contexts, outs: (S, hidden); preferences: (S, 2), for BEHIND_LONGEST and LATER_THAN_FIRST.
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
        count, operations, columns = observations.counts[s], observations.operations[s], observations.candidates[s]
        _hidden_sums(operations, columns, count, table, blocks, sums)
        behind, later = preferences[s, 0], preferences[s, 1]
        for r in range(count):
            value = _ZERO
            for k in range(LANES):
                value += sums[r, k]
            scores[s, r] = value + (behind * columns[BEHIND_LONGEST, r] + later * columns[LATER_THAN_FIRST, r])


@njit(cache=True, nogil=True, error_model="numpy")
def _hidden_sums(
    operations: np.ndarray, columns: np.ndarray, count: int, table: np.ndarray, blocks: np.ndarray, sums: np.ndarray
) -> None:
    """Fill `sums`, (count, LANES): the products of the last layer, each the sum of every LANES-th one."""
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
            w, of_block = blocks[b], of_operation[b * LANES : (b + 1) * LANES]
            for k in range(LANES):  # unrolled over the features, so that it is compiled to vector instructions
                x = of_block[k] + c0 * w[k] + c1 * w[LANES + k] + c2 * w[2 * LANES + k] + c3 * w[3 * LANES + k]
                x = x + c4 * w[4 * LANES + k] + c5 * w[5 * LANES + k] + c6 * w[6 * LANES + k] + c7 * w[7 * LANES + k]
                x = x + c8 * w[8 * LANES + k] + c9 * w[9 * LANES + k] + c10 * w[10 * LANES + k]
                x = x * w[_SCALE + k] + w[_SHIFT + k]
                out[k] += (x if x > _ZERO else _ZERO) * w[_OUT + k]


@njit(cache=True, nogil=True, error_model="numpy")
def draw(scores: np.ndarray, counts: np.ndarray, uniforms: np.ndarray, chosen: np.ndarray) -> None:
    """Fill `chosen`, (S,): an index below counts[s], drawn in proportion to exp(scores[s]) by a uniform number."""
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
    """Fill the numbers of one ready operation of each state, (S,), on all devices.

    pairs: (S, m, N_PAIR) float32; barred: (S, m) float32, -infinity where the operation may not be added, otherwise 0.
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
            row[LATER_THAN_BEST] = min(max(late, 0.0), 5.0)
            row[PAIR_LATER_SQUASHED] = _squashed(late)
            row[PAIR_GAP_CLAMPED] = min(max(gap, 0.0), 5.0) / 5.0
            row[PAIR_GAP_SQUASHED] = _squashed(gap)
            row[PAIR_FREE] = _squashed((free[d] - emptiest) / unit)
            row[PAIR_EMPTY] = last[d] < 0
            row[PAIR_BEST] = late <= 0


@njit(cache=True, nogil=True, error_model="numpy")
def pair_hidden(
    observations: Observations,
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
    """The first layer of one operation on every device, (S, m, hidden): relu of the scaled and shifted sum.

    of_tips: (n + 1, hidden); of_choices: (n, hidden); weights: (N_PAIR, hidden); scales, shifts, contexts: (S, hidden).
    """
    shared = np.empty(hidden.shape[2], np.float32)
    w0, w1, w2, w3, w4, w5, w6 = weights[0], weights[1], weights[2], weights[3], weights[4], weights[5], weights[6]
    for s in range(hidden.shape[0]):
        choice, context, scale, shift = of_choices[operations[s]], contexts[s], scales[s], shifts[s]
        for j in range(len(shared)):
            shared[j] = choice[j] + context[j]
        for d in range(hidden.shape[1]):
            numbers, of_tip, out = pairs[s, d], of_tips[observations.tips[s, d]], hidden[s, d]
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
                x = of_tip[j] + shared[j] + c0 * w0[j] + c1 * w1[j] + c2 * w2[j] + c3 * w3[j]
                out[j] = x + c4 * w4[j] + c5 * w5[j] + c6 * w6[j]
            for j in range(len(out)):
                x = out[j] * scale[j] + shift[j]
                out[j] = max(x, _ZERO)


@njit(cache=True, nogil=True, error_model="numpy")
def add(graph: Operations, states: States, operations: np.ndarray, devices: np.ndarray) -> None:
    """As Environment.step: add a ready operation to a usable device of every state, (S,) each."""
    m = states.free.shape[1]
    for s in range(len(operations)):
        i, device = operations[s], devices[s]
        waiting, arrivals, ready = states.waiting[s], states.arrivals[s], states.ready[s]
        start = max(states.free[s, device], arrivals[i, device])
        end = start + graph.seconds[i]
        states.placement[s, i] = device
        states.ends[s, i] = end
        states.free[s, device] = end
        states.last[s, device] = i
        states.now[s], states.added[s] = start, i
        states.work[s] -= graph.seconds[i]
        for k in range(states.sums.shape[1]):
            states.sums[s, k] -= graph.vectors[i, k]
        waiting[i] = -1
        count = states.counts[s]
        place = np.searchsorted(ready[:count], i)
        count -= 1
        for r in range(place, count):
            ready[r] = ready[r + 1]
        for edge in range(graph.parent_offsets[i], graph.parent_offsets[i + 1]):
            states.needed[s, graph.parents[edge]] = True
        arrives = end + graph.delays[i]
        for edge in range(graph.child_offsets[i], graph.child_offsets[i + 1]):
            child = graph.children[edge]
            for d in range(m):
                arrivals[child, d] = max(arrivals[child, d], end if d == device else arrives)
            waiting[child] -= 1
            if waiting[child] == 0:
                place = count
                while place > 0 and ready[place - 1] > child:
                    ready[place] = ready[place - 1]
                    place -= 1
                ready[place] = child
                count += 1
        states.counts[s] = count
