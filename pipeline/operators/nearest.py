"""The nearest soft permutation that respects a partial order: a semismooth Newton method on the dual.

    minimise 1/2 |X - Y|^2   over   X 1 = 1,  X^T 1 = 1,  x_b - x_a >= 1 (a -> b),  X >= 0,  X = 0 outside the windows

with the expected slots x = X c. Its dual has one free number for every row (u) and column (w) and one
non-negative number for every dependency (mu), instead of n^2 entries:

    X(u, w, mu) = max(0, Y + u 1^T + 1 w^T + s c^T),   s_b = sum of mu over a -> b minus sum over b -> .
    minimise 1/2 |X|^2 - sum u - sum w - sum mu        over   mu >= 0.

The objective is convex, once differentiable and piecewise quadratic. Newton's method on the pieces
(Li, Sun, Toh 2020 for the Birkhoff polytope), with the projected step of Bertsekas (1982) for mu >= 0
and a line search, ends in a finite number of steps, in practice 5 to 15, at rounding error.

The derivative of the projection is the orthogonal projection onto the face's directions: those with
the same zeros, the same tight dependencies, and rows and columns that sum to 0. It is one more solve
with the matrix of the last Newton step.

Numba kernels for one item, float64. `system` and what follows are scratch of `nearest_scratch`.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from pipeline.operators.affine import OPTIONS, cholesky, cholesky_solve

_ARMIJO = 1e-4
_SHORTEST = 1e-10  # of a line search
_EASY = 2.0  # proposals with entries up to this size are solved at once, larger ones in growing scales
_STRIDE = 4.0
_LOOSE = 1e-2
_NOISE = 1e-13  # relative rounding of the dual objective


@njit(**OPTIONS)
def _evaluate(
    proposal: np.ndarray,
    scale: float,
    first: np.ndarray,
    last: np.ndarray,
    size: int,
    before: np.ndarray,
    after: np.ndarray,
    dual: np.ndarray,
    matrix: np.ndarray,
    gradient: np.ndarray,
) -> float:
    """Dual objective; fills matrix = X(dual) and the gradient. dual, gradient: rows, columns, dependencies."""
    edges = len(before)
    shift = 0.5 * (size - 1)
    slope = gradient[:size]  # borrowed for s until the rows are done
    slope[:] = 0.0
    for e in range(edges):
        slope[after[e]] += dual[2 * size + e]
        slope[before[e]] -= dual[2 * size + e]
    for j in range(size):
        gradient[size + j] = -1.0
    for e in range(edges):
        gradient[2 * size + e] = 0.0
    value = 0.0
    expected = matrix[size]  # row `size` of the scratch: expected slots
    for i in range(size):
        row, source = matrix[i], proposal[i]
        total, moment, square = 0.0, 0.0, 0.0
        for j in range(first[i], last[i] + 1):
            entry = scale * source[j] + dual[i] + dual[size + j] + slope[i] * (j - shift)
            entry = max(entry, 0.0)
            row[j] = entry
            total += entry
            moment += entry * (j - shift)
            square += entry * entry
            gradient[size + j] += entry
        expected[i] = moment
        value += 0.5 * square - dual[i]
        gradient[i] = total - 1.0  # slope[i] is used up
    for j in range(size):
        value -= dual[size + j]
    for e in range(edges):
        value -= dual[2 * size + e]
        gradient[2 * size + e] = expected[after[e]] - expected[before[e]] - 1.0
    return value


@njit(**OPTIONS)
def _direction(
    matrix: np.ndarray,
    first: np.ndarray,
    last: np.ndarray,
    size: int,
    before: np.ndarray,
    after: np.ndarray,
    free: np.ndarray,
    gradient: np.ndarray,
    damping: float,
    step: np.ndarray,
    system: np.ndarray,
    pivots: np.ndarray,
    rhs: np.ndarray,
    rows: np.ndarray,
) -> None:
    """Solve (Hessian + damping) step = -gradient over the rows, the columns and the `free` dependencies.

    The rows are eliminated by hand: their part of the Hessian is diagonal. `rows` is scratch (4, size):
    count, mean and variance sum of the slots of the positive entries of each row, and s of the step.
    """
    shift = 0.5 * (size - 1)
    edges = len(before)
    count, mean, spread, slope = rows[0], rows[1], rows[2], rows[3]
    # Order of the unknowns: columns, then the free dependencies. free[e] is the place, -1 if fixed.
    unknowns = size
    for e in range(edges):
        if free[e] >= 0:
            free[e] = unknowns
            unknowns += 1
    for j in range(unknowns):
        system[j, : j + 1] = 0.0
        rhs[j] = 0.0
    for i in range(size):
        row = matrix[i]
        held, moment, square = 0.0, 0.0, 0.0
        for j in range(first[i], last[i] + 1):
            if row[j] > 0:
                held += 1.0
                moment += j - shift
                square += (j - shift) * (j - shift)
        count[i] = max(held, 1.0) + damping
        mean[i] = moment / count[i]
        spread[i] = square - moment * mean[i]
        share = 1.0 / count[i]
        for j in range(first[i], last[i] + 1):
            if row[j] > 0:
                system[j, j] += 1.0
                rhs[j] += gradient[i] * share
                line = system[j]
                for k in range(first[i], j + 1):
                    if row[k] > 0:
                        line[k] -= share
    for j in range(size):
        rhs[j] -= gradient[size + j]
        if system[j, j] <= 0.0 and damping > 0:
            system[j, j] += 1.0
        system[j, j] += damping
    for e in range(edges):
        place = free[e]
        if place < 0:
            continue
        a, b = before[e], after[e]
        line = system[place]
        for j in range(first[b], last[b] + 1):
            if matrix[b, j] > 0:
                line[j] += (j - shift) - mean[b]
        for j in range(first[a], last[a] + 1):
            if matrix[a, j] > 0:
                line[j] -= (j - shift) - mean[a]
        rhs[place] = -gradient[2 * size + e] + mean[b] * gradient[b] - mean[a] * gradient[a]
        for f in range(e + 1):
            other = free[f]
            if other < 0:
                continue
            total = 0.0
            if after[f] == b:
                total += spread[b]
            if before[f] == b:
                total -= spread[b]
            if before[f] == a:
                total += spread[a]
            if after[f] == a:
                total -= spread[a]
            line[other] = total
        line[place] += damping
    cholesky(system, unknowns, pivots)
    cholesky_solve(system, pivots, unknowns, rhs)
    slope[:size] = 0.0
    for j in range(size):
        step[size + j] = rhs[j]
    for e in range(edges):
        step[2 * size + e] = 0.0
        if free[e] >= 0:
            step[2 * size + e] = rhs[free[e]]
            slope[after[e]] += rhs[free[e]]
            slope[before[e]] -= rhs[free[e]]
    for i in range(size):
        total = -gradient[i] - mean[i] * count[i] * slope[i]
        for j in range(first[i], last[i] + 1):
            if matrix[i, j] > 0:
                total -= rhs[j]
        step[i] = total / count[i]


@njit(**OPTIONS)
def newton(
    proposal: np.ndarray,
    first: np.ndarray,
    last: np.ndarray,
    size: int,
    before: np.ndarray,
    after: np.ndarray,
    tolerance: float,
    iterations: int,
    matrix: np.ndarray,
    dual: np.ndarray,
    gradient: np.ndarray,
    trial: np.ndarray,
    step: np.ndarray,
    free: np.ndarray,
    system: np.ndarray,
    pivots: np.ndarray,
    rhs: np.ndarray,
    rows: np.ndarray,
) -> tuple[int, float]:
    """Project `proposal`; fills matrix[:size, :size] and dual. Returns the number of steps and the largest error.

    The error is that of the optimality conditions: sums, dependencies, and complementarity.
    """
    edges = len(before)
    total = 2 * size + edges
    dual[:total] = 0.0
    largest = 0.0
    for i in range(size):
        for j in range(first[i], last[i] + 1):
            largest = max(largest, abs(proposal[i, j]))
    scale = 1.0
    while largest * scale > _EASY:
        scale /= _STRIDE
    used, error = 0, np.inf
    while True:
        goal = tolerance if scale == 1.0 else max(tolerance, _LOOSE)
        spent, error = _newton(
            proposal, scale, first, last, size, before, after, goal, iterations,
            matrix, dual, gradient, trial, step, free, system, pivots, rhs, rows,
        )  # fmt: skip
        used += spent
        if scale == 1.0:
            return used, error
        scale *= _STRIDE
        for k in range(total):
            dual[k] *= _STRIDE


@njit(**OPTIONS)
def _newton(
    proposal: np.ndarray,
    scale: float,
    first: np.ndarray,
    last: np.ndarray,
    size: int,
    before: np.ndarray,
    after: np.ndarray,
    tolerance: float,
    iterations: int,
    matrix: np.ndarray,
    dual: np.ndarray,
    gradient: np.ndarray,
    trial: np.ndarray,
    step: np.ndarray,
    free: np.ndarray,
    system: np.ndarray,
    pivots: np.ndarray,
    rhs: np.ndarray,
    rows: np.ndarray,
) -> tuple[int, float]:
    """Newton's method for scale * proposal from the given dual."""
    edges = len(before)
    total = 2 * size + edges
    value = _evaluate(proposal, scale, first, last, size, before, after, dual, matrix, gradient)
    error = np.inf
    for iteration in range(iterations + 1):
        error = 0.0
        for k in range(2 * size):
            error = max(error, abs(gradient[k]))
        for e in range(edges):
            k = 2 * size + e
            error = max(error, abs(dual[k] - max(0.0, dual[k] - gradient[k])))
        if error <= tolerance or iteration == iterations:
            return iteration, error
        for e in range(edges):
            k = 2 * size + e
            free[e] = 0 if dual[k] > 0 or gradient[k] < 0 else -1
        damping = 1e-3 * min(1.0, error) ** 2 + 1e-12
        _direction(matrix, first, last, size, before, after, free, gradient, damping, step, system, pivots, rhs, rows)
        length = 1.0
        while True:
            descent = 0.0
            for k in range(total):
                trial[k] = dual[k] + length * step[k]
                if k >= 2 * size:
                    trial[k] = max(trial[k], 0.0)
                descent += gradient[k] * (trial[k] - dual[k])
            # gradient is overwritten: trial[total:] keeps the old one for a shorter step
            for k in range(total):
                trial[total + k] = gradient[k]
            found = _evaluate(proposal, scale, first, last, size, before, after, trial, matrix, gradient)
            if found <= value + _ARMIJO * descent + _NOISE * (1.0 + abs(value)) or length < _SHORTEST:
                break
            for k in range(total):
                gradient[k] = trial[total + k]
            length *= 0.5
        value = found
        dual[:total] = trial[:total]
    return iterations, error


