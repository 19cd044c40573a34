"""The nearest soft permutation that respects a partial order: a semismooth Newton method on the dual.

    minimise 1/2 |X - Y|^2   over   X 1 = 1,  X^T 1 = 1,  x_b - x_a >= 1 (a -> b),  X >= 0,  X = 0 outside the windows

with the expected slots x = X c. Its dual has one free number for every row (u) and column (w) and one
non-negative number for every dependency (mu), instead of n^2 entries:

    X = max(0, Z),   Z = Y + u 1^T + 1 w^T + s c^T,   s_i = sum of mu over a -> i minus sum of mu over i -> b,
    minimise F = 1/2 |X|^2 - sum u - sum w - sum mu        over   mu >= 0.

F is convex, once differentiable and piecewise quadratic, and its gradient is the violation of the sums and
the slack of the dependencies. Newton's method on the pieces (Li, Sun, Toh 2020, for the Birkhoff polytope)
with the projected step of Bertsekas (1982) for mu >= 0 and a line search ends at rounding error.

The iterations keep Z and mu, not u and w. They only ever add to Z, so its positive entries, which are all
that counts, have the rounding error of numbers near 1 even where the dual has numbers of 10^6; and
differences of F are summed over the differences of the entries.

The derivative of the projection is the orthogonal projection onto the face's directions: those with
the same zeros, the same tight dependencies, and rows and columns that sum to 0. It is one more solve
with the matrix of the last Newton step.

Numba kernels for one item, float64. `gradient` and what follows are scratch of `nearest_scratch`.
"""

from __future__ import annotations

import warnings

import numpy as np
from numba import njit

from pipeline.operators.affine import OPTIONS, SINGULAR, cholesky, cholesky_solve

# first, last (n,), size, before, after (E,): windows and dependencies of one item, as in `PartialOrders`.
Item = tuple[np.ndarray, np.ndarray, int, np.ndarray, np.ndarray]
TOLERANCE = 1e-11  # of the optimality conditions
STEPS = 1000  # for each scale; the most seen for all scales together is 574 (n = 64)
ARMIJO = 1e-4
NOISE = 1e-15  # rounding of F for each row
SHORTEST = 1e-16  # of a line search
EASY = 2.0  # proposals with entries up to this size are solved at once, larger ones in growing scales
STRIDE = 4.0  # a power of 2: scaling is exact
LOOSE = 1e-2  # tolerance of all scales but the last
DAMPING = 1e-12  # share of the diagonal that keeps singular systems regular; more slows the steps down
_REGULAR = 1e-13  # pivots of a damped system below this share are rounding
NEAR_ZERO = 1e-3  # multipliers up to this (or the error, if less) whose dependency is slack are set to 0


def warn_of(errors: np.ndarray) -> None:
    """Warn where the steps ran out before TOLERANCE; errors: (B,). Not seen so far."""
    late = errors > TOLERANCE
    if late.any():
        message = f"{late.sum()} of {len(errors)} items are not at the nearest point: error {errors.max():.1e}"
        warnings.warn(message, RuntimeWarning, stacklevel=2)


@njit(**OPTIONS)
def _residuals(
    shifted: np.ndarray,
    item: Item,
    slope: np.ndarray,
    gradient: np.ndarray,
) -> None:
    """Gradient of F at X = max(0, shifted): row sums - 1, column sums - 1, x_b - x_a - 1. `slope` is scratch."""
    first, last, size, before, after = item
    shift = 0.5 * (size - 1)
    for j in range(size):
        gradient[size + j] = -1.0
    for i in range(size):
        row = shifted[i]
        total, moment = -1.0, 0.0
        for j in range(first[i], last[i] + 1):
            entry = max(row[j], 0.0)
            total += entry
            moment += entry * (j - shift)
            gradient[size + j] += entry
        gradient[i] = total
        slope[i] = moment
    for e in range(len(before)):
        gradient[2 * size + e] = slope[after[e]] - slope[before[e]] - 1.0


@njit(**OPTIONS)
def _slopes(slope: np.ndarray, size: int, before: np.ndarray, after: np.ndarray, values: np.ndarray) -> None:
    """Fills slope = s of one value for every dependency."""
    slope[:size] = 0.0
    for e in range(len(before)):
        slope[after[e]] += values[e]
        slope[before[e]] -= values[e]


