"""Better weights of a preference by trying: changes at random, kept where whole orders take no more cycles.

A (1+1) evolution strategy (Rechenberg, "Evolutionsstrategie", 1973) on the geometric mean of the cycles of greedy
orders, which is what a policy is judged by; rollouts only tell single choices apart. Differences from the book: a
change leaves most weights alone, steps shrink slowly, and stay as they are where the cycles do.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pipeline.blocks.latency.model import makespans
from pipeline.blocks.schedulers.on_machine.preference import greedy
from pipeline.blocks.schedulers.on_machine.rollouts import Batch

_CHANGED = 0.3  # of the weights, in the mean
_WIDEN, _NARROW = 1.3, 0.97  # the step after a gain, and after a loss
_STEPS = (0.02, 2.0)  # bounds, of a weight's size
_SMALL = 0.2  # of the mean size: weights near 0 move by this


def refine(batches: Sequence[Batch], weights: np.ndarray, changes: int, rng: np.random.Generator) -> np.ndarray:
    """Weights (F,) of the FEATURES, with no more cycles on these blocks than those given, after so many changes."""
    size = np.maximum(np.abs(weights), _SMALL * np.abs(weights).mean())
    best, step = cost(batches, weights), 0.5
    for _ in range(changes):
        drawn = rng.normal(size=len(weights)) * (rng.random(len(weights)) < _CHANGED)
        changed = weights + step * size * drawn
        found = cost(batches, changed)
        step = np.clip(step * (_WIDEN if found < best else _NARROW if found > best else 1.0), *_STEPS)
        if found <= best:
            weights, best = changed, found
    return weights


def cost(batches: Sequence[Batch], weights: np.ndarray) -> float:
    """Mean logarithm of the cycles of the orders that the weights prefer."""
    cycles = [makespans(one.timed, greedy(one.seen, one.precedes, weights)[:, None]) for one in batches]
    return float(np.log(np.concatenate(cycles)).mean())
