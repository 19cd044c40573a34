"""Schedules that a network builds: at each step it scores the candidates, and one is drawn, or the best is taken.

The network runs in compiled code, step by step; torch (candidate_network.py) only trains it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numba import njit

from learned_schedulers.learning import weights
from learned_schedulers.projects.models.active import Shop, State, append, beginning, conflict
from learned_schedulers.projects.models.candidates import FEATURES, describe

KIND = "job_shop_policy"  # of its file of weights


class Weights(NamedTuple):
    """The network's arrays, float32; matrices are transposed, inputs first."""

    read: np.ndarray  # (FEATURES, width)
    read_bias: np.ndarray  # (width,)
    each: np.ndarray  # (width, width)
    each_bias: np.ndarray  # (width,)
    mean: np.ndarray  # (width, width)
    most: np.ndarray  # (width, width)
    score: np.ndarray  # (width,)

    @staticmethod
    def of(arrays: Mapping[str, np.ndarray]) -> Weights:
        """Those of a trained network. arrays: by their names in candidate_network.py; KeyError if one is missing."""
        matrices = {name: np.ascontiguousarray(arrays[f"{name}.weight"].T) for name in ("read", "each", "mean", "most")}
        biases = {f"{name}_bias": arrays[f"{name}.bias"] for name in ("read", "each")}
        return Weights(score=arrays["score.weight"][0], **matrices, **biases)


def load(path: Path) -> Weights:
    """Weights of a file, without torch. Raises ValueError if the file holds no such network."""
    _, arrays = weights.read(path, KIND)
    try:
        loaded = Weights.of(arrays)
    except KeyError as error:
        raise ValueError(f"{path} was trained by another version of this program; train it again ({error})") from error
    if len(loaded.read) != FEATURES:
        raise ValueError(
            f"{path} was trained by another version of this program, with {len(loaded.read)} numbers of a candidate "
            f"instead of {FEATURES}; train it again"
        )
    return loaded


class Decisions(NamedTuple):
    """Steps of a schedule that had several candidates: D steps with R candidates in all."""

    numbers: np.ndarray  # (R, FEATURES) float32
    counts: np.ndarray  # (D,) int64 candidates of each step
    choices: np.ndarray  # (D,) int64 index of the chosen candidate within its step


@njit(cache=True)
def drawn(shop: Shop, network: Weights, uniforms: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Makespans (S,) and starts (S, J, M) of schedules that are drawn from the policy.

    uniforms: (S, J x M) in [0, 1), a number for each step; a negative one takes the candidate with the highest score.
    """
    jobs, steps = shop.machines.shape
    makespans = np.zeros(len(uniforms))
    starts = np.zeros((len(uniforms), jobs, steps))
    candidates = np.zeros(jobs, np.int64)
    numbers = np.zeros((jobs, FEATURES), np.float32)
    for s in range(len(uniforms)):
        state = beginning(shop)
        for number in range(jobs * steps):
            count, earliest_end = conflict(shop, state, candidates)
            choice = 0
            if count > 1:
                describe(shop, state, candidates[:count], earliest_end, makespans[s], numbers)
                choice = _choice(_scores(numbers[:count], network), uniforms[s, number])
            makespans[s] = _start(shop, state, candidates[choice], starts[s], makespans[s])
    return makespans, starts


@njit(cache=True)
def followed(shop: Shop, starts: np.ndarray) -> Decisions:
    """The decisions that give an active schedule. starts: (J, M)."""
    jobs, steps = shop.machines.shape
    candidates = np.zeros(jobs, np.int64)
    numbers = np.zeros((4 * jobs * steps + jobs, FEATURES), np.float32)
    counts, choices = np.zeros(jobs * steps, np.int64), np.zeros(jobs * steps, np.int64)
    again = np.zeros((jobs, steps))
    rows = decisions = 0
    makespan = 0.0
    state = beginning(shop)
    for _ in range(jobs * steps):
        count, earliest_end = conflict(shop, state, candidates)
        choice = 0
        for c in range(1, count):
            first, other = candidates[choice], candidates[c]
            if starts[other, state.steps[other]] < starts[first, state.steps[first]]:
                choice = c
        if count > 1:
            if rows + count > len(numbers):
                numbers = np.concatenate((numbers, np.zeros_like(numbers)))
            describe(shop, state, candidates[:count], earliest_end, makespan, numbers[rows:])
            counts[decisions], choices[decisions] = count, choice
            rows += count
            decisions += 1
        makespan = _start(shop, state, candidates[choice], again, makespan)
    return Decisions(numbers[:rows], counts[:decisions], choices[:decisions])


@njit(cache=True)
def _start(shop: Shop, state: State, job: int, starts: np.ndarray, makespan: float) -> float:
    """Starts a job's next operation; returns the new makespan."""
    step = state.steps[job]
    starts[job, step] = append(shop, state, job)
    return max(makespan, state.jobs[job])


@njit(cache=True)
def _scores(numbers: np.ndarray, network: Weights) -> np.ndarray:
    """(k,) float32. numbers: (k, FEATURES)."""
    k, width = len(numbers), len(network.score)
    hidden = np.empty((k, width), np.float32)
    mean, most = np.zeros(width, np.float32), np.zeros(width, np.float32)
    for c in range(k):
        _add_product(numbers[c], network.read, network.read_bias, hidden[c])
        for i in range(width):
            hidden[c, i] = max(hidden[c, i], np.float32(0))
            mean[i] += hidden[c, i] / np.float32(k)
            most[i] = max(most[i], hidden[c, i])
    context, every = np.empty(width, np.float32), np.empty(width, np.float32)
    _add_product(mean, network.mean, network.each_bias, context)
    _add_product(most, network.most, context, context)
    scores = np.zeros(k, np.float32)
    for c in range(k):
        _add_product(hidden[c], network.each, context, every)
        for i in range(width):
            scores[c] += max(every[i], np.float32(0)) * network.score[i]
    return scores


@njit(cache=True)
def _add_product(vector: np.ndarray, matrix: np.ndarray, start: np.ndarray, total: np.ndarray) -> None:
    """total = start + vector @ matrix, in a fixed sequence, so that every processor gives the same bytes."""
    for i in range(len(total)):
        total[i] = start[i]
    for row in range(len(vector)):
        if vector[row] != 0:
            for i in range(len(total)):
                total[i] += vector[row] * matrix[row, i]


@njit(cache=True)
def _choice(scores: np.ndarray, uniform: float) -> int:
    """The candidate that a uniform number draws by the softmax of the scores; of a negative number, the best."""
    best = int(np.argmax(scores))
    if uniform < 0:
        return best
    shares = np.exp((scores - scores[best]).astype(np.float64))
    left = uniform * shares.sum()
    for c in range(len(scores) - 1):
        left -= shares[c]
        if left < 0:
            return c
    return len(scores) - 1