@njit(**OPTIONS)
def _direction(
    shifted: np.ndarray,
    item: Item,
    free: np.ndarray,
    gradient: np.ndarray,
    damping: float,
    step: np.ndarray,
    system: np.ndarray,
    pivots: np.ndarray,
    rhs: np.ndarray,
    rows: np.ndarray,
) -> None:
    """Solve Hessian step = -gradient over the rows, the columns and the `free` dependencies; 0 for the others.

    The diagonal is taken (1 + damping) times. The rows are eliminated by hand: their part of the Hessian is
    diagonal. `rows` is scratch (4, size): count, mean and variance sum of the slots of the positive entries
    of each row, and s of the step. free[e] >= 0 where free; it becomes the place of e among the unknowns.
    """
    first, last, size, before, after = item
    shift = 0.5 * (size - 1)
    edges = len(before)
    count, mean, spread, slope = rows[0], rows[1], rows[2], rows[3]
    unknowns = size  # columns, then the free dependencies
    for e in range(edges):
        if free[e] >= 0:
            free[e] = unknowns
            unknowns += 1
    for j in range(unknowns):
        system[j, : j + 1] = 0.0
        rhs[j] = 0.0
    for i in range(size):
        row = shifted[i]
        held, moment, square = 0.0, 0.0, 0.0
        for j in range(first[i], last[i] + 1):
            if row[j] > 0:
                held += 1.0
                moment += j - shift
                square += (j - shift) * (j - shift)
        count[i] = max(held, 1.0) * (1.0 + damping)
        mean[i] = moment / count[i]
        spread[i] = square - moment * mean[i]
        share = 1.0 / count[i]
        for j in range(first[i], last[i] + 1):
            if row[j] > 0:
                system[j, j] += 1.0 + damping
                rhs[j] += gradient[i] * share
                line = system[j]
                for k in range(first[i], j + 1):
                    if row[k] > 0:
                        line[k] -= share
    for j in range(size):
        rhs[j] -= gradient[size + j]
        if system[j, j] <= 0.0 and damping > 0:  # a column without positive entries: a step along the gradient
            system[j, j] = 1.0
    for e in range(edges):
        place = free[e]
        if place < 0:
            continue
        a, b = before[e], after[e]
        line = system[place]
        for j in range(first[b], last[b] + 1):
            if shifted[b, j] > 0:
                line[j] += (j - shift) - mean[b]
        for j in range(first[a], last[a] + 1):
            if shifted[a, j] > 0:
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
        line[place] += damping * (line[place] + 1.0)
    cholesky(system, unknowns, pivots, _REGULAR if damping > 0 else SINGULAR)
    cholesky_solve(system, pivots, unknowns, rhs)
    for j in range(size):
        step[size + j] = rhs[j]
    for e in range(edges):
        step[2 * size + e] = rhs[free[e]] if free[e] >= 0 else 0.0
    _slopes(slope, size, before, after, step[2 * size :])
    for i in range(size):
        total = -gradient[i] - mean[i] * count[i] * slope[i]
        for j in range(first[i], last[i] + 1):
            if shifted[i, j] > 0:
                total -= rhs[j]
        step[i] = total / count[i]


@njit(**OPTIONS)
def _move(
    shifted: np.ndarray,
    first: np.ndarray,
    last: np.ndarray,
    size: int,
    step: np.ndarray,
    slope: np.ndarray,
    length: float,
    trial: np.ndarray,
) -> float:
    """Fills trial = shifted + length (u 1^T + 1 w^T) + slope c^T; returns the change of 1/2 |X|^2 - sum u - sum w."""
    shift = 0.5 * (size - 1)
    change = 0.0
    for i in range(size):
        row, moved = shifted[i], trial[i]
        part = 0.0
        for j in range(first[i], last[i] + 1):
            entry = row[j] + (length * (step[i] + step[size + j]) + slope[i] * (j - shift))
            moved[j] = entry
            entry, old = max(entry, 0.0), max(row[j], 0.0)
            part += 0.5 * (entry - old) * (entry + old)
        change += part - length * (step[i] + step[size + i])
    return change


@njit(**OPTIONS)
def _search(
    shifted: np.ndarray,
    multipliers: np.ndarray,
    item: Item,
    gradient: np.ndarray,
    step: np.ndarray,
    trial: np.ndarray,
    change: np.ndarray,
    slope: np.ndarray,
) -> None:
    """Line search along max(0, mu + length step): `shifted` and `multipliers` move to where F has decreased enough."""
    first, last, size, before, after = item
    edges = len(before)
    length = 1.0
    while True:
        value, descent = 0.0, 0.0
        for e in range(edges):
            change[e] = max(-multipliers[e], length * step[2 * size + e])
            value -= change[e]
            descent += gradient[2 * size + e] * change[e]
        for k in range(2 * size):
            descent += length * gradient[k] * step[k]
        _slopes(slope, size, before, after, change)
        value += _move(shifted, first, last, size, step, slope, length, trial)
        if value <= ARMIJO * descent + NOISE * size or length < SHORTEST:
            break
        length *= 0.5
    for e in range(edges):
        multipliers[e] = max(0.0, multipliers[e] + change[e])
    for i in range(size):
        for j in range(first[i], last[i] + 1):
            shifted[i, j] = trial[i, j]


