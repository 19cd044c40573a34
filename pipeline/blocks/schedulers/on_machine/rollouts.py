"""Learning a preference from rollouts (McGovern & Moss, "Scheduling straight-line code using reinforcement learning
and rollouts", NIPS 1998): how good a choice is, is the mean length of orders that go on from it.

Differences from the paper: the machine is the fast model, not the Alpha 21064's simulator, and the preference is a
logistic regression on pairs of ready instructions, weighted by how much they differ, instead of temporal
differences. In the first round all that goes on from a choice is random, as in the paper; in the others it follows
the preference learned so far, with a random choice now and then.

What the preference sees is the state of a machine that issues in order; one that does not is taken as if it did
(`Processor.costs`), and only the cycles of whole orders are its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numba import njit
from scipy.optimize import minimize

from pipeline.blocks.latency import in_order
from pipeline.blocks.latency.costs import Processor
from pipeline.blocks.latency.in_order import idle, start_of
from pipeline.blocks.problems.problems import Problems
from pipeline.blocks.schedulers.on_machine.either import Costs, Memory, makespan_of, memory, row_of
from pipeline.blocks.schedulers.on_machine.graph import block_of, graph
from pipeline.blocks.schedulers.on_machine.preference import FEATURES, Ready, begin, describe, finish, go_on, preferred
from pipeline.config.methods.policy import Rollouts

_PENALTY = 1e-3  # of squared weights, in standard deviations of the features


class Batch(NamedTuple):
    """B blocks of one length on a machine."""

    precedes: np.ndarray  # (B, n, n) bool
    seen: in_order.Costs  # what the preference sees
    timed: Costs  # what times the orders: the same where the machine issues in order


def batch(machine: Processor, problems: Problems) -> Batch:
    """Raises ValueError for an instruction that the machine does not know."""
    seen = machine.costs(problems.instructions)
    timed = seen if machine.issues_in_order else machine.out_of_order_costs(problems.instructions)
    return Batch(np.ascontiguousarray(problems.precedes), seen, timed)


def learn(batches: Sequence[Batch], settings: Rollouts, rng: np.random.Generator) -> np.ndarray:
    """Weights (F,) of the FEATURES.

    Raises ValueError where no choice matters.
    """
    weights = np.zeros(len(FEATURES))
    for round_ in range(settings.rounds):
        randomness = 1.0 if round_ == 0 else settings.randomness
        found = [compare(one, weights, randomness, settings.rollouts, rng) for one in batches]
        differences = np.concatenate([one[0] for one in found])
        gains = np.concatenate([one[1] for one in found])
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
    """Choices of B blocks, on the way that the preference takes with so much randomness.

    Returns features of the best ready instruction less those of another, (P, F), and by how many cycles the mean
    of its rollouts is shorter, (P,).
    """
    size, n, _ = blocks.precedes.shape
    rows = np.empty((size * n * (n - 1) // 2, len(FEATURES)))
    gains = np.empty(len(rows))
    count = _compare(blocks, memory(blocks.timed), weights, randomness, rollouts, rng, rows, gains)
    return rows[:count], gains[:count]


def fit(differences: np.ndarray, gains: np.ndarray) -> np.ndarray:
    """Weights (F,) that tell the better of two: logistic regression on differences (P, F), weighted by gains (P,)."""
    scale = np.maximum(differences.std(0), 1e-9)
    scaled, share = differences / scale, gains / gains.sum()

    def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        margin = scaled @ weights
        wrong = 1 / (1 + np.exp(np.clip(margin, -500, 500)))
        value = share @ np.logaddexp(0, -margin) + _PENALTY * weights @ weights
        return float(value), -scaled.T @ (share * wrong) + 2 * _PENALTY * weights

    found = minimize(loss, np.zeros(differences.shape[1]), jac=True, method="L-BFGS-B")
    return np.where(differences.std(0) > 0, found.x / scale, 0.0)


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
    """Fill rows and gains; returns how many."""
    costs, precedes = blocks.seen, blocks.precedes
    size, n, _ = precedes.shape
    units, groups, pairs = costs.held.shape[2], len(costs.groups), 0
    state = Ready(idle(units, groups, n), np.zeros(n, np.int64))
    trial = Ready(idle(units, groups, n), np.zeros(n, np.int64))
    starts, one = np.zeros(n, np.int64), np.zeros(len(weights))
    features, mean, ready = np.zeros((n, len(weights))), np.zeros(n), np.zeros(n, np.int64)
    for b in range(size):
        block, timed, rows_of = block_of(costs, b), row_of(blocks.timed, b), precedes[b]
        known = graph(block, rows_of)
        begin(block, rows_of, state)
        for t in range(n):
            count = 0
            for i in range(n):
                if state.waiting[i] == 0:
                    ready[count] = i
                    count += 1
            if count > 1:
                for i in ready[:count]:
                    starts[i] = start_of(block, state.pipeline, t, i)
                for i in ready[:count]:
                    describe(block, known, rows_of, state, t, starts, i, features[i])
                best = ready[0]
                for i in ready[:count]:
                    mean[i] = 0
                    for _ in range(rollouts):
                        _copy(state, trial)
                        go_on(block, rows_of, trial, t, i)
                        finish(block, known, rows_of, trial, t + 1, weights, randomness, rng, starts, one)
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
                chosen = preferred(block, known, rows_of, state, t, weights, starts, one)
            go_on(block, rows_of, state, t, chosen)
    return pairs
