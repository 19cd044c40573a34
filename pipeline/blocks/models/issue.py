"""Issuing a block's instructions one by one: what can be seen at every step, and orders decoded from it.

A scheduler at work sees more than the block: what it issued last, which results are still under way, who else is
ready. `decisions` walks a given order and says what was to be seen wherever there was a choice; `decode` issues by a
trained network's scores. Both see the block through the same `observe`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from pipeline.blocks.problems.problems import Problems
from pipeline.blocks.problems.relations import ADDRESS_START, PAIR, SAME_START, Relations, delay

WIDTH = 3  # instructions a cycle: GCC's ix86_issue_rate for generic tuning
# Of a ready instruction at one step: name -> number of categories, the last one for all that is greater.
SEEN = {
    "slots_since_conflict": 10,  # since the last one that it conflicts with was issued; 0: there is none
    "conflict_with_last": 512,
    "conflict_with_last_but_one": 512,
    "stall": 12,  # cycles until its operands are there, from -3
    "below_highest": 20,  # cycles of height, below the highest that is ready
    "ready": 10,  # instructions
    "address_of_last": PAIR["address"],
    "same_as_last": PAIR["same"],
    "frees": 6,  # instructions that wait for it alone
    "issued": 10,
    "to_issue": 12,
}
_SIZES = np.array(list(SEEN.values()), np.int64)
_STARTS = np.cumsum(_SIZES) - _SIZES
N_SEEN = int(_SIZES.sum())
_EARLIEST_STALL = -3


class Decisions(NamedTuple):
    """Steps of B blocks at which more than one instruction was ready: S steps, C ready instructions in all."""

    seen: np.ndarray  # (C, 11) int64 in 0..N_SEEN, columns SEEN
    instruction: np.ndarray  # (C,) int64: b * n + i
    step: np.ndarray  # (C,) int64: rising
    taken: np.ndarray  # (S,) int64: row in C of the instruction that was issued
    last: np.ndarray  # (S,) int64: b * n + i of the one issued before; -1 for none
    last_but_one: np.ndarray  # (S,) int64


def decisions(problems: Problems, related: Relations, order: np.ndarray) -> Decisions:
    """What was to be seen at every choice on the way of legal orders (B, n)."""
    return Decisions(
        *_follow(
            *(problems.precedes, problems.conflicts, problems.latencies, related.pairs, related.heights),
            np.ascontiguousarray(order, np.int64),
        )
    )


@njit(cache=True, nogil=True)
def begin(precedes: np.ndarray, waiting: np.ndarray, slot: np.ndarray, start: np.ndarray, clock: np.ndarray) -> None:
    """State before the first step: `waiting` (n,) predecessors not issued, -1 once issued itself; `slot` (n,), -1;
    `start` (n,) cycle at which operands are there; `clock`: cycle, issued in it, last, last but one."""
    n = len(waiting)
    for k in range(n):
        waiting[k] = 0
        for i in range(n):
            waiting[k] += precedes[i, k]
        slot[k] = -1
        start[k] = 0
    clock[0] = clock[1] = 0
    clock[2] = clock[3] = -1


@njit(cache=True, nogil=True)
def issue(
    i: int,
    t: int,
    precedes: np.ndarray,
    conflicts: np.ndarray,
    latencies: np.ndarray,
    waiting: np.ndarray,
    slot: np.ndarray,
    start: np.ndarray,
    clock: np.ndarray,
) -> None:
    """Put instruction i into slot t."""
    if start[i] > clock[0]:
        clock[0], clock[1] = start[i], 0
    elif clock[1] >= WIDTH:
        clock[0], clock[1] = clock[0] + 1, 0
    clock[1] += 1
    clock[3], clock[2] = clock[2], i
    slot[i] = t
    waiting[i] = -1
    for k in range(len(waiting)):
        if conflicts[i, k]:
            start[k] = max(start[k], clock[0] + delay(conflicts[i, k], latencies[i]))
        waiting[k] -= precedes[i, k]


@njit(cache=True, nogil=True)
def observe(
    k: int,
    t: int,
    ready: int,
    highest: int,
    precedes: np.ndarray,
    conflicts: np.ndarray,
    pairs: np.ndarray,
    heights: np.ndarray,
    waiting: np.ndarray,
    slot: np.ndarray,
    start: np.ndarray,
    clock: np.ndarray,
    seen: np.ndarray,
) -> None:
    """What is to be seen of the ready instruction k at step t, into `seen` (11,)."""
    n = len(waiting)
    latest, frees = -1, 0
    for i in range(n):
        if conflicts[i, k]:
            latest = max(latest, slot[i])
        if precedes[k, i] and waiting[i] == 1:
            frees += 1
    last, last_but_one = clock[2], clock[3]
    seen[0] = 0 if latest < 0 else t - latest
    seen[1] = 0 if last < 0 else conflicts[last, k]
    seen[2] = 0 if last_but_one < 0 else conflicts[last_but_one, k]
    seen[3] = max(start[k] - clock[0], _EARLIEST_STALL) - _EARLIEST_STALL
    seen[4] = highest - heights[k]
    seen[5] = ready
    seen[6] = 0 if last < 0 else pairs[last, k, 3] - ADDRESS_START
    seen[7] = 0 if last < 0 else pairs[last, k, 4] - SAME_START
    seen[8] = frees
    seen[9] = t
    seen[10] = n - t
    for feature in range(len(_STARTS)):
        seen[feature] = _STARTS[feature] + min(seen[feature], _SIZES[feature] - 1)


@njit(cache=True, nogil=True)
def _follow(
    precedes: np.ndarray,
    conflicts: np.ndarray,
    latencies: np.ndarray,
    pairs: np.ndarray,
    heights: np.ndarray,
    order: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The fields of Decisions."""
    size, n = order.shape
    room = 4 * size * n + n
    seen = np.empty((room, len(_STARTS)), np.int64)
    instruction, step = np.empty(room, np.int64), np.empty(room, np.int64)
    taken, last, last_but_one = np.empty(size * n, np.int64), np.empty(size * n, np.int64), np.empty(size * n, np.int64)
    waiting, slot, start = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    clock = np.empty(4, np.int64)
    row = steps = 0
    for b in range(size):
        begin(precedes[b], waiting, slot, start, clock)
        for t in range(n):
            ready, highest = 0, 0
            for k in range(n):
                if waiting[k] == 0:
                    ready += 1
                    highest = max(highest, heights[b, k])
            if ready > 1:
                if row + n > room:
                    room *= 2
                    seen = np.concatenate((seen, np.empty_like(seen)))
                    instruction = np.concatenate((instruction, np.empty_like(instruction)))
                    step = np.concatenate((step, np.empty_like(step)))
                for k in range(n):
                    if waiting[k] == 0:
                        observe(
                            k, t, ready, highest, precedes[b], conflicts[b], pairs[b], heights[b],
                            waiting, slot, start, clock, seen[row],
                        )  # fmt: skip
                        instruction[row], step[row] = b * n + k, steps
                        if k == order[b, t]:
                            taken[steps] = row
                        row += 1
                last[steps] = b * n + clock[2] if clock[2] >= 0 else -1
                last_but_one[steps] = b * n + clock[3] if clock[3] >= 0 else -1
                steps += 1
            issue(order[b, t], t, precedes[b], conflicts[b], latencies[b], waiting, slot, start, clock)
    return seen[:row], instruction[:row], step[:row], taken[:steps], last[:steps], last_but_one[:steps]
