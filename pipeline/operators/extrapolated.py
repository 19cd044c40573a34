"""Extrapolated parallel projections inside the affine set: all dependencies at once, then all signs at once.

Let L be the matrices whose rows and columns sum to 1 and which are 0 outside the windows (`affine`).
Every step stays in L. With weights w_k >= 0 on violated constraints g_k(X) > 0 that are linear in X with
gradients -N_k, each point that satisfies them all satisfies the one surrogate sum_k w_k g_k <= 0, so X
steps towards (and, with relaxation > 1, past) the half-space of the surrogate:

    X + relaxation * sum_k w_k g_k / |D|^2 * D,     D = projection onto L's directions of sum_k w_k N_k.

First for the dependencies, g = 1 - (x_b - x_a) with x = X c, w = g / (var_a + var_b), var_i the sum of
squared deviations of the slots in i's window; then for the signs, g = -X, w = g. With w = g / |N|^2 this
is the extrapolation of Pierra (1984) and Combettes (1997), restricted to an affine set as in Bauschke,
Combettes, Kruk (2006).

Why it ends: every slot of a window is taken in some legal order (README), so the mean of all legal orders
is positive on the whole support; and it satisfies a -> b with a gap above 1, unless every other instruction
is an ancestor of a or a descendant of b, in which case both windows are single slots and L holds a -> b by
itself. So the constraints that are left have a point that satisfies them strictly, for every partial
order: no implied equalities, which would slow the iterations down. Projections onto linear inequalities
approach their set linearly (Agmon 1954), so a tolerance above 0 is met after finitely many steps.

Numba kernels for one item, float64.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from pipeline.operators.affine import OPTIONS, project_affine

RELAXATION = 1.7  # of 1.3, 1.5, 1.7 and 1.85 the fewest iterations at n = 10 to 64 (median and 99th percentile)


@njit(**OPTIONS)
def edge_weights(
    first: np.ndarray, last: np.ndarray, before: np.ndarray, after: np.ndarray, weights: np.ndarray
) -> None:
    """1 / (var_a + var_b) for every dependency; 0 where both windows are single slots."""
    for e in range(len(before)):
        a = last[before[e]] - first[before[e]] + 1.0
        b = last[after[e]] - first[after[e]] + 1.0
        total = (a * (a * a - 1) + b * (b * b - 1)) / 12
        weights[e] = 1 / total if total > 0 else 0.0


@njit(**OPTIONS)
def violations(
    matrix: np.ndarray,
    first: np.ndarray,
    last: np.ndarray,
    size: int,
    before: np.ndarray,
    after: np.ndarray,
    expected: np.ndarray,
) -> tuple[float, float]:
    """Largest gap of a dependency and largest negative entry; fills the expected slots."""
    shift = 0.5 * (size - 1)
    lowest, gap = 0.0, 0.0
    for i in range(size):
        total = 0.0
        row = matrix[i]
        for j in range(first[i], last[i] + 1):
            total += row[j] * (j - shift)
            lowest = min(lowest, row[j])
        expected[i] = total
    for e in range(len(before)):
        gap = max(gap, 1 - (expected[after[e]] - expected[before[e]]))
    return gap, -lowest


@njit(**OPTIONS)
def edge_direction(
    first: np.ndarray,
    last: np.ndarray,
    size: int,
    before: np.ndarray,
    after: np.ndarray,
    weights: np.ndarray,
    expected: np.ndarray,
    slope: np.ndarray,
    direction: np.ndarray,
    factor: np.ndarray,
    pivots: np.ndarray,
    columns: np.ndarray,
) -> float:
    """D of the dependencies and the surrogate's value sum w g; D is 0 where none is violated."""
    shift = 0.5 * (size - 1)
    for i in range(size):
        slope[i] = 0.0
    value = 0.0
    for e in range(len(before)):
        gap = 1 - (expected[after[e]] - expected[before[e]])
        if gap > 0:
            push = gap * weights[e]
            value += gap * push
            slope[after[e]] += push
            slope[before[e]] -= push
    for i in range(size):
        for j in range(first[i], last[i] + 1):
            direction[i, j] = slope[i] * (j - shift)
    if value > 0:
        project_affine(direction, 0.0, first, last, size, factor, pivots, columns)
    return value


@njit(**OPTIONS)
def sign_direction(
    matrix: np.ndarray,
    first: np.ndarray,
    last: np.ndarray,
    size: int,
    direction: np.ndarray,
    factor: np.ndarray,
    pivots: np.ndarray,
    columns: np.ndarray,
) -> float:
    """D of the signs and the surrogate's value sum w g."""
    value = 0.0
    for i in range(size):
        for j in range(first[i], last[i] + 1):
            below = max(-matrix[i, j], 0.0)
            direction[i, j] = below
            value += below * below
    if value > 0:
        project_affine(direction, 0.0, first, last, size, factor, pivots, columns)
    return value


