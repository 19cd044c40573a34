"""Better weights of a preference by random changes: a change is accepted if the whole orders are not slower.

A (1+1) evolution strategy (Rechenberg, "Evolutionsstrategie", 1973) on the geometric mean of the cycles of greedy
orders. A policy is judged by this mean, while rollouts compare single choices only. Differences from the book: a change
leaves most weights as they are; steps shrink slowly; a step does not change if the cycles do not change.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from learned_schedulers.blocks.methods.on_machine.preference import greedy
from learned_schedulers.blocks.methods.on_machine.rollouts import Batch
from learned_schedulers.blocks.processors.model import makespans

_CHANGED = 0.3  # mean share of the weights that change
_WIDEN, _NARROW = 1.3, 0.97  # the step after a gain, and after a loss
_STEPS = (0.02, 2.0)  # bounds, as multiples of a weight's size
_SMALL = 0.2  # least size of a weight, as a share of the mean size


def refine(batches: Sequence[Batch], weights: np.ndarray, changes: int, rng: np.random.Generator) -> np.ndarray:
    """Weights (F,) of the FEATURES after this number of changes; their orders of these blocks are not slower."""
    size = np.maximum(np.abs(weights), _SMALL * np.abs(weights).mean())
    best_cost, step = cost(batches, weights), 0.5
    for _ in range(changes):
        drawn = rng.normal(size=len(weights)) * (rng.random(len(weights)) < _CHANGED)
        changed = weights + step * size * drawn
        changed_cost = cost(batches, changed)
        step = np.clip(
            step * (_WIDEN if changed_cost < best_cost else _NARROW if changed_cost > best_cost else 1.0), *_STEPS
        )
        if changed_cost <= best_cost:
            weights, best_cost = changed, changed_cost
    return weights


def cost(batches: Sequence[Batch], weights: np.ndarray) -> float:
    """Mean logarithm of the cycles of the greedy orders by these weights."""
    cycles = [makespans(batch.timed, greedy(batch.visible, batch.precedes, weights)[:, None]) for batch in batches]
    return float(np.log(np.concatenate(cycles)).mean())