@njit(**OPTIONS)
def _solve(
    shifted: np.ndarray,
    multipliers: np.ndarray,
    item: Item,
    tolerance: float,
    trial: np.ndarray,
    change: np.ndarray,
    gradient: np.ndarray,
    step: np.ndarray,
    free: np.ndarray,
    system: np.ndarray,
    pivots: np.ndarray,
    rhs: np.ndarray,
    rows: np.ndarray,
) -> tuple[int, float]:
    """Newton's method from the given Z and mu. Returns the number of steps and the largest error."""
    size, edges = item[2], len(item[3])
    used = 0
    while True:
        _residuals(shifted, item, rows[3], gradient)
        error = 0.0
        for k in range(2 * size):
            error = max(error, abs(gradient[k]))
        for e in range(edges):
            error = max(error, abs(min(multipliers[e], gradient[2 * size + e])))
        if error <= tolerance or used == STEPS:
            return used, error
        used += 1
        near = min(error, NEAR_ZERO)
        for e in range(edges):
            free[e] = -1 if multipliers[e] <= near and gradient[2 * size + e] >= 0 else 0
        _direction(shifted, item, free, gradient, DAMPING, step, system, pivots, rhs, rows)
        for e in range(edges):
            if free[e] < 0:
                step[2 * size + e] = -multipliers[e]
        _search(shifted, multipliers, item, gradient, step, trial, change, rows[3])


@njit(**OPTIONS)
def _scale(matrix: np.ndarray, first: np.ndarray, last: np.ndarray, size: int, factor: float) -> None:
    for i in range(size):
        for j in range(first[i], last[i] + 1):
            matrix[i, j] *= factor


@njit(**OPTIONS)
def newton(
    proposal: np.ndarray,
    item: Item,
    shifted: np.ndarray,
    multipliers: np.ndarray,
    trial: np.ndarray,
    change: np.ndarray,
    gradient: np.ndarray,
    step: np.ndarray,
    free: np.ndarray,
    system: np.ndarray,
    pivots: np.ndarray,
    rhs: np.ndarray,
    rows: np.ndarray,
) -> tuple[int, float]:
    """Project `proposal`; fills shifted = Z, of which max(0, Z) is the projection, and the multipliers mu.

    The multipliers are positive for the tight dependencies alone. Returns the number of steps and the largest
    error of the optimality conditions: of the sums, and of min(mu, slack) = 0, which is violation and
    complementarity in one. It is at most TOLERANCE unless the steps ran out.
    """
    first, last, size, before, _ = item
    largest = 0.0
    for i in range(size):
        for j in range(first[i], last[i] + 1):
            shifted[i, j] = proposal[i, j]
            largest = max(largest, abs(proposal[i, j]))
    scale = 1.0
    while largest * scale > EASY:
        scale /= STRIDE
    _scale(shifted, first, last, size, scale)
    multipliers[:] = 0.0
    used = 0
    while True:
        spent, error = _solve(
            shifted, multipliers, item, TOLERANCE if scale == 1.0 else LOOSE,
            trial, change, gradient, step, free, system, pivots, rhs, rows,
        )  # fmt: skip
        used += spent
        if scale == 1.0:
            break
        scale *= STRIDE
        _scale(shifted, first, last, size, STRIDE)
        multipliers *= STRIDE
    for e in range(len(before)):
        multipliers[e] = max(0.0, multipliers[e] - gradient[2 * size + e])
    return used, error


@njit(**OPTIONS)
def face_projection(
    point: np.ndarray,
    multipliers: np.ndarray,
    item: Item,
    cotangent: np.ndarray,
    gradient: np.ndarray,
    step: np.ndarray,
    free: np.ndarray,
    system: np.ndarray,
    pivots: np.ndarray,
    rhs: np.ndarray,
    rows: np.ndarray,
) -> None:
    """Project `cotangent`[:size, :size] in place onto the directions of the face that `point` lies in.

    point: the nearest point, positive on the face's support alone; multipliers: of the dependencies, > 0 where tight.
    """
    first, last, size, before, after = item
    shift = 0.5 * (size - 1)
    slope = rows[3]
    for j in range(size):
        gradient[size + j] = 0.0
    for i in range(size):
        total, moment = 0.0, 0.0
        for j in range(first[i], last[i] + 1):
            if point[i, j] > 0:
                total += cotangent[i, j]
                moment += cotangent[i, j] * (j - shift)
                gradient[size + j] += cotangent[i, j]
        gradient[i] = total
        slope[i] = moment
    for e in range(len(before)):
        free[e] = 0 if multipliers[e] > 0 else -1
        gradient[2 * size + e] = slope[after[e]] - slope[before[e]]
    _direction(point, item, free, gradient, 0.0, step, system, pivots, rhs, rows)
    for i in range(size):
        for j in range(first[i], last[i] + 1):
            shifted = cotangent[i, j] + step[i] + step[size + j] + slope[i] * (j - shift)
            cotangent[i, j] = shifted if point[i, j] > 0 else 0.0


@njit(**OPTIONS)
def nearest_scratch(n: int, edges: int) -> tuple[np.ndarray, ...]:
    """gradient, step, free, system, pivots, rhs, rows for items of at most n instructions and `edges` dependencies."""
    total = 2 * n + edges
    return (
        np.empty(total), np.empty(total), np.empty(edges, np.int64),
        np.empty((n + edges, n + edges)), np.empty(n + edges), np.empty(n + edges), np.empty((4, n)),
    )  # fmt: skip
