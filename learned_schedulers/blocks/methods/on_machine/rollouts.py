"""Learning a preference from rollouts (McGovern & Moss, "Scheduling straight-line code using reinforcement learning
and rollouts", NIPS 1998): a choice is as good as the mean makespan of the orders that continue from it.

Differences from the paper: the machine is the fast model instead of the Alpha 21064's simulator. The preference is a
logistic regression on pairs of ready instructions, weighted by the difference of their makespans, instead of temporal
differences. In the first round, orders continue at random, as in the paper; in later rounds, they follow the preference
learned so far, with some random choices.

The preference sees the state of a machine that issues in order. An out-of-order machine is treated as if it issued in
order (`Processor.costs`); only the cycles of whole orders come from its own model.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numba import njit

from learned_schedulers.blocks.methods.on_machine.either import Costs, Memory, makespan_of, memory, row_of
from learned_schedulers.blocks.methods.on_machine.graph import graph
from learned_schedulers.blocks.methods.on_machine.preference import (
    FEATURES,
    Ready,
    append,
    clear,
    complete,
    fill_features,
    preferred,
)
from learned_schedulers.blocks.problems.problems import Problems
from learned_schedulers.blocks.processors import in_order
from learned_schedulers.blocks.processors.costs import Processor
from learned_schedulers.blocks.processors.in_order import block_of, issue_cycle, new_pipeline
from learned_schedulers.blocks.processors.settings import Rollouts

_PENALTY = 1e-3  # of squared weights, in standard deviations of the features


class Batch(NamedTuple):
    """B blocks of one length on a machine."""

    precedes: np.ndarray  # (B, n, n) bool
    visible: in_order.Costs  # costs that the preference sees
    timed: Costs  # costs that time the orders; the same if the machine issues in order


def batch(machine: Processor, problems: Problems) -> Batch:
    """Blocks on a machine. Raises ValueError for an instruction that the machine does not support."""
    visible = machine.costs(problems.instructions)
    timed = visible if machine.issues_in_order else machine.out_of_order_costs(problems.instructions)
    return Batch(np.ascontiguousarray(problems.precedes), visible, timed)


def learn(batches: Sequence[Batch], settings: Rollouts, rng: np.random.Generator) -> np.ndarray:
    """Weights (F,) of the FEATURES. Raises ValueError if no choice changes the cycles."""
    weights = np.zeros(len(FEATURES))
    for round_ in range(settings.rounds):
        randomness = 1.0 if round_ == 0 else settings.randomness
        compared = [compare(blocks, weights, randomness, settings.rollouts, rng) for blocks in batches]
        differences = np.concatenate([difference for difference, _ in compared])
        gains = np.concatenate([gain for _, gain in compared])
        if not gains.any():
            raise ValueError("no choice of these blocks matters; learn from more of them, or longer ones")
        weights = fit(differences, gains)
    return weights


def compare(
    blocks: Batch,
    weights: np.ndarray,
    randomness: float,
    rollouts: int,
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of choices in B blocks, along orders that follow the preference with this randomness.

    Returns the features of the best ready instruction minus those of another, (P, F), and by how many cycles the mean
    of its rollouts is shorter, (P,).
    """
    size, n, _ = blocks.precedes.shape
    rows = np.empty((size * n * (n - 1) // 2, len(FEATURES)))
    gains = np.empty(len(rows))
    count = _compare(blocks, memory(blocks.timed), weights, randomness, rollouts, rng, rows, gains)
    return rows[:count], gains[:count]


def fit(differences: np.ndarray, gains: np.ndarray) -> np.ndarray:
    """Weights (F,) that find the better of two: logistic regression on differences (P, F), weighted by gains (P,)."""
    from scipy.optimize import minimize  # slow to import, and only training needs it

    scale = np.maximum(differences.std(0), 1e-9)
    scaled, share = differences / scale, gains / gains.sum()

    def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        margin = scaled @ weights
        wrong = 1 / (1 + np.exp(np.clip(margin, -500, 500)))
        value = share @ np.logaddexp(0, -margin) + _PENALTY * weights @ weights
        return float(value), -scaled.T @ (share * wrong) + 2 * _PENALTY * weights

    result = minimize(loss, np.zeros(differences.shape[1]), jac=True, method="L-BFGS-B")
    return np.where(differences.std(0) > 0, result.x / scale, 0.0)


@njit(cache=True, nogil=True)
def _copy(source: Ready, target: Ready) -> None:
    target.pipeline.free[:] = source.pipeline.free
    target.pipeline.turn[:] = source.pipeline.turn
    target.pipeline.skipped[:] = source.pipeline.skipped
    target.pipeline.clock[:] = source.pipeline.clock
    target.pipeline.order[:] = source.pipeline.order
    target.pipeline.issue[:] = source.pipeline.issue
    target.waiting[:] = source.waiting


@njit(cache=True, nogil=True)
def _compare(
    blocks: Batch,
    memory: Memory,
    weights: np.ndarray,
    randomness: float,
    rollouts: int,
    rng: np.random.Generator,
    rows: np.ndarray,
    gains: np.ndarray,
) -> int:
    """Fill rows and gains; returns their number."""
    costs, precedes = blocks.visible, blocks.precedes
    size, n, _ = precedes.shape
    units, groups, pairs = costs.unit_cycles.shape[2], len(costs.groups), 0
    state = Ready(new_pipeline(units, groups, n), np.zeros(n, np.int64))
    trial = Ready(new_pipeline(units, groups, n), np.zeros(n, np.int64))
    starts, scratch = np.zeros(n, np.int64), np.zeros(len(weights))
    features, mean, ready = np.zeros((n, len(weights))), np.zeros(n), np.zeros(n, np.int64)
    for b in range(size):
        block, timed, dependencies = block_of(costs, b), row_of(blocks.timed, b), precedes[b]
        relations = graph(block, dependencies)
        clear(block, dependencies, state)
        for t in range(n):
            count = 0
            for i in range(n):
                if state.waiting[i] == 0:
                    ready[count] = i
                    count += 1
            if count > 1:
                for i in ready[:count]:
                    starts[i] = issue_cycle(block, state.pipeline, t, i)
                for i in ready[:count]:
                    fill_features(block, relations, dependencies, state, t, starts, i, features[i])
                best = ready[0]
                for i in ready[:count]:
                    mean[i] = 0
                    for _ in range(rollouts):
                        _copy(state, trial)
                        append(block, dependencies, trial, t, i)
                        complete(
                            block, relations, dependencies, trial, t + 1, weights, randomness, rng, starts, scratch
                        )
                        mean[i] += makespan_of(timed, trial.pipeline.order, memory)
                    mean[i] /= rollouts
                    if mean[i] < mean[best]:
                        best = i
                for i in ready[:count]:
                    if mean[i] > mean[best]:
                        rows[pairs] = features[best] - features[i]
                        gains[pairs] = mean[i] - mean[best]
                        pairs += 1
            if rng.random() < randomness:
                chosen = ready[int(rng.random() * count)]
            else:
                chosen = preferred(block, relations, dependencies, state, t, weights, starts, scratch)
            append(block, dependencies, state, t, chosen)
    return pairs
