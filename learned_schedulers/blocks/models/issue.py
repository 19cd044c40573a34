"""Issue a block's instructions one by one: the features of the ready instructions at every step.

During scheduling there is more information than in the block alone: the last instructions, the results that are not
available yet, the other ready instructions. `decisions` follows a given order and returns the features at each step
with a choice; the decoders (`greedy`, `decoders/beam`) issue by a trained network's scores. Both call `observe`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from learned_schedulers.blocks.problems.problems import Problems
from learned_schedulers.blocks.problems.relations import ADDRESS_START, PAIR, SAME_START, Relations, delay

WIDTH = 3  # instructions per cycle: GCC's ix86_issue_rate for generic tuning
# Features of a ready instruction at one step: name -> number of categories; the last one includes all greater numbers.
STEP_FEATURES = {
    "slots_since_conflict": 10,  # since the issue of the last conflicting instruction; 0: there is none
    "conflict_with_last": 512,
    "conflict_with_last_but_one": 512,
    "stall": 12,  # cycles until its operands are available, from -3
    "below_highest": 20,  # cycles between its height and the largest height of a ready instruction
    "ready": 10,  # number of ready instructions
    "address_of_last": PAIR["address"],
    "same_as_last": PAIR["same"],
    "frees": 6,  # instructions that wait for this one alone
    "issued": 10,
    "to_issue": 12,
}
(
    _SLOTS_SINCE_CONFLICT,
    _CONFLICT_WITH_LAST,
    _CONFLICT_WITH_LAST_BUT_ONE,
    _STALL,
    _BELOW_HIGHEST,
    _READY,
    _ADDRESS_OF_LAST,
    _SAME_AS_LAST,
    _FREES,
    _ISSUED,
    _TO_ISSUE,
) = range(len(STEP_FEATURES))
_SIZES = np.array(list(STEP_FEATURES.values()), np.int64)
_STARTS = np.cumsum(_SIZES) - _SIZES
N_STEP_CATEGORIES = int(_SIZES.sum())
_EARLIEST_STALL = -3
_PAIR_ADDRESS, _PAIR_SAME = (list(PAIR).index(name) for name in ("address", "same"))  # columns of `pairs`
CYCLE, IN_CYCLE, LAST, LAST_BUT_ONE = range(4)  # entries of a clock


class BlockArrays(NamedTuple):
    """What the kernels read of B blocks, as in Problems and Relations; of one block without the leading B."""

    precedes: np.ndarray  # (B, n, n) bool
    conflicts: np.ndarray  # (B, n, n) uint16
    latencies: np.ndarray  # (B, n) int16
    pairs: np.ndarray  # (B, n, n, 5) int64
    heights: np.ndarray  # (B, n) int64


class Progress(NamedTuple):
    """How far the issue of one block is."""

    waiting: np.ndarray  # (n,) int64: predecessors that are not issued; -1 for an instruction that is issued itself
    slot: np.ndarray  # (n,) int64: -1 if not issued
    start: np.ndarray  # (n,) int64: cycle in which the operands are available
    clock: np.ndarray  # (4,) int64: present cycle, instructions issued in it, last one, last but one (-1 for none)


class Decisions(NamedTuple):
    """Steps of B blocks at which more than one instruction was ready: S steps, C ready instructions in total."""

    features: np.ndarray  # (C, 11) int64 in 0..N_STEP_CATEGORIES, columns STEP_FEATURES
    instruction: np.ndarray  # (C,) int64: b * n + i
    step: np.ndarray  # (C,) int64: rising
    chosen: np.ndarray  # (S,) int64: row in C of the issued instruction
    last: np.ndarray  # (S,) int64: b * n + i of the instruction issued before; -1 for none
    last_but_one: np.ndarray  # (S,) int64


def decisions(problems: Problems, related: Relations, order: np.ndarray) -> Decisions:
    """The features at every step with a choice, in legal orders (B, n)."""
    return _follow(block_arrays(problems, related), np.ascontiguousarray(order, np.int64))


def block_arrays(problems: Problems, related: Relations) -> BlockArrays:
    """The arrays of a batch for the kernels."""
    return BlockArrays(problems.precedes, problems.conflicts, problems.latencies, related.pairs, related.heights)


@njit(cache=True, nogil=True)
def one_block(blocks: BlockArrays, b: int) -> BlockArrays:
    """Block b of a batch."""
    return BlockArrays(blocks.precedes[b], blocks.conflicts[b], blocks.latencies[b], blocks.pairs[b], blocks.heights[b])


@njit(cache=True, nogil=True)
def new_progress(n: int) -> Progress:
    """Uninitialised arrays for n instructions; `begin` fills them."""
    return Progress(np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64), np.empty(4, np.int64))


@njit(cache=True, nogil=True)
def begin(precedes: np.ndarray, progress: Progress) -> None:
    """Set the state before the first step of a block; precedes: (n, n)."""
    waiting, slot, start, clock = progress
    n = len(waiting)
    for k in range(n):
        waiting[k] = 0
        for i in range(n):
            waiting[k] += precedes[i, k]
        slot[k] = -1
        start[k] = 0
    clock[CYCLE] = clock[IN_CYCLE] = 0
    clock[LAST] = clock[LAST_BUT_ONE] = -1


@njit(cache=True, nogil=True)
def issue(i: int, t: int, block: BlockArrays, progress: Progress) -> None:
    """Put instruction i of a block into slot t."""
    precedes, conflicts, latencies = block.precedes, block.conflicts, block.latencies
    waiting, slot, start, clock = progress
    if start[i] > clock[CYCLE]:
        clock[CYCLE], clock[IN_CYCLE] = start[i], 0
    elif clock[IN_CYCLE] >= WIDTH:
        clock[CYCLE], clock[IN_CYCLE] = clock[CYCLE] + 1, 0
    clock[IN_CYCLE] += 1
    clock[LAST_BUT_ONE], clock[LAST] = clock[LAST], i
    slot[i] = t
    waiting[i] = -1
    for k in range(len(waiting)):
        if conflicts[i, k]:
            start[k] = max(start[k], clock[CYCLE] + delay(conflicts[i, k], latencies[i]))
        waiting[k] -= precedes[i, k]


@njit(cache=True, nogil=True, inline="always")  # a call would count references to every array of the tuples
def observe(
    k: int, t: int, ready: int, highest: int, block: BlockArrays, progress: Progress, features: np.ndarray
) -> None:
    """Fill `features` (11,) of the ready instruction k at step t.

    ready: number of ready instructions; highest: the largest height among them.
    """
    precedes, conflicts, pairs = block.precedes, block.conflicts, block.pairs
    waiting, slot, start, clock = progress
    n = len(waiting)
    latest, frees = -1, 0
    for i in range(n):
        if conflicts[i, k]:
            latest = max(latest, slot[i])
        if precedes[k, i] and waiting[i] == 1:
            frees += 1
    last, last_but_one = clock[LAST], clock[LAST_BUT_ONE]
    features[_SLOTS_SINCE_CONFLICT] = 0 if latest < 0 else t - latest
    features[_CONFLICT_WITH_LAST] = 0 if last < 0 else conflicts[last, k]
    features[_CONFLICT_WITH_LAST_BUT_ONE] = 0 if last_but_one < 0 else conflicts[last_but_one, k]
    features[_STALL] = max(start[k] - clock[CYCLE], _EARLIEST_STALL) - _EARLIEST_STALL
    features[_BELOW_HIGHEST] = highest - block.heights[k]
    features[_READY] = ready
    features[_ADDRESS_OF_LAST] = 0 if last < 0 else pairs[last, k, _PAIR_ADDRESS] - ADDRESS_START
    features[_SAME_AS_LAST] = 0 if last < 0 else pairs[last, k, _PAIR_SAME] - SAME_START
    features[_FREES] = frees
    features[_ISSUED] = t
    features[_TO_ISSUE] = n - t
    for feature in range(len(_STARTS)):
        features[feature] = _STARTS[feature] + min(features[feature], _SIZES[feature] - 1)


@njit(cache=True, nogil=True)
def _follow(blocks: BlockArrays, order: np.ndarray) -> Decisions:
    size, n = order.shape
    room = 4 * size * n + n
    features = np.empty((room, len(_STARTS)), np.int64)
    instruction, step = np.empty(room, np.int64), np.empty(room, np.int64)
    chosen, last, last_but_one = (
        np.empty(size * n, np.int64),
        np.empty(size * n, np.int64),
        np.empty(size * n, np.int64),
    )
    progress = new_progress(n)
    waiting, clock = progress.waiting, progress.clock
    row = steps = 0
    for b in range(size):
        block = one_block(blocks, b)
        begin(block.precedes, progress)
        for t in range(n):
            ready, highest = 0, 0
            for k in range(n):
                if waiting[k] == 0:
                    ready += 1
                    highest = max(highest, block.heights[k])
            if ready > 1:
                if row + n > room:
                    room *= 2
                    features = np.concatenate((features, np.empty_like(features)))
                    instruction = np.concatenate((instruction, np.empty_like(instruction)))
                    step = np.concatenate((step, np.empty_like(step)))
                for k in range(n):
                    if waiting[k] == 0:
                        observe(k, t, ready, highest, block, progress, features[row])
                        instruction[row], step[row] = b * n + k, steps
                        if k == order[b, t]:
                            chosen[steps] = row
                        row += 1
                last[steps] = b * n + clock[LAST] if clock[LAST] >= 0 else -1
                last_but_one[steps] = b * n + clock[LAST_BUT_ONE] if clock[LAST_BUT_ONE] >= 0 else -1
                steps += 1
            issue(order[b, t], t, block, progress)
    return Decisions(features[:row], instruction[:row], step[:row], chosen[:steps], last[:steps], last_but_one[:steps])
