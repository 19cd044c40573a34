"""Which unit of a group an instruction takes: llvm-mca's round robin (`DefaultResourceStrategy`), on bit sets of units.

Each group remembers which of its units have their turn yet in this round (`turn`), and those that were used before
their turn came, which the next round leaves out (`skipped`).
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def highest(members: int) -> int:
    """The highest unit of a set that is not empty."""
    unit = 0
    for width in (32, 16, 8, 4, 2, 1):
        if members >> (unit + width):
            unit += width
    return unit


@njit(cache=True, nogil=True)
def choose(group: int, ready: int, groups: np.ndarray, turn: np.ndarray, skipped: np.ndarray) -> int:
    """The unit of groups[group] that is taken, of those of it that are ready (one is, at least)."""
    ready &= groups[group]
    if not ready & turn[group]:
        turn[group] = groups[group] ^ skipped[group]
        skipped[group] = 0
        if not ready & turn[group]:
            turn[group] = groups[group]
    unit = highest(ready & turn[group])
    turn[group] &= (2 << unit) - 1
    return unit


@njit(cache=True, nogil=True)
def took(unit: int, groups: np.ndarray, turn: np.ndarray, skipped: np.ndarray) -> None:
    """Tell every group of a unit that it was taken, by whichever instruction."""
    taken = 1 << unit
    for group in range(len(groups)):
        if not groups[group] & taken:
            continue
        if taken > turn[group]:
            skipped[group] |= taken
            continue
        turn[group] &= ~taken
        if not turn[group]:
            turn[group] = groups[group] ^ skipped[group]
            skipped[group] = 0
