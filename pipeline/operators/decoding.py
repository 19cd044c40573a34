"""Soft assignment -> order."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment

from pipeline.dag.topology import greedy_orders


def hungarian(matrix: np.ndarray) -> np.ndarray:
    """Maximum-weight perfect matching of instructions to slots (POCSNet, equation 10).

    matrix: (B, n, n), [b, i, j] of instruction i in slot j. Returns (B, n) int16 orders. A matrix
    that satisfies every dependency can still round to an order that violates one.
    """
    slots = [linear_sum_assignment(item, maximize=True)[1] for item in matrix]
    return np.argsort(np.array(slots).reshape(matrix.shape[:2]), axis=1).astype(np.int16)


def topological_fill(matrix: np.ndarray, precedes: np.ndarray) -> np.ndarray:
    """Slot by slot, the ready instruction with the largest entry; legal by construction.

    matrix: (B, n, n); precedes: (B, n, n) bool, acyclic. Returns (B, n) int16 orders.
    """
    return greedy_orders(precedes, matrix)
