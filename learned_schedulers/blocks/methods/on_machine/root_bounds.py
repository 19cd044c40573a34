"""Cycles that no legal order of a block undercuts, before any instruction is chosen."""

from __future__ import annotations

import numpy as np
from numba import njit

from learned_schedulers.blocks.methods.on_machine.either import Costs, bound_of, graph_of, row_of


@njit(cache=True, nogil=True)
def root_bounds(costs: Costs, precedes: np.ndarray) -> np.ndarray:
    """Lower bounds on the cycles of a single pass of B blocks, (B,) int64. precedes: (B, n, n) bool."""
    bounds = np.empty(len(precedes), np.int64)
    for b in range(len(precedes)):
        block = row_of(costs, b)
        bounds[b] = bound_of(block, graph_of(block, precedes[b]))
    return bounds
