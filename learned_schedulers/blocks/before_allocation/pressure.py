"""Registers that are alive in each slot of an order, by the model of `problem`."""

from __future__ import annotations

import numpy as np
from numba import njit

from learned_schedulers.blocks.before_allocation.problem import Problem, Values


def pressure(problem: Problem, order: np.ndarray) -> np.ndarray:
    """(n, 2) int64: general and vector registers that are alive behind each slot of a legal order (n,).

    A result that is not read needs its registers in its own slot alone.
    """
    return _pressure(problem.values, np.ascontiguousarray(order, np.int64))


def peak(problem: Problem, order: np.ndarray) -> np.ndarray:
    """(2,) int64: the most general and vector registers that are alive; 0 for an empty block."""
    return pressure(problem, order).max(0, initial=0)


def excess(problem: Problem, order: np.ndarray) -> int:
    """Sum over slots and classes of the registers that are alive beyond the problem's limits."""
    return int(np.maximum(pressure(problem, order) - np.array(problem.limits), 0).sum())


@njit(cache=True, nogil=True)
def _pressure(values: Values, order: np.ndarray) -> np.ndarray:
    n = len(order)
    begin, last = np.zeros(len(values.stays), np.int64), np.full(len(values.stays), -1)
    for slot in range(n):
        i = order[slot]
        begin[i] = slot
        last[i] = slot + 1  # at least its own slot
        for v in values.reads.items[values.reads.offsets[i] : values.reads.offsets[i + 1]]:
            last[v] = slot
    changes = np.zeros((n + 1, 2), np.int64)
    for v in range(len(values.stays)):
        kind = values.classes[v] - 1
        if kind >= 0:
            end = n if values.stays[v] else last[v]
            if end > begin[v]:
                changes[begin[v], kind] += values.registers[v]
                changes[end, kind] -= values.registers[v]
    for slot in range(1, n):
        changes[slot] += changes[slot - 1]
    return changes[:n]
