"""Orders in one pass: a small perceptron, the same for all processors, scores the ready instructions of every slot."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numba import njit

from learned_schedulers.blocks.methods.on_machine.choice import (
    FEATURES,
    Choice,
    fill,
    find_ready,
    new_choice,
    open_block,
    take,
)
from learned_schedulers.blocks.processors import packing
from learned_schedulers.learning import weights as files

_KIND = "first_guess"  # of its file of weights


class Weights(NamedTuple):
    """Two hidden layers of H and K units with ReLU; float32. The scale of the features is in the first layer."""

    first: np.ndarray  # (F, H)
    first_bias: np.ndarray  # (H,)
    second: np.ndarray  # (H, K)
    second_bias: np.ndarray  # (K,)
    last: np.ndarray  # (K,)


class Scratch(NamedTuple):
    """Working memory for scores."""

    first: np.ndarray  # (H,) float32
    second: np.ndarray  # (K,) float32
    score: np.ndarray  # (LONGEST,) float32


@njit(cache=True, nogil=True)
def new_scratch(weights: Weights) -> Scratch:
    """Uninitialised memory for networks of this size."""
    return Scratch(
        np.empty(len(weights.first_bias), np.float32),
        np.empty(len(weights.second_bias), np.float32),
        np.empty(packing.LONGEST, np.float32),
    )


@njit(cache=True, nogil=True)
def score(weights: Weights, features: np.ndarray, scratch: Scratch) -> None:
    """Fill scratch.score of rows of features, (R, F)."""
    first, second = scratch.first, scratch.second
    for row in range(len(features)):
        for h in range(len(first)):
            first[h] = weights.first_bias[h]
        for f in range(len(FEATURES)):
            value = features[row, f]
            if value != 0:
                for h in range(len(first)):
                    first[h] += value * weights.first[f, h]
        for k in range(len(second)):
            second[k] = weights.second_bias[k]
        for h in range(len(first)):
            if first[h] > 0:
                for k in range(len(second)):
                    second[k] += first[h] * weights.second[h, k]
        total = np.float32(0)
        for k in range(len(second)):
            total += max(second[k], np.float32(0)) * weights.last[k]
        scratch.score[row] = total


@njit(cache=True, nogil=True)
def preferred(
    block: packing.Block, precedes: np.ndarray, choice: Choice, slots: int, weights: Weights, scratch: Scratch
) -> int:
    """The ready instruction of the highest score; of equal ones, the one shown first."""
    n_ready = find_ready(choice, len(precedes))
    if n_ready == 1:
        return choice.ready[0]
    fill(block, precedes, choice, n_ready, slots)
    score(weights, choice.features[:n_ready], scratch)
    return choice.ready[np.argmax(scratch.score[:n_ready])]


def guesses(costs: packing.Costs, precedes: np.ndarray, weights: Weights) -> np.ndarray:
    """The greedy orders of B blocks, (B, n) int16. precedes: (B, n, n) bool."""
    order = np.empty(precedes.shape[:2], np.int16)
    _guess(costs, np.ascontiguousarray(precedes), weights, order)
    return order


@njit(cache=True, nogil=True)
def _guess(costs: packing.Costs, precedes: np.ndarray, weights: Weights, order: np.ndarray) -> None:
    choice, scratch = new_choice(), new_scratch(weights)
    for b in range(len(order)):
        block = packing.Block(costs.instructions[b], costs.machine)
        open_block(block, precedes[b], choice)
        for t in range(order.shape[1]):
            i = preferred(block, precedes[b], choice, t, weights, scratch)
            take(block, precedes[b], choice, i)
            order[b, t] = i


def save(weights: Weights, path: Path) -> None:
    """Write the weights, for these FEATURES."""
    files.write(path, _KIND, " ".join(FEATURES), weights._asdict())


def load(path: Path) -> Weights:
    """The weights of a file. Raises ValueError if it is of another kind, or of other features."""
    names, arrays = files.read(path, _KIND)
    if names != " ".join(FEATURES):
        raise ValueError(f"{path} has weights of the features {names!r}; these are {FEATURES}: learn them anew")
    return Weights(**arrays)