@njit(**OPTIONS)
def step(
    matrix: np.ndarray, value: float, direction: np.ndarray, first: np.ndarray, last: np.ndarray, size: int
) -> tuple[float, float]:
    """matrix += t * direction with t = relaxation * value / |direction|^2; returns t and |direction|^2."""
    square = 0.0
    if value > 0:
        for i in range(size):
            for j in range(first[i], last[i] + 1):
                square += direction[i, j] * direction[i, j]
    if square <= 0:
        return 0.0, 0.0
    length = RELAXATION * value / square
    for i in range(size):
        for j in range(first[i], last[i] + 1):
            matrix[i, j] += length * direction[i, j]
    return length, square


@njit(**OPTIONS)
def extrapolate(
    matrix: np.ndarray,
    first: np.ndarray,
    last: np.ndarray,
    size: int,
    before: np.ndarray,
    after: np.ndarray,
    weights: np.ndarray,
    tolerance: float,
    iterations: int,
    history: np.ndarray,
    direction: np.ndarray,
    expected: np.ndarray,
    slope: np.ndarray,
    factor: np.ndarray,
    pivots: np.ndarray,
    columns: np.ndarray,
) -> tuple[int, float]:
    """Iterate in place from a matrix in L. Returns the number of iterations and the largest violation.

    history: (2 * iterations, n, n) takes the matrix before every half-step, or has length 0.
    """
    gap, below = violations(matrix, first, last, size, before, after, expected)
    for k in range(iterations):
        if max(gap, below) <= tolerance:
            return k, max(gap, below)
        if len(history):
            history[2 * k, :size, :size] = matrix[:size, :size]
        value = edge_direction(
            first, last, size, before, after, weights, expected, slope, direction, factor, pivots, columns
        )
        step(matrix, value, direction, first, last, size)
        if len(history):
            history[2 * k + 1, :size, :size] = matrix[:size, :size]
        value = sign_direction(matrix, first, last, size, direction, factor, pivots, columns)
        step(matrix, value, direction, first, last, size)
        gap, below = violations(matrix, first, last, size, before, after, expected)
    return iterations, max(gap, below)


@njit(**OPTIONS)
def _step_cotangents(
    cotangent: np.ndarray, direction: np.ndarray, value: float, first: np.ndarray, last: np.ndarray, size: int
) -> tuple[float, bool]:
    """Reverse of `step`: `direction` becomes its own cotangent; returns the one of `value`.

    X' = X + t D, t = r v / |D|^2, with the cotangent G of X': D gets t G - 2 t <G, D> / |D|^2 D.
    """
    square, inner = 0.0, 0.0
    for i in range(size):
        for j in range(first[i], last[i] + 1):
            square += direction[i, j] * direction[i, j]
            inner += cotangent[i, j] * direction[i, j]
    if square <= 0:
        return 0.0, False
    length = RELAXATION * value / square
    back = 2 * length * inner / square
    for i in range(size):
        for j in range(first[i], last[i] + 1):
            direction[i, j] = length * cotangent[i, j] - back * direction[i, j]
    return RELAXATION * inner / square, True


@njit(**OPTIONS)
def extrapolate_backward(
    cotangent: np.ndarray,
    spent: int,
    history: np.ndarray,
    first: np.ndarray,
    last: np.ndarray,
    size: int,
    before: np.ndarray,
    after: np.ndarray,
    weights: np.ndarray,
    direction: np.ndarray,
    expected: np.ndarray,
    slope: np.ndarray,
    factor: np.ndarray,
    pivots: np.ndarray,
    columns: np.ndarray,
) -> None:
    """Reverse of `spent` iterations of `extrapolate`; `cotangent` in place, kept within L's directions."""
    shift = 0.5 * (size - 1)
    project_affine(cotangent, 0.0, first, last, size, factor, pivots, columns)
    for k in range(spent - 1, -1, -1):
        matrix = history[2 * k + 1]
        value = sign_direction(matrix, first, last, size, direction, factor, pivots, columns)
        if value > 0:
            weight, moved = _step_cotangents(cotangent, direction, value, first, last, size)
            if moved:
                for i in range(size):
                    for j in range(first[i], last[i] + 1):
                        if matrix[i, j] < 0:
                            cotangent[i, j] -= direction[i, j] - 2 * weight * matrix[i, j]
                project_affine(cotangent, 0.0, first, last, size, factor, pivots, columns)
        matrix = history[2 * k]
        violations(matrix, first, last, size, before, after, expected)
        value = edge_direction(
            first, last, size, before, after, weights, expected, slope, direction, factor, pivots, columns
        )
        if value > 0:
            weight, moved = _step_cotangents(cotangent, direction, value, first, last, size)
            if moved:
                for i in range(size):
                    total = 0.0
                    for j in range(first[i], last[i] + 1):
                        total += direction[i, j] * (j - shift)
                    slope[i] = total
                    columns[i] = 0.0  # borrowed: cotangent of the expected slots
                for e in range(len(before)):
                    gap = 1 - (expected[after[e]] - expected[before[e]])
                    if gap > 0:
                        push = weights[e] * (slope[after[e]] - slope[before[e]] + 2 * weight * gap)
                        columns[after[e]] -= push
                        columns[before[e]] += push
                for i in range(size):
                    for j in range(first[i], last[i] + 1):
                        cotangent[i, j] += columns[i] * (j - shift)
                project_affine(cotangent, 0.0, first, last, size, factor, pivots, columns)
