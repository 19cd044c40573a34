"""Which unit of a group an instruction occupies: llvm-mca's round robin (`DefaultResourceStrategy`), on bit sets.

For each group, `turn` holds the units whose turn is still to come in this round. `skipped` holds the units that were
used before their turn; the next round leaves them out.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def highest(members: int) -> int:
    """The highest unit of a nonempty set."""
    unit = 0
    for width in (32, 16, 8, 4, 2, 1):
        if members >> (unit + width):
            unit += width
    return unit


@njit(cache=True, nogil=True)
def choose(group: int, ready: int, groups: np.ndarray, turn: np.ndarray, skipped: np.ndarray) -> int:
    """The unit of groups[group] whose turn it is. ready: bit set of the units that are free, at least one of them."""
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
def mark_used(unit: int, groups: np.ndarray, turn: np.ndarray, skipped: np.ndarray) -> None:
    """Record in every group that contains the unit that some instruction uses it."""
    bit = 1 << unit
    for group in range(len(groups)):
        if not groups[group] & bit:
            continue
        if bit > turn[group]:
            skipped[group] |= bit
            continue
        turn[group] &= ~bit
        if not turn[group]:
            turn[group] = groups[group] ^ skipped[group]
            skipped[group] = 0
