"""Samplers of random legal orders, by name. Equal DAGs and equal generator states give equal orders."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numba import njit

from learned_schedulers.blocks.dag.counting import SMALL
from learned_schedulers.blocks.dag.linear_extensions import LARGEST, draw_uniform

STATES = 1 << 16  # subsets of more than SMALL instructions that counting their orders may need
DISTANCE = 0.01  # total variation from the uniform distribution that is allowed if counting needs more


def random_ready(precedes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """One legal order of each DAG: every slot gets one of the ready instructions, all equally likely.

    The usual way to draw a topological order, and *not* uniform over orders: an order has probability
    1 / (product over slots of the number of instructions that are ready then). pipeline/corpus/uniformity.py measures
    the difference.

    precedes: (B, n, n) bool, [b, i, k] is true if i must come before k. Returns (B, n) int16: order[b, t] is the
    instruction in slot t. Raises ValueError if a DAG has a cycle.
    """
    return _orders(precedes, lambda matrix, orders: _draw_ready(matrix, rng, orders))


def uniform(precedes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """One legal order of each DAG, every legal order equally likely.

    The distribution is exactly uniform for blocks of at most SMALL instructions, and for longer ones if counting their
    orders needs at most STATES subsets of the instructions. For the few other blocks the order is the end of Bubley and
    Dyer's Markov chain (1999), which runs until its distribution is proven to be within DISTANCE of uniform in total
    variation.

    Shapes are as in `random_ready`. Raises ValueError if a DAG has a cycle or more than 64 instructions.
    """
    if precedes.shape[1] > LARGEST:
        raise ValueError(f"uniform orders are drawn for at most {LARGEST} instructions, not {precedes.shape[1]}")
    states = 1 << precedes.shape[1] if precedes.shape[1] <= SMALL else STATES
    return _orders(precedes, lambda matrix, orders: draw_uniform(matrix, rng, states, DISTANCE, orders))


SAMPLERS: dict[str, Callable[[np.ndarray, np.random.Generator], np.ndarray]] = {
    "random_ready": random_ready,
    "uniform": uniform,
}


def _orders(precedes: np.ndarray, draw: Callable[[np.ndarray, np.ndarray], int]) -> np.ndarray:
    orders = np.empty(precedes.shape[:2], np.int16)
    cyclic_block = draw(np.ascontiguousarray(precedes), orders)
    if cyclic_block >= 0:
        raise ValueError(f"the dependencies of block {cyclic_block} have a cycle: there is no legal order")
    return orders


@njit(cache=True)
def _draw_ready(precedes: np.ndarray, rng: np.random.Generator, orders: np.ndarray) -> int:
    """Fill orders (B, n) int16, every slot with one of the instructions that are ready, all equally likely.

    precedes: (B, n, n) bool. Returns -1, or the first block that has a cycle.
    """
    blocks, n, _ = precedes.shape
    ready = np.empty(n, np.int64)
    for b in range(blocks):
        n_waiting_for = np.zeros(n, np.int64)
        for i in range(n):
            for k in range(n):
                n_waiting_for[k] += precedes[b, i, k]
        n_ready = 0
        for i in range(n):
            if n_waiting_for[i] == 0:
                ready[n_ready] = i
                n_ready += 1
        for slot in range(n):
            if n_ready == 0:
                return b
            position = min(int(rng.random() * n_ready), n_ready - 1)
            i = ready[position]
            orders[b, slot] = i
            n_ready -= 1
            ready[position] = ready[n_ready]
            for k in range(n):
                if precedes[b, i, k]:
                    n_waiting_for[k] -= 1
                    if n_waiting_for[k] == 0:
                        ready[n_ready] = k
                        n_ready += 1
    return -1