@njit(**OPTIONS)
def face_projection(
    matrix: np.ndarray,
    multipliers: np.ndarray,
    first: np.ndarray,
    last: np.ndarray,
    size: int,
    before: np.ndarray,
    after: np.ndarray,
    cotangent: np.ndarray,
    gradient: np.ndarray,
    step: np.ndarray,
    free: np.ndarray,
    system: np.ndarray,
    pivots: np.ndarray,
    rhs: np.ndarray,
    rows: np.ndarray,
) -> None:
    """Project `cotangent`[:size, :size] in place onto the directions of the face that `matrix` lies in.

    matrix: the nearest point, exact zeros where it is 0; multipliers: of the dependencies, > 0 where tight.
    """
    shift = 0.5 * (size - 1)
    edges = len(before)
    expected = matrix[size]
    for j in range(size):
        gradient[size + j] = 0.0
    for i in range(size):
        total, moment = 0.0, 0.0
        for j in range(first[i], last[i] + 1):
            if matrix[i, j] > 0:
                total += cotangent[i, j]
                moment += cotangent[i, j] * (j - shift)
                gradient[size + j] += cotangent[i, j]
        gradient[i] = total
        expected[i] = moment
    for e in range(edges):
        free[e] = 0 if multipliers[e] > 0 else -1
        gradient[2 * size + e] = expected[after[e]] - expected[before[e]]
    _direction(matrix, first, last, size, before, after, free, gradient, 0.0, step, system, pivots, rhs, rows)
    slope = rows[3]
    for i in range(size):
        for j in range(size):
            inside = first[i] <= j <= last[i] and matrix[i, j] > 0
            cotangent[i, j] = cotangent[i, j] + step[i] + step[size + j] + slope[i] * (j - shift) if inside else 0.0


@njit(**OPTIONS)
def nearest_scratch(n: int, edges: int) -> tuple[np.ndarray, ...]:
    """gradient, trial, step, free, system, pivots, rhs, rows for items of at most n instructions and `edges`."""
    total = 2 * n + edges
    return (
        np.empty(total), np.empty(2 * total), np.empty(total), np.empty(edges, np.int64),
        np.empty((n + edges, n + edges)), np.empty(n + edges), np.empty(n + edges), np.empty((4, n)),
    )  # fmt: skip
