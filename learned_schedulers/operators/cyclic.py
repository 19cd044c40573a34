"""POPOCS as the paper prints it: cyclic projections, one constraint after the other.

Jain & Amarasinghe 2019, algorithm 1. One iteration projects onto row sums = 1, column sums = 1,
non-negativity, and then, one after the other, onto the half-space of every dependency a -> b,

    <X[b, :], v> - <X[a, :], v> >= 1,    v = (1, ..., n)    (8).

Deviations from the printed algorithm: it lacks the ReLU, which the slides have. It writes the half-space's
normal with entries +-1; this module uses the +-v of equation (8).

A reformulation saves time without changing the numbers. Every half-space depends on X only through the expected
slots x = X v, and moves X only along v. So the sequence over dependencies works on the n numbers x, and X
follows in one step, X += (x' - x) v^T / |v|^2.

Numba kernels, float64, for items start, start + stride, ... of a batch. The gradient repeats the iterations and
stores only which constraints were active.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from learned_schedulers.operators.affine import OPTIONS, most_edges
from learned_schedulers.operators.orders import OrderArrays


@njit(**OPTIONS)
def _iterate(
    matrix: np.ndarray,
    size: int,
    before: np.ndarray,
    after: np.ndarray,
    iterations: int,
    slots: np.ndarray,
    moved: np.ndarray,
    columns: np.ndarray,
    positive: np.ndarray,
    active: np.ndarray,
) -> None:
    """Iterate in place; positive (K, n, n) and active (K, E) record the active constraints, or have length 0."""
    norm, share = size * (size + 1) * (2 * size + 1) / 6, 1.0 / size
    for k in range(iterations):
        for j in range(size):
            columns[j] = 1.0
        for i in range(size):
            total = 1.0
            for j in range(size):
                total -= matrix[i, j]
            total *= share
            for j in range(size):
                matrix[i, j] += total
                columns[j] -= matrix[i, j]
        for i in range(size):
            total = 0.0
            for j in range(size):
                entry = max(matrix[i, j] + columns[j] * share, 0.0)
                matrix[i, j] = entry
                total += entry * (j + 1)
                if len(positive):
                    positive[k, i, j] = entry > 0
            slots[i] = total
            moved[i] = total
        for e in range(len(before)):
            gap = 1 - (moved[after[e]] - moved[before[e]])
            if gap > 0:
                moved[after[e]] += 0.5 * gap  # the normal is (v, -v), |(v, -v)|^2 = 2 |v|^2: each moves by half the gap
                moved[before[e]] -= 0.5 * gap
            if len(active):
                active[k, e] = gap > 0
        for i in range(size):
            push = (moved[i] - slots[i]) / norm
            for j in range(size):
                matrix[i, j] += push * (j + 1)


@njit(**OPTIONS)
def cyclic_forward(
    start: int,
    stride: int,
    proposal: np.ndarray,
    orders: OrderArrays,
    iterations: int,
    result: np.ndarray,
) -> None:
    """Fill result (B, n, n), with zeros in the padding."""
    sizes, offsets = orders.sizes, orders.offsets
    batch, n, _ = proposal.shape
    matrix, slots, moved, columns = np.empty((n, n)), np.empty(n), np.empty(n), np.empty(n)
    positive, active = np.empty((0, 0, 0), np.bool_), np.empty((0, 0), np.bool_)
    for b in range(start, batch, stride):
        size = sizes[b]
        before, after = orders.before[offsets[b] : offsets[b + 1]], orders.after[offsets[b] : offsets[b + 1]]
        matrix[:size, :size] = proposal[b, :size, :size]
        _iterate(matrix, size, before, after, iterations, slots, moved, columns, positive, active)
        result[b] = 0.0
        result[b, :size, :size] = matrix[:size, :size]


@njit(**OPTIONS)
def cyclic_backward(
    start: int,
    stride: int,
    proposal: np.ndarray,
    cotangent: np.ndarray,
    orders: OrderArrays,
    iterations: int,
    gradients: np.ndarray,
) -> None:
    """Fill gradients (B, n, n) with the product of `cotangent` and the derivative of `cyclic_forward`."""
    sizes, offsets = orders.sizes, orders.offsets
    batch, n, _ = proposal.shape
    edges = most_edges(offsets)
    matrix, slots, moved, columns = np.empty((n, n)), np.empty(n), np.empty(n), np.empty(n)
    positive, active = np.empty((iterations, n, n), np.bool_), np.empty((iterations, edges), np.bool_)
    for b in range(start, batch, stride):
        size = sizes[b]
        norm, share = size * (size + 1) * (2 * size + 1) / 6, 1.0 / size
        before, after = orders.before[offsets[b] : offsets[b + 1]], orders.after[offsets[b] : offsets[b + 1]]
        matrix[:size, :size] = proposal[b, :size, :size]
        _iterate(matrix, size, before, after, iterations, slots, moved, columns, positive, active)
        matrix[:size, :size] = cotangent[b, :size, :size]
        for k in range(iterations - 1, -1, -1):
            for i in range(size):
                total = 0.0
                for j in range(size):
                    total += matrix[i, j] * (j + 1)
                slots[i] = total / norm
                moved[i] = slots[i]
            for e in range(len(before) - 1, -1, -1):
                if active[k, e]:
                    gap = 0.5 * (moved[after[e]] - moved[before[e]])
                    moved[after[e]] -= gap
                    moved[before[e]] += gap
            for j in range(size):
                columns[j] = 0.0
            for i in range(size):
                push = moved[i] - slots[i]
                for j in range(size):
                    entry = matrix[i, j] + push * (j + 1) if positive[k, i, j] else 0.0
                    matrix[i, j] = entry
                    columns[j] += entry
            for i in range(size):
                total = 0.0
                for j in range(size):
                    matrix[i, j] -= columns[j] * share
                    total += matrix[i, j]
                total *= share
                for j in range(size):
                    matrix[i, j] -= total
        gradients[b] = 0.0
        gradients[b, :size, :size] = matrix[:size, :size]
