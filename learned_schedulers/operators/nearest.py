"""The nearest soft permutation that respects a partial order: a semismooth Newton method on the dual.

    minimise 1/2 |X - Y|^2   over   X 1 = 1,  X^T 1 = 1,  x_b - x_a >= 1 (a -> b),  X >= 0,  X = 0 outside the windows

with the expected slots x = X c. The dual has one free number for every row (u) and every column (w), and one
non-negative number for every dependency (mu), instead of n^2 entries:

    X = max(0, Z),   Z = Y + u 1^T + 1 w^T + s c^T,   s_i = sum of mu over a -> i minus sum of mu over i -> b,
    minimise F = 1/2 |X|^2 - sum u - sum w - sum mu        over   mu >= 0.

F is convex, once differentiable and piecewise quadratic. Its gradient consists of the violation of the sums and
the slack of the dependencies. Newton's method on the pieces (Li, Sun, Toh 2020, for the Birkhoff polytope),
with the projected step of Bertsekas (1982) for mu >= 0 and a line search, converges up to rounding errors.

The iterations store Z and mu, not u and w. They only add to Z, so its positive entries, which alone matter,
have the rounding error of numbers near 1 even if the dual has numbers of 10^6. Differences of F are sums over
the differences of the entries.

The derivative of the projection is the orthogonal projection onto the face's directions: those with
the same zeros, the same tight dependencies, and rows and columns that sum to 0. It needs one more solution
of a system with the matrix of the last Newton step.

Numba kernels for one item, float64, on scratch arrays from `newton_scratch`.
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
from numba import njit

from learned_schedulers.operators.affine import OPTIONS, SINGULAR, Item, cholesky, cholesky_solve

TOLERANCE = 1e-11  # of the optimality conditions
STEPS = 1000  # limit for each scale; the largest observed sum over all scales is 574 (n = 64)
ARMIJO = 1e-4  # share of the linear decrease of F that a step must reach
NOISE = 1e-15  # rounding error of F for each row
SHORTEST = 1e-16  # step of a line search
EASY = 2.0  # proposals with entries up to this size are solved at once, larger ones at growing scales
STRIDE = 4.0  # factor between two scales; a power of 2, so that scaling is exact
LOOSE = 1e-2  # tolerance of all scales but the last
DAMPING = 1e-12  # share of the diagonal that makes singular systems regular; a larger one slows the steps down
_REGULAR = 1e-13  # pivots of a damped system below this share are rounding errors
NEAR_ZERO = 1e-3  # a multiplier up to this (or up to the error, if less) is set to 0 if its dependency is slack


class NewtonScratch(NamedTuple):
    """Scratch arrays for items of at most n instructions and E dependencies."""

    gradient: np.ndarray  # (2 n + E,): rows, columns, dependencies
    step: np.ndarray  # (2 n + E,)
    free: np.ndarray  # (E,) int64
    system: np.ndarray  # (n + E, n + E)
    pivots: np.ndarray  # (n + E,)
    right: np.ndarray  # (n + E,)
    counts: np.ndarray  # (n,) of the positive entries of each row
    means: np.ndarray  # (n,) of their slots
    spreads: np.ndarray  # (n,) sums of squared deviations of their slots
    slope: np.ndarray  # (n,) the vector s of a step
    shares: np.ndarray  # (n,) of a row: 1 / count at its positive entries, else 0


def warn_of(errors: np.ndarray) -> None:
    """Warn of items whose steps ran out before TOLERANCE; errors: (B,). No trial has shown this so far."""
    late = errors > TOLERANCE
    if late.any():
        message = f"{late.sum()} of {len(errors)} items are not at the nearest point: error {errors.max():.1e}"
        warnings.warn(message, RuntimeWarning, stacklevel=2)


@njit(**OPTIONS)
def _residuals(shifted: np.ndarray, item: Item, slope: np.ndarray, gradient: np.ndarray) -> None:
    """Fill the gradient of F at X = max(0, shifted): row sums - 1, column sums - 1, x_b - x_a - 1; `slope`: scratch."""
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
    """Fill slope = s, from one value for every dependency."""
    slope[:size] = 0.0
    for e in range(len(before)):
        slope[after[e]] += values[e]
        slope[before[e]] -= values[e]


@njit(**OPTIONS)
def _direction(shifted: np.ndarray, item: Item, damping: float, scratch: NewtonScratch) -> None:
    """Solve Hessian step = -gradient over the rows, the columns and the free dependencies; 0 for the others.

    The diagonal is multiplied by 1 + damping. The rows are eliminated by hand: their part of the Hessian is
    diagonal. free[e] >= 0 marks a free dependency; it becomes the index of e among the unknowns.
    """
    first, last, size, before, after = item
    gradient, step, free, slope = scratch.gradient, scratch.step, scratch.free, scratch.slope
    system, right = scratch.system, scratch.right
    count, mean, spread, shares = scratch.counts, scratch.means, scratch.spreads, scratch.shares
    shift = 0.5 * (size - 1)
    edges = len(before)
    unknowns = size  # columns, then the free dependencies
    for e in range(edges):
        if free[e] >= 0:
            free[e] = unknowns
            unknowns += 1
    for j in range(unknowns):
        system[j, : j + 1] = 0.0
        right[j] = 0.0
    for i in range(size):
        row = shifted[i]
        positive, moment, square = 0.0, 0.0, 0.0
        for j in range(first[i], last[i] + 1):
            if row[j] > 0:
                positive += 1.0
                moment += j - shift
                square += (j - shift) * (j - shift)
        count[i] = max(positive, 1.0) * (1.0 + damping)
        mean[i] = moment / count[i]
        spread[i] = square - moment * mean[i]
        share = 1.0 / count[i]
        for j in range(first[i], last[i] + 1):
            shares[j] = share if row[j] > 0 else 0.0
        for j in range(first[i], last[i] + 1):
            if row[j] > 0:
                system[j, j] += 1.0 + damping
                right[j] += gradient[i] * share
                line = system[j]
                for k in range(first[i], j + 1):  # most of the time of a step: without a branch
                    line[k] -= shares[k]
    for j in range(size):
        right[j] -= gradient[size + j]
        if system[j, j] <= 0.0 and damping > 0:  # a column without positive entries makes a step along the gradient
            system[j, j] = 1.0
    for e in range(edges):
        unknown = free[e]
        if unknown < 0:
            continue
        a, b = before[e], after[e]
        line = system[unknown]
        for j in range(first[b], last[b] + 1):
            if shifted[b, j] > 0:
                line[j] += (j - shift) - mean[b]
        for j in range(first[a], last[a] + 1):
            if shifted[a, j] > 0:
                line[j] -= (j - shift) - mean[a]
        right[unknown] = -gradient[2 * size + e] + mean[b] * gradient[b] - mean[a] * gradient[a]
        for f in range(e + 1):
            column = free[f]
            if column < 0:
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
            line[column] = total
        line[unknown] += damping * (line[unknown] + 1.0)
    cholesky(system, unknowns, scratch.pivots, _REGULAR if damping > 0 else SINGULAR)
    cholesky_solve(system, scratch.pivots, unknowns, right)
    for j in range(size):
        step[size + j] = right[j]
    for e in range(edges):
        step[2 * size + e] = right[free[e]] if free[e] >= 0 else 0.0
    _slopes(slope, size, before, after, step[2 * size :])
    for i in range(size):
        total = -gradient[i] - mean[i] * count[i] * slope[i]
        for j in range(first[i], last[i] + 1):
            if shifted[i, j] > 0:
                total -= right[j]
        step[i] = total / count[i]


@njit(**OPTIONS)
def _move(
    shifted: np.ndarray, item: Item, step: np.ndarray, slope: np.ndarray, length: float, trial: np.ndarray
) -> float:
    """Fill trial = shifted + length (u 1^T + 1 w^T) + slope c^T; returns the change of 1/2 |X|^2 - sum u - sum w."""
    first, last, size = item.first, item.last, item.size
    shift = 0.5 * (size - 1)
    change = 0.0
    for i in range(size):
        row, trial_row = shifted[i], trial[i]
        part = 0.0
        for j in range(first[i], last[i] + 1):
            entry = row[j] + (length * (step[i] + step[size + j]) + slope[i] * (j - shift))
            trial_row[j] = entry
            entry, old = max(entry, 0.0), max(row[j], 0.0)
            part += 0.5 * (entry - old) * (entry + old)
        change += part - length * (step[i] + step[size + i])
    return change


@njit(**OPTIONS)
def _search(
    shifted: np.ndarray,
    multipliers: np.ndarray,
    item: Item,
    trial: np.ndarray,
    change: np.ndarray,
    scratch: NewtonScratch,
) -> None:
    """Line search along max(0, mu + length step): moves `shifted` and `multipliers` so that F decreases enough."""
    first, last, size, before, after = item
    gradient, step, slope = scratch.gradient, scratch.step, scratch.slope
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
        value += _move(shifted, item, step, slope, length, trial)
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
    scratch: NewtonScratch,
) -> tuple[int, float]:
    """Newton's method from the given Z and mu. Returns the number of steps and the largest error."""
    size, edges = item.size, len(item.before)
    gradient, step, free = scratch.gradient, scratch.step, scratch.free
    used = 0
    while True:
        _residuals(shifted, item, scratch.slope, gradient)
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
        _direction(shifted, item, DAMPING, scratch)
        for e in range(edges):
            if free[e] < 0:
                step[2 * size + e] = -multipliers[e]
        _search(shifted, multipliers, item, trial, change, scratch)


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
    scratch: NewtonScratch,
) -> tuple[int, float]:
    """Project `proposal`: fills shifted = Z, where max(0, Z) is the projection, and the multipliers mu.

    trial (n, n) and change (E,) are scratch. Only tight dependencies have positive multipliers. Returns the number
    of steps and the largest error of the optimality conditions: of the sums, and of min(mu, slack) = 0, which
    covers violation and complementarity. The error is at most TOLERANCE unless the steps ran out.
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
        goal = TOLERANCE if scale == 1.0 else LOOSE
        steps, error = _solve(shifted, multipliers, item, goal, trial, change, scratch)
        used += steps
        if scale == 1.0:
            break
        scale *= STRIDE
        _scale(shifted, first, last, size, STRIDE)
        multipliers *= STRIDE
    for e in range(len(before)):
        multipliers[e] = max(0.0, multipliers[e] - scratch.gradient[2 * size + e])
    return used, error


@njit(**OPTIONS)
def face_projection(
    point: np.ndarray, multipliers: np.ndarray, item: Item, cotangent: np.ndarray, scratch: NewtonScratch
) -> None:
    """Project `cotangent`[:size, :size] in place onto the directions of the face that contains `point`.

    point: the nearest point, positive only on the face's support; multipliers: of the dependencies, > 0 if tight.
    """
    first, last, size, before, after = item
    shift = 0.5 * (size - 1)
    gradient, step, free, slope = scratch.gradient, scratch.step, scratch.free, scratch.slope
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
    _direction(point, item, 0.0, scratch)
    for i in range(size):
        for j in range(first[i], last[i] + 1):
            shifted = cotangent[i, j] + step[i] + step[size + j] + slope[i] * (j - shift)
            cotangent[i, j] = shifted if point[i, j] > 0 else 0.0


@njit(**OPTIONS)
def newton_scratch(n: int, edges: int) -> NewtonScratch:
    """Scratch for items of at most n instructions and `edges` dependencies."""
    total, unknowns = 2 * n + edges, n + edges
    return NewtonScratch(
        np.empty(total), np.empty(total), np.empty(edges, np.int64),
        np.empty((unknowns, unknowns)), np.empty(unknowns), np.empty(unknowns),
        np.empty(n), np.empty(n), np.empty(n), np.empty(n), np.empty(n),
    )  # fmt: skip
