"""Random legal orders, by name. Same DAGs and same generator state: same orders."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numba import njit

from pipeline.blocks.dag.counting import SMALL
from pipeline.blocks.dag.linear_extensions import LARGEST, draw_uniform

STATES = 1 << 16  # subsets of more than SMALL instructions that counting their orders may need
DISTANCE = 0.01  # total variation from uniform that is allowed beyond


def random_ready(precedes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """One legal order of each DAG: every slot takes one of the ready instructions, all equally likely.

    The usual way to draw a topological order, and *not* uniform over orders: an order has probability
    1 / (product over slots of the number then ready). analysis/uniformity.py measures by how much.

    precedes: (B, n, n) bool, [b, i, k] where i must come before k. Returns (B, n) int16: order[b, t] is the instruction
    in slot t. Raises ValueError where a DAG has a cycle.
    """
    return _orders(precedes, lambda matrix, orders: _draw_ready(matrix, rng, orders))


def uniform(precedes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """One legal order of each DAG, every legal order equally likely.

    Exactly so for blocks of at most SMALL instructions, and for longer ones where counting the orders needs at most
    STATES subsets of the instructions. For the few beyond, the end of Bubley and Dyer's Markov chain (1999), run
    until its distribution is proven to be within DISTANCE of uniform in total variation.

    Shapes as in `random_ready`. Raises ValueError where a DAG has a cycle or more than 64 instructions.
    """
    if precedes.shape[1] > LARGEST:
        raise ValueError(f"uniform orders are drawn of at most {LARGEST} instructions, not {precedes.shape[1]}")
    states = 1 << precedes.shape[1] if precedes.shape[1] <= SMALL else STATES
    return _orders(precedes, lambda matrix, orders: draw_uniform(matrix, rng, states, DISTANCE, orders))


SAMPLERS: dict[str, Callable[[np.ndarray, np.random.Generator], np.ndarray]] = {
    "random_ready": random_ready,
    "uniform": uniform,
}


def _orders(precedes: np.ndarray, draw: Callable[[np.ndarray, np.ndarray], int]) -> np.ndarray:
    orders = np.empty(precedes.shape[:2], np.int16)
    cyclic = draw(np.ascontiguousarray(precedes), orders)
    if cyclic >= 0:
        raise ValueError(f"the dependencies of block {cyclic} have a cycle: there is no legal order")
    return orders


@njit(cache=True)
def _draw_ready(precedes: np.ndarray, rng: np.random.Generator, orders: np.ndarray) -> int:
    """Fill orders (B, n) int16, every slot with one of the instructions that are ready, all equally likely.

    precedes: (B, n, n) bool. Returns -1, or the first block that has a cycle.
    """
    blocks, n, _ = precedes.shape
    ready = np.empty(n, np.int64)
    for b in range(blocks):
        waiting = np.zeros(n, np.int64)
        for i in range(n):
            for k in range(n):
                waiting[k] += precedes[b, i, k]
        possible = 0
        for i in range(n):
            if waiting[i] == 0:
                ready[possible] = i
                possible += 1
        for slot in range(n):
            if possible == 0:
                return b
            chosen = min(int(rng.random() * possible), possible - 1)
            i = ready[chosen]
            orders[b, slot] = i
            possible -= 1
            ready[chosen] = ready[possible]
            for k in range(n):
                if precedes[b, i, k]:
                    waiting[k] -= 1
                    if waiting[k] == 0:
                        ready[possible] = k
                        possible += 1
    return -1
