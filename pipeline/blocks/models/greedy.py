"""Orders from a pointer network's scores, issued one instruction after the other: legal by construction.

Greedy: every slot takes the likeliest of the ready instructions. With Gumbel noise on the logarithms of the
probabilities that draws from the network's distribution (Gumbel-max trick).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from pipeline.blocks.models.issue import SEEN, begin, issue, observe
from pipeline.blocks.problems.problems import Problems
from pipeline.blocks.problems.relations import Relations

N_FEATURES = len(SEEN)


class Scores(NamedTuple):
    """A pointer's score of instruction k after l and m: own[k] + weight . relu(candidate[k] + last[l] +
    last_but_one[m] + block + sum of seen[...]). Row n of `last` and `last_but_one`: there was none. float32."""

    own: np.ndarray  # (B, n)
    candidate: np.ndarray  # (B, n, K)
    last: np.ndarray  # (B, n + 1, K)
    last_but_one: np.ndarray  # (B, n + 1, K)
    block: np.ndarray  # (B, K)
    seen: np.ndarray  # (N_SEEN, K)
    weight: np.ndarray  # (K,)


def decode(problems: Problems, related: Relations, scores: Scores, noise: np.ndarray | None = None) -> np.ndarray:
    """Greedy orders, (B, n) int16. noise: (B, n, n), added to the log-probability at step t of instruction k."""
    return decode_believed(problems, related, scores, noise)[0]


def decode_believed(
    problems: Problems, related: Relations, scores: Scores, noise: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """The same, and the log-probability of each order, noise included, (B,)."""
    order, total = np.empty(problems.instructions.shape, np.int16), np.zeros(len(problems))
    added = np.zeros((0, 1, 1), np.float32) if noise is None else noise.astype(np.float32)
    arguments = [*arrays(problems, related, scores), added, order, total]
    _decode(*arguments)
    return order, total


def arrays(problems: Problems, related: Relations, scores: Scores) -> list[Any]:
    """What a kernel reads of the blocks and the scores, in the sequence of its arguments."""
    block = (problems.precedes, problems.conflicts, problems.latencies, related.pairs, related.heights)
    return [*block, *(np.ascontiguousarray(part, np.float32) for part in scores)]


@njit(cache=True, nogil=True)
def _sum(x: np.ndarray) -> np.float32:
    """Sum in eight parts, which need not wait for one another."""
    zero: np.float32 = np.float32(0)
    s0, s1, s2, s3, s4, s5, s6, s7 = zero, zero, zero, zero, zero, zero, zero, zero
    whole = len(x) - len(x) % 8
    for j in range(0, whole, 8):
        s0 += x[j]
        s1 += x[j + 1]
        s2 += x[j + 2]
        s3 += x[j + 3]
        s4 += x[j + 4]
        s5 += x[j + 5]
        s6 += x[j + 6]
        s7 += x[j + 7]
    total = ((s0 + s1) + (s2 + s3)) + ((s4 + s5) + (s6 + s7))
    for j in range(whole, len(x)):
        total += x[j]
    return total


@njit(cache=True, nogil=True)
def _score(
    k: int,
    last: int,
    before: int,
    seen: np.ndarray,
    own: np.ndarray,
    as_candidate: np.ndarray,
    as_last: np.ndarray,
    as_before: np.ndarray,
    block: np.ndarray,
    seen_table: np.ndarray,
    weight: np.ndarray,
    hidden: np.ndarray,
) -> float:
    n = len(own)
    last, before = (last if last >= 0 else n), (before if before >= 0 else n)
    for j in range(len(weight)):
        hidden[j] = as_candidate[k, j] + as_last[last, j] + as_before[before, j] + block[j]
    for feature in range(N_FEATURES):
        row = seen_table[seen[feature]]
        for j in range(len(weight)):
            hidden[j] += row[j]
    for j in range(len(weight)):
        hidden[j] = weight[j] * max(hidden[j], np.float32(0))
    return own[k] + _sum(hidden)


@njit(cache=True, nogil=True)
def weigh(
    t: int,
    waiting: np.ndarray,
    slot: np.ndarray,
    start: np.ndarray,
    clock: np.ndarray,
    precedes: np.ndarray,
    conflicts: np.ndarray,
    pairs: np.ndarray,
    heights: np.ndarray,
    own: np.ndarray,
    as_candidate: np.ndarray,
    as_last: np.ndarray,
    as_before: np.ndarray,
    block: np.ndarray,
    seen_table: np.ndarray,
    weight: np.ndarray,
    seen: np.ndarray,
    hidden: np.ndarray,
    score: np.ndarray,
) -> tuple[float, float]:
    """Fill `score` (n,) of the ready instructions at step t; returns the largest, and the logarithm of their mass."""
    n, ready, highest = len(waiting), 0, 0
    for k in range(n):
        if waiting[k] == 0:
            ready += 1
            highest = max(highest, heights[k])
    largest = -np.inf
    for k in range(n):
        if waiting[k] == 0:
            score[k] = 0.0
            if ready > 1:
                observe(
                    k, t, ready, highest, precedes, conflicts, pairs, heights, waiting, slot, start, clock, seen
                )  # fmt: skip
                score[k] = _score(
                    k, clock[2], clock[3], seen, own, as_candidate, as_last, as_before, block, seen_table, weight,
                    hidden,
                )  # fmt: skip
            largest = max(largest, score[k])
    mass = 0.0
    for k in range(n):
        if waiting[k] == 0:
            mass += np.exp(score[k] - largest)
    return largest, np.log(mass)


@njit(cache=True, nogil=True)
def _decode(
    precedes: np.ndarray,
    conflicts: np.ndarray,
    latencies: np.ndarray,
    pairs: np.ndarray,
    heights: np.ndarray,
    own: np.ndarray,
    as_candidate: np.ndarray,
    as_last: np.ndarray,
    as_before: np.ndarray,
    block: np.ndarray,
    seen_table: np.ndarray,
    weight: np.ndarray,
    noise: np.ndarray,
    order: np.ndarray,
    total: np.ndarray,
) -> None:
    size, n = order.shape
    for b in range(size):
        waiting, slot, start = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
        clock = np.empty(4, np.int64)
        seen, hidden = np.empty(N_FEATURES, np.int64), np.empty(len(weight), np.float32)
        score = np.empty(n)
        begin(precedes[b], waiting, slot, start, clock)
        for t in range(n):
            largest, mass = weigh(
                t, waiting, slot, start, clock, precedes[b], conflicts[b], pairs[b], heights[b], own[b],
                as_candidate[b], as_last[b], as_before[b], block[b], seen_table, weight, seen, hidden, score,
            )  # fmt: skip
            chosen, best = -1, 0.0
            for k in range(n):
                if waiting[k] == 0:
                    value = total[b] + score[k] - largest - mass
                    if len(noise):
                        value += noise[b, t, k]
                    if chosen < 0 or value > best:
                        chosen, best = k, value
            order[b, t], total[b] = chosen, best
            issue(chosen, t, precedes[b], conflicts[b], latencies[b], waiting, slot, start, clock)
