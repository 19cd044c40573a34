"""POPOCS as the paper prints it: cyclic projections, one constraint after the other.

Jain & Amarasinghe 2019, algorithm 1. One iteration projects onto row sums = 1, column sums = 1,
non-negativity, and then, one after the other, onto the half-space of every dependency a -> b,

    <X[b, :], v> - <X[a, :], v> >= 1,    v = (1, ..., n)    (8).

Deviations: the printed algorithm lacks the ReLU, which the slides have; it writes the half-space's
normal with entries +-1, where equation (8) has +-v, used here.

Made fast without changing the numbers: every half-space looks at X only through the expected slots
x = X v and moves X only along v, so the sequence over dependencies runs on the n numbers x, and X
follows in one step, X += (x' - x) v^T / |v|^2.

Numba kernels over the items of a batch from `start` on in strides, float64; the gradient runs the
iterations again and keeps only which constraints were active.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from pipeline.operators.affine import OPTIONS


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
    """`iterations` in place; positive (K, n, n) and active (K, E) keep what was active, or have length 0."""
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
                moved[after[e]] += 0.5 * gap  # the normal is (v, -v), |(v, -v)|^2 = 2 |v|^2: half the gap each
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
    sizes: np.ndarray,
    offsets: np.ndarray,
    before: np.ndarray,
    after: np.ndarray,
    iterations: int,
    found: np.ndarray,
) -> None:
    """Fills found (B, n, n), zeros in the padding."""
    batch, n, _ = proposal.shape
    matrix, slots, moved, columns = np.empty((n, n)), np.empty(n), np.empty(n), np.empty(n)
    positive, active = np.empty((0, 0, 0), np.bool_), np.empty((0, 0), np.bool_)
    for b in range(start, batch, stride):
        size = sizes[b]
        a, z = before[offsets[b] : offsets[b + 1]], after[offsets[b] : offsets[b + 1]]
        matrix[:size, :size] = proposal[b, :size, :size]
        _iterate(matrix, size, a, z, iterations, slots, moved, columns, positive, active)
        found[b] = 0.0
        found[b, :size, :size] = matrix[:size, :size]


@njit(**OPTIONS)
def cyclic_backward(
    start: int,
    stride: int,
    proposal: np.ndarray,
    cotangent: np.ndarray,
    sizes: np.ndarray,
    offsets: np.ndarray,
    before: np.ndarray,
    after: np.ndarray,
    iterations: int,
    gradients: np.ndarray,
) -> None:
    """Fills gradients (B, n, n) with the product of `cotangent` and the derivative of `cyclic_forward`."""
    batch, n, _ = proposal.shape
    most = 0
    for b in range(batch):
        most = max(most, offsets[b + 1] - offsets[b])
    matrix, slots, moved, columns = np.empty((n, n)), np.empty(n), np.empty(n), np.empty(n)
    positive, active = np.empty((iterations, n, n), np.bool_), np.empty((iterations, most), np.bool_)
    for b in range(start, batch, stride):
        size = sizes[b]
        norm, share = size * (size + 1) * (2 * size + 1) / 6, 1.0 / size
        a, z = before[offsets[b] : offsets[b + 1]], after[offsets[b] : offsets[b + 1]]
        matrix[:size, :size] = proposal[b, :size, :size]
        _iterate(matrix, size, a, z, iterations, slots, moved, columns, positive, active)
        matrix[:size, :size] = cotangent[b, :size, :size]
        for k in range(iterations - 1, -1, -1):
            for i in range(size):
                total = 0.0
                for j in range(size):
                    total += matrix[i, j] * (j + 1)
                slots[i] = total / norm
                moved[i] = slots[i]
            for e in range(len(a) - 1, -1, -1):
                if active[k, e]:
                    gap = 0.5 * (moved[z[e]] - moved[a[e]])
                    moved[z[e]] -= gap
                    moved[a[e]] += gap
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
