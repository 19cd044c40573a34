"""Extrapolated parallel projections inside the affine set: all dependencies at once, then all signs at once.

Let L be the set of matrices whose rows and columns sum to 1 and which are 0 outside the windows (`affine`).
Every step stays in L. Take weights w_k >= 0 on violated constraints g_k(X) > 0 that are linear in X with
gradients -N_k. A point that satisfies all of them also satisfies the one surrogate sum_k w_k g_k <= 0, so X
moves towards (and, with relaxation > 1, past) the half-space of the surrogate:

    X + relaxation * sum_k w_k g_k / |D|^2 * D,     D = projection onto L's directions of sum_k w_k N_k.

The first step is for the dependencies: g = 1 - (x_b - x_a) with x = X c, and w = g / (var_a + var_b), where
var_i is the sum of squared deviations of the slots in i's window. The second step is for the signs: g = -X and
w = g. With w = g / |N|^2 this is the extrapolation of Pierra (1984) and Combettes (1997), restricted to an
affine set as in Bauschke, Combettes, Kruk (2006).

The iterations end for the following reason. Some legal order uses each slot of a window (README), so the mean
of all legal orders is positive on the whole support. The mean also satisfies a -> b with a gap above 1, unless
every other instruction is an ancestor of a or a descendant of b; then both windows are single slots, and L
implies a -> b. So for every partial order, some point satisfies all other constraints strictly: there are no
implied equalities, which would slow the iterations down. Projections onto linear inequalities approach their
set linearly (Agmon 1954), so a tolerance above 0 is met after finitely many steps.

Numba kernels for one item, float64.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from learned_schedulers.operators.affine import OPTIONS, AffineSystem, Item, project_affine

RELAXATION = 1.7  # of 1.3, 1.5, 1.7 and 1.85 the fewest iterations at n = 10 to 64 (median and 99th percentile)


class Scratch(NamedTuple):
    """Scratch arrays of the iterations; `expected` holds the expected slots x after `violations`."""

    direction: np.ndarray  # (n, n)
    expected: np.ndarray  # (n,)
    expected_cotangent: np.ndarray  # (n,)
    slope: np.ndarray  # (n,)


@njit(**OPTIONS)
def edge_weights(item: Item, weights: np.ndarray) -> None:
    """Fill weights (E,) with 1 / (var_a + var_b) for every dependency; 0 where both windows are single slots."""
    first, last, before, after = item.first, item.last, item.before, item.after
    for e in range(len(before)):
        a = last[before[e]] - first[before[e]] + 1.0
        b = last[after[e]] - first[after[e]] + 1.0
        total = (a * (a * a - 1) + b * (b * b - 1)) / 12
        weights[e] = 1 / total if total > 0 else 0.0


@njit(**OPTIONS)
def violations(matrix: np.ndarray, item: Item, expected: np.ndarray) -> tuple[float, float]:
    """Largest gap of a dependency, and absolute value of the most negative entry; fills the expected slots."""
    first, last, size, before, after = item
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
def edge_direction(item: Item, weights: np.ndarray, system: AffineSystem, scratch: Scratch) -> float:
    """Fill `direction` with D of the dependencies; returns the surrogate's value sum w g. D is 0 if the value is 0."""
    first, last, size, before, after = item
    direction, expected, slope = scratch.direction, scratch.expected, scratch.slope
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
        project_affine(direction, 0.0, item, system)
    return value


@njit(**OPTIONS)
def sign_direction(matrix: np.ndarray, item: Item, system: AffineSystem, direction: np.ndarray) -> float:
    """Fill `direction` with D of the signs; returns the surrogate's value sum w g."""
    first, last, size = item.first, item.last, item.size
    value = 0.0
    for i in range(size):
        for j in range(first[i], last[i] + 1):
            below = max(-matrix[i, j], 0.0)
            direction[i, j] = below
            value += below * below
    if value > 0:
        project_affine(direction, 0.0, item, system)
    return value


