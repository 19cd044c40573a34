"""Among many orders of equal cycles, one that a network can learn: as near to a ranking as the cycles allow.

A search ends at any of these orders by chance. A network cannot predict which one, so it would learn their mixture.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from learned_schedulers.blocks.methods.on_machine.annealing import shift
from learned_schedulers.blocks.methods.on_machine.either import (
    Block,
    Costs,
    Memory,
    graph_of,
    makespan_of,
    memory,
    row_of,
)
from learned_schedulers.blocks.problems.problems import Problems


def settle(problems: Problems, costs: Costs, order: np.ndarray, ranking: np.ndarray) -> np.ndarray:
    """Bring legal orders (B, n) nearer to the orders `ranking`, (B, n), in place; returns their cycles, (B,) int32.

    For each slot in turn, the first ready instruction by the ranking that does not lengthen the makespan moves there.
    So no order takes more cycles than before.
    """
    rank, cycles = np.argsort(ranking, axis=1), np.empty(len(order), np.int32)
    _settle(costs, np.ascontiguousarray(problems.precedes), order, rank, memory(costs), cycles)
    return cycles


@njit(cache=True, nogil=True)
def _settle(
    costs: Costs, precedes: np.ndarray, order: np.ndarray, rank: np.ndarray, memory: Memory, cycles: np.ndarray
) -> None:
    for b in range(len(order)):
        block = row_of(costs, b)
        cycles[b] = _settle_one(block, graph_of(block, precedes[b]).reach, order[b], rank[b], memory)


@njit(cache=True, nogil=True)
def _settle_one(block: Block, reach: np.ndarray, order: np.ndarray, rank: np.ndarray, memory: Memory) -> int:
    n = len(order)
    cycles = makespan_of(block, order, memory)
    refused = np.empty(n, np.bool_)
    for t in range(n - 1):
        refused[:] = False
        while True:
            source = _first(reach, order, rank, refused, t)
            if source == t:
                break
            moved = order[source]
            shift(order, source, t)
            new_cycles = makespan_of(block, order, memory)
            if new_cycles <= cycles:
                cycles = new_cycles
                break
            shift(order, t, source)
            refused[moved] = True
    return cycles


@njit(cache=True, nogil=True)
def _first(reach: np.ndarray, order: np.ndarray, rank: np.ndarray, refused: np.ndarray, t: int) -> int:
    """Slot of the instruction of lowest rank among those from slot t on that may move to t and were not refused."""
    best = t
    for source in range(t + 1, len(order)):
        i = order[source]
        if refused[i] or rank[i] >= rank[order[best]]:
            continue
        ready = True
        for before in range(t, source):
            ready &= not reach[order[before], i]
        if ready:
            best = source
    return best
