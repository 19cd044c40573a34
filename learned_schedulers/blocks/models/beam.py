"""Beam search for the likeliest order: it stores the `width` likeliest prefixes (Sutskever et al. 2014)."""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from learned_schedulers.blocks.models.greedy import Scores, contiguous, new_scratch, scores_of, weigh
from learned_schedulers.blocks.models.issue import BlockArrays, Progress, begin, block_arrays, issue, one_block
from learned_schedulers.blocks.problems.problems import Problems
from learned_schedulers.blocks.problems.relations import Relations


def decode(problems: Problems, related: Relations, scores: Scores, width: int) -> np.ndarray:
    """The likeliest orders from a beam of `width`, (B, n) int16."""
    order = np.empty(problems.instructions.shape, np.int16)
    _decode(block_arrays(problems, related), contiguous(scores), width, order)
    return order


@njit(cache=True, nogil=True, parallel=True)
def _decode(blocks: BlockArrays, scores: Scores, width: int, order: np.ndarray) -> None:
    for b in prange(len(order)):
        _search(one_block(blocks, b), scores_of(scores, b), width, order[b])


@njit(cache=True, nogil=True)
def _search(block: BlockArrays, scores: Scores, width: int, order: np.ndarray) -> None:
    """Fill `order` (n,) of one block."""
    n = len(order)
    # Two generations of prefixes alternate in the first axis.
    waiting, slot = np.empty((2, width, n), np.int64), np.empty((2, width, n), np.int64)
    start, clock = np.empty((2, width, n), np.int64), np.empty((2, width, 4), np.int64)
    prefix, total = np.empty((2, width, n), np.int16), np.zeros((2, width))
    scratch = new_scratch(n, len(scores.weight))
    # The best continuations, best first: value, row of the prefix, instruction.
    value, origin, choice = np.empty(width + 1), np.empty(width + 1, np.int64), np.empty(width + 1, np.int64)
    begin(block.precedes, Progress(waiting[0, 0], slot[0, 0], start[0, 0], clock[0, 0]))
    prefixes, now = 1, 0
    for t in range(n):
        continuations = 0
        for w in range(prefixes):
            progress = Progress(waiting[now, w], slot[now, w], start[now, w], clock[now, w])
            largest, mass = weigh(t, block, progress, scores, scratch)
            for k in range(n):
                if waiting[now, w, k] == 0:
                    new = total[now, w] + scratch.score[k] - largest - mass
                    rank = continuations
                    while rank > 0 and value[rank - 1] < new:
                        value[rank], origin[rank], choice[rank] = (
                            value[rank - 1],
                            origin[rank - 1],
                            choice[rank - 1],
                        )
                        rank -= 1
                    if rank < width:
                        value[rank], origin[rank], choice[rank] = new, w, k
                        continuations = min(continuations + 1, width)
        then = 1 - now
        for w in range(continuations):
            o = origin[w]
            waiting[then, w], slot[then, w], start[then, w] = waiting[now, o], slot[now, o], start[now, o]
            clock[then, w], prefix[then, w], total[then, w] = clock[now, o], prefix[now, o], value[w]
            prefix[then, w, t] = choice[w]
            issue(choice[w], t, block, Progress(waiting[then, w], slot[then, w], start[then, w], clock[then, w]))
        prefixes, now = continuations, then
    order[:] = prefix[now, 0]
