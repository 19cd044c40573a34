"""The likeliest order that a beam finds: it keeps the `width` likeliest beginnings (Sutskever et al. 2014)."""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from pipeline.blocks.models.greedy import N_FEATURES, Scores, arrays, weigh
from pipeline.blocks.models.issue import begin, issue
from pipeline.blocks.problems.problems import Problems
from pipeline.blocks.problems.relations import Relations


def decode(problems: Problems, related: Relations, scores: Scores, width: int) -> np.ndarray:
    """The likeliest orders that a beam of `width` finds, (B, n) int16."""
    order = np.empty(problems.instructions.shape, np.int16)
    arguments = [*arrays(problems, related, scores), width, order]
    _decode(*arguments)
    return order


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
    width: int,
    order: np.ndarray,
) -> None:
    size, n = order.shape
    for b in prange(size):
        waiting, slot = np.empty((2, width, n), np.int64), np.empty((2, width, n), np.int64)
        start, clock = np.empty((2, width, n), np.int64), np.empty((2, width, 4), np.int64)
        prefix, total = np.empty((2, width, n), np.int16), np.zeros((2, width))
        seen, hidden = np.empty(N_FEATURES, np.int64), np.empty(len(weight), np.float32)
        score = np.empty(n)
        # The best continuations, best first: value, state, instruction.
        value, origin, choice = np.empty(width + 1), np.empty(width + 1, np.int64), np.empty(width + 1, np.int64)
        begin(precedes[b], waiting[0, 0], slot[0, 0], start[0, 0], clock[0, 0])
        states, now = 1, 0
        for t in range(n):
            kept = 0
            for w in range(states):
                largest, mass = weigh(
                    t, waiting[now, w], slot[now, w], start[now, w], clock[now, w], precedes[b], conflicts[b], pairs[b],
                    heights[b], own[b], as_candidate[b], as_last[b], as_before[b], block[b], seen_table, weight, seen,
                    hidden, score,
                )  # fmt: skip
                for k in range(n):
                    if waiting[now, w, k] == 0:
                        new = total[now, w] + score[k] - largest - mass
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