@njit(**OPTIONS)
def step(matrix: np.ndarray, value: float, direction: np.ndarray, item: Item) -> None:
    """matrix += t * direction, with t = relaxation * value / |direction|^2."""
    first, last, size = item.first, item.last, item.size
    square = 0.0
    if value > 0:
        for i in range(size):
            for j in range(first[i], last[i] + 1):
                square += direction[i, j] * direction[i, j]
    if square <= 0:
        return
    length = RELAXATION * value / square
    for i in range(size):
        for j in range(first[i], last[i] + 1):
            matrix[i, j] += length * direction[i, j]


@njit(**OPTIONS)
def extrapolate(
    matrix: np.ndarray,
    item: Item,
    weights: np.ndarray,
    tolerance: float,
    iterations: int,
    history: np.ndarray,
    system: AffineSystem,
    scratch: Scratch,
) -> tuple[int, float]:
    """Iterate in place from a matrix in L. Returns the number of iterations and the largest violation.

    history: (2 * iterations, n, n) receives the matrix before every half-step, or has length 0.
    """
    size = item.size
    gap, below = violations(matrix, item, scratch.expected)
    for k in range(iterations):
        if max(gap, below) <= tolerance:
            return k, max(gap, below)
        if len(history):
            history[2 * k, :size, :size] = matrix[:size, :size]
        value = edge_direction(item, weights, system, scratch)
        step(matrix, value, scratch.direction, item)
        if len(history):
            history[2 * k + 1, :size, :size] = matrix[:size, :size]
        value = sign_direction(matrix, item, system, scratch.direction)
        step(matrix, value, scratch.direction, item)
        gap, below = violations(matrix, item, scratch.expected)
    return iterations, max(gap, below)


@njit(**OPTIONS)
def _step_cotangents(cotangent: np.ndarray, direction: np.ndarray, value: float, item: Item) -> tuple[float, bool]:
    """Reverse of `step`: replaces `direction` by its cotangent; returns that of `value`, and whether D is not 0.

    X' = X + t D, t = r v / |D|^2. If G is the cotangent of X', that of D is t G - 2 t <G, D> / |D|^2 D.
    """
    first, last, size = item.first, item.last, item.size
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
    iterations: int,
    history: np.ndarray,
    item: Item,
    weights: np.ndarray,
    system: AffineSystem,
    scratch: Scratch,
) -> None:
    """Reverse of `iterations` iterations of `extrapolate`; changes `cotangent` in place, within L's directions."""
    first, last, size, before, after = item
    direction, expected, slope = scratch.direction, scratch.expected, scratch.slope
    expected_cotangent = scratch.expected_cotangent
    shift = 0.5 * (size - 1)
    project_affine(cotangent, 0.0, item, system)
    for k in range(iterations - 1, -1, -1):
        matrix = history[2 * k + 1]
        value = sign_direction(matrix, item, system, direction)
        if value > 0:
            weight, moved = _step_cotangents(cotangent, direction, value, item)
            if moved:
                for i in range(size):
                    for j in range(first[i], last[i] + 1):
                        if matrix[i, j] < 0:
                            cotangent[i, j] -= direction[i, j] - 2 * weight * matrix[i, j]
                project_affine(cotangent, 0.0, item, system)
        matrix = history[2 * k]
        violations(matrix, item, expected)
        value = edge_direction(item, weights, system, scratch)
        if value > 0:
            weight, moved = _step_cotangents(cotangent, direction, value, item)
            if moved:
                for i in range(size):
                    total = 0.0
                    for j in range(first[i], last[i] + 1):
                        total += direction[i, j] * (j - shift)
                    slope[i] = total
                    expected_cotangent[i] = 0.0
                for e in range(len(before)):
                    gap = 1 - (expected[after[e]] - expected[before[e]])
                    if gap > 0:
                        push = weights[e] * (slope[after[e]] - slope[before[e]] + 2 * weight * gap)
                        expected_cotangent[after[e]] -= push
                        expected_cotangent[before[e]] += push
                for i in range(size):
                    for j in range(first[i], last[i] + 1):
                        cotangent[i, j] += expected_cotangent[i] * (j - shift)
                project_affine(cotangent, 0.0, item, system)
