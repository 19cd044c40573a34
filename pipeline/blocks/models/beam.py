"""Orders from a pointer network's scores, issued one instruction after the other: legal by construction.

A beam keeps the `width` likeliest beginnings (Sutskever et al. 2014); with width 1 it is greedy decoding, and with
Gumbel noise on the logarithms of the probabilities it draws from the network's distribution (Gumbel-max trick).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit, prange

from pipeline.blocks.models.issue import SEEN, begin, issue, observe
from pipeline.blocks.problems.problems import Problems
from pipeline.blocks.problems.relations import Relations

_FEATURES = len(SEEN)


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


def decode(
    problems: Problems, related: Relations, scores: Scores, width: int = 1, noise: np.ndarray | None = None
) -> np.ndarray:
    """The likeliest orders that a beam of `width` finds, (B, n) int16.

    noise: (B, n, n), added to the logarithm of the probability at step t of instruction k.
    """
    size, n = problems.instructions.shape
    order = np.empty((size, n), np.int16)
    added = np.zeros((1, 1, 1), np.float32) if noise is None else noise.astype(np.float32)
    block = (problems.precedes, problems.conflicts, problems.latencies, related.pairs, related.heights)
    arguments: list[Any] = [*block, *(np.ascontiguousarray(part, np.float32) for part in scores), added, width, order]
    _decode(*arguments)
    return order


@njit(cache=True, nogil=True, fastmath=True)
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
    for feature in range(_FEATURES):
        row = seen_table[seen[feature]]
        for j in range(len(weight)):
            hidden[j] += row[j]
    total = own[k]
    for j in range(len(weight)):
        total += weight[j] * max(hidden[j], np.float32(0))
    return total


@njit(cache=True, nogil=True, parallel=True)
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
    width: int,
    order: np.ndarray,
) -> None:
    size, n = order.shape
    for b in prange(size):
        waiting, slot = np.empty((2, width, n), np.int64), np.empty((2, width, n), np.int64)
        start, clock = np.empty((2, width, n), np.int64), np.empty((2, width, 4), np.int64)
        prefix, total = np.empty((2, width, n), np.int16), np.zeros((2, width))
        seen, hidden = np.empty(_FEATURES, np.int64), np.empty(len(weight), np.float32)
        score = np.empty(n)
        # The best continuations, best first: value, state, instruction.
        value, origin, choice = np.empty(width + 1), np.empty(width + 1, np.int64), np.empty(width + 1, np.int64)
        begin(precedes[b], waiting[0, 0], slot[0, 0], start[0, 0], clock[0, 0])
        states, now = 1, 0
        for t in range(n):
            kept = 0
            for w in range(states):
                ready, highest = 0, 0
                for k in range(n):
                    if waiting[now, w, k] == 0:
                        ready += 1
                        highest = max(highest, heights[b, k])
                largest = -np.inf
                for k in range(n):
                    if waiting[now, w, k] == 0:
                        score[k] = 0.0
                        if ready > 1:
                            observe(
                                k, t, ready, highest, precedes[b], conflicts[b], pairs[b], heights[b],
                                waiting[now, w], slot[now, w], start[now, w], clock[now, w], seen,
                            )  # fmt: skip
                            score[k] = _score(
                                k, clock[now, w, 2], clock[now, w, 3], seen, own[b], as_candidate[b], as_last[b],
                                as_before[b], block[b], seen_table, weight, hidden,
                            )  # fmt: skip
                        largest = max(largest, score[k])
                mass = 0.0
                for k in range(n):
                    if waiting[now, w, k] == 0:
                        mass += np.exp(score[k] - largest)
                for k in range(n):
                    if waiting[now, w, k] == 0:
                        new = total[now, w] + score[k] - largest - np.log(mass)
                        if noise.shape[2] == n:
                            new += noise[b, t, k]
                        at = kept
                        while at > 0 and value[at - 1] < new:
                            value[at], origin[at], choice[at] = value[at - 1], origin[at - 1], choice[at - 1]
                            at -= 1
                        if at < width:
                            value[at], origin[at], choice[at] = new, w, k
                            kept = min(kept + 1, width)
            then = 1 - now
            for w in range(kept):
                o = origin[w]
                waiting[then, w], slot[then, w], start[then, w] = waiting[now, o], slot[now, o], start[now, o]
                clock[then, w], prefix[then, w], total[then, w] = clock[now, o], prefix[now, o], value[w]
                prefix[then, w, t] = choice[w]
                issue(
                    choice[w], t, precedes[b], conflicts[b], latencies[b],
                    waiting[then, w], slot[then, w], start[then, w], clock[then, w],
                )  # fmt: skip
            states, now = kept, then
        order[b] = prefix[now, 0]
