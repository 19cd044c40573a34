"""Orders from a pointer network's scores, issued instruction by instruction and therefore legal by construction.

Greedy decoding gives each slot the likeliest ready instruction. With Gumbel noise on the logarithms of the
probabilities, it draws from the network's distribution (Gumbel-max trick).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from learned_schedulers.blocks.models.issue import (
    LAST,
    LAST_BUT_ONE,
    STEP_FEATURES,
    BlockArrays,
    Progress,
    begin,
    block_arrays,
    issue,
    new_progress,
    observe,
    one_block,
)
from learned_schedulers.blocks.problems.problems import Problems
from learned_schedulers.blocks.problems.relations import Relations

N_FEATURES = len(STEP_FEATURES)


class Scores(NamedTuple):
    """The parts of a pointer's scores, float32; of one block without the leading B.

    Instruction k has, after l and before that m, the score base[k] + weight . relu(candidate[k] + last[l] +
    last_but_one[m] + block + sum of step[its features]). Row n of `last` and `last_but_one` is for "none".
    """

    base: np.ndarray  # (B, n)
    candidate: np.ndarray  # (B, n, K)
    last: np.ndarray  # (B, n + 1, K)
    last_but_one: np.ndarray  # (B, n + 1, K)
    block: np.ndarray  # (B, K)
    step: np.ndarray  # (N_STEP_CATEGORIES, K)
    weight: np.ndarray  # (K,)


class Scratch(NamedTuple):
    """Scratch arrays of `weigh`; `score` holds the scores of the ready instructions afterwards."""

    features: np.ndarray  # (N_FEATURES,) int64
    hidden: np.ndarray  # (K,) float32
    score: np.ndarray  # (n,)


def decode(problems: Problems, related: Relations, scores: Scores, noise: np.ndarray | None = None) -> np.ndarray:
    """Greedy orders, (B, n) int16. noise: (B, n, n), added to the log-probability of instruction k at step t."""
    return decode_with_probability(problems, related, scores, noise)[0]


def decode_with_probability(
    problems: Problems, related: Relations, scores: Scores, noise: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """The orders of `decode`, and the log-probability of each, including the noise, (B,)."""
    order, total = np.empty(problems.instructions.shape, np.int16), np.zeros(len(problems))
    added = np.zeros((0, 1, 1), np.float32) if noise is None else noise.astype(np.float32)
    _decode(block_arrays(problems, related), contiguous(scores), added, order, total)
    return order, total


def contiguous(scores: Scores) -> Scores:
    """The scores as contiguous float32 arrays, for the kernels."""
    return Scores(*(np.ascontiguousarray(part, np.float32) for part in scores))


@njit(cache=True, nogil=True)
def scores_of(scores: Scores, b: int) -> Scores:
    """The scores of block b of a batch."""
    return Scores(
        scores.base[b],
        scores.candidate[b],
        scores.last[b],
        scores.last_but_one[b],
        scores.block[b],
        scores.step,
        scores.weight,
    )


@njit(cache=True, nogil=True)
def new_scratch(n: int, width: int) -> Scratch:
    """Scratch for blocks of n instructions and scores of K = width."""
    return Scratch(np.empty(N_FEATURES, np.int64), np.empty(width, np.float32), np.empty(n))


@njit(cache=True, nogil=True)
def _sum(x: np.ndarray) -> np.float32:
    """Sum in eight parts that do not wait for one another."""
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
def _perceptron(
    candidate: np.ndarray,
    last: np.ndarray,
    last_but_one: np.ndarray,
    block: np.ndarray,
    step: np.ndarray,
    features: np.ndarray,
    weight: np.ndarray,
    hidden: np.ndarray,
) -> np.float32:
    """weight . relu(...) of `Scores` for one candidate; all (K,) but `step` and `features`; `hidden` is scratch."""
    for j in range(len(weight)):
        hidden[j] = candidate[j] + last[j] + last_but_one[j] + block[j]
    for feature in range(N_FEATURES):
        row = step[features[feature]]
        for j in range(len(weight)):
            hidden[j] += row[j]
    for j in range(len(weight)):
        hidden[j] = weight[j] * max(hidden[j], np.float32(0))
    return _sum(hidden)


@njit(cache=True, nogil=True)
def weigh(t: int, block: BlockArrays, progress: Progress, scores: Scores, scratch: Scratch) -> tuple[float, float]:
    """Fill `scratch.score` of the ready instructions at step t.

    Returns the largest score, and the logarithm of the sum of exp(score - largest).
    """
    waiting, clock, score = progress.waiting, progress.clock, scratch.score
    n, ready, highest = len(waiting), 0, 0
    for k in range(n):
        if waiting[k] == 0:
            ready += 1
            highest = max(highest, block.heights[k])
    last_row = scores.last[clock[LAST] if clock[LAST] >= 0 else n]
    last_but_one_row = scores.last_but_one[clock[LAST_BUT_ONE] if clock[LAST_BUT_ONE] >= 0 else n]
    largest = -np.inf
    for k in range(n):
        if waiting[k] == 0:
            score[k] = 0.0
            if ready > 1:
                observe(k, t, ready, highest, block, progress, scratch.features)
                score[k] = scores.base[k] + _perceptron(
                    scores.candidate[k], last_row, last_but_one_row, scores.block, scores.step,
                    scratch.features, scores.weight, scratch.hidden,
                )  # fmt: skip
            largest = max(largest, score[k])
    mass = 0.0
    for k in range(n):
        if waiting[k] == 0:
            mass += np.exp(score[k] - largest)
    return largest, np.log(mass)


@njit(cache=True, nogil=True)
def _decode(blocks: BlockArrays, scores: Scores, noise: np.ndarray, order: np.ndarray, total: np.ndarray) -> None:
    size, n = order.shape
    for b in range(size):
        block, block_scores = one_block(blocks, b), scores_of(scores, b)
        progress, scratch = new_progress(n), new_scratch(n, len(scores.weight))
        begin(block.precedes, progress)
        for t in range(n):
            largest, mass = weigh(t, block, progress, block_scores, scratch)
            chosen, best = -1, 0.0
            for k in range(n):
                if progress.waiting[k] == 0:
                    value = total[b] + scratch.score[k] - largest - mass
                    if len(noise):
                        value += noise[b, t, k]
                    if chosen < 0 or value > best:
                        chosen, best = k, value
            order[b, t], total[b] = chosen, best
            issue(chosen, t, block, progress)
