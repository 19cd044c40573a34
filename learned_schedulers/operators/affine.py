"""The affine set that the iterations stay in: rows and columns sum to `target`, entries outside the windows are 0.

Numba kernels for one item, float64, on scratch arrays that the caller provides. Instruction i may stand in
slots first[i] .. last[i]; entries outside are never read nor written.

With S the windows as a 0/1 matrix, r and k its row and column counts, the orthogonal projection of D is

    D + S * (u 1^T + 1 w^T),   T w = target - colsums(D'),   T = diag(k) - S^T diag(1/r) S,

where D' is D with corrected rows, and u_i = -mean of w over the window of i. T is a graph Laplacian: it has one
zero eigenvalue for every connected component of the windows, and the system is consistent, so a Cholesky
factorisation that skips zero pivots solves it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from learned_schedulers.operators.orders import OrderArrays

# No `fastmath`: sums that the compiler may reorder differ between kinds of processors.
OPTIONS: dict[str, Any] = {"nogil": True, "cache": True, "error_model": "numpy"}
SINGULAR = 1e-10  # a pivot below this share of its diagonal is a rounding error


class Item(NamedTuple):
    """The windows and the dependencies of one item, as in `PartialOrders`."""

    first: np.ndarray  # (n,) int32
    last: np.ndarray  # (n,) int32
    size: int
    before: np.ndarray  # (E,) int32
    after: np.ndarray  # (E,) int32


class AffineSystem(NamedTuple):
    """The matrix T of one item, factorised by `factor_windows`, and scratch for the solution."""

    factor: np.ndarray  # (n, n)
    inverse_pivots: np.ndarray  # (n,)
    columns: np.ndarray  # (n,) scratch


@njit(**OPTIONS)
def item_of(orders: OrderArrays, b: int) -> Item:
    """Item b of a batch."""
    begin, end = orders.offsets[b], orders.offsets[b + 1]
    return Item(orders.first[b], orders.last[b], orders.sizes[b], orders.before[begin:end], orders.after[begin:end])


@njit(**OPTIONS)
def most_edges(offsets: np.ndarray) -> int:
    """The largest number of dependencies of an item, from the offsets (B + 1,)."""
    most = 0
    for b in range(len(offsets) - 1):
        most = max(most, offsets[b + 1] - offsets[b])
    return most


@njit(**OPTIONS)
def dot(a: np.ndarray, b: np.ndarray, size: int, begin: int) -> float:
    """Inner product of a[begin:size] and b[begin:size], in four sums that do not wait for one another.

    begin is a multiple of 4, so that the sums have the same entries from every begin.
    """
    sum0, sum1, sum2, sum3 = 0.0, 0.0, 0.0, 0.0
    whole = size - size % 4
    for k in range(begin, whole, 4):
        sum0 += a[k] * b[k]
        sum1 += a[k + 1] * b[k + 1]
        sum2 += a[k + 2] * b[k + 2]
        sum3 += a[k + 3] * b[k + 3]
    total = (sum0 + sum1) + (sum2 + sum3)
    for k in range(whole, size):
        total += a[k] * b[k]
    return total


@njit(**OPTIONS)
def _two_dots(a: np.ndarray, b: np.ndarray, c: np.ndarray, size: int, begin: int) -> tuple[float, float]:
    """`dot` of a and c, and of b and c, in one pass: eight sums that do not wait for one another."""
    a0, a1, a2, a3 = 0.0, 0.0, 0.0, 0.0
    b0, b1, b2, b3 = 0.0, 0.0, 0.0, 0.0
    whole = size - size % 4
    for k in range(begin, whole, 4):
        a0 += a[k] * c[k]
        a1 += a[k + 1] * c[k + 1]
        a2 += a[k + 2] * c[k + 2]
        a3 += a[k + 3] * c[k + 3]
        b0 += b[k] * c[k]
        b1 += b[k + 1] * c[k + 1]
        b2 += b[k + 2] * c[k + 2]
        b3 += b[k + 3] * c[k + 3]
    with_a, with_b = (a0 + a1) + (a2 + a3), (b0 + b1) + (b2 + b3)
    for k in range(whole, size):
        with_a += a[k] * c[k]
        with_b += b[k] * c[k]
    return with_a, with_b


@njit(**OPTIONS)
def cholesky(matrix: np.ndarray, size: int, inverse_pivots: np.ndarray, singular: float) -> None:
    """Replace the positive semidefinite matrix[:size, :size] by its lower Cholesky factor.

    Pivots below `singular` times their diagonal are skipped: their inverse is 0. Two rows at a time, because the
    sums of one row alone wait for one another; the zeros that a row begins with stay as they are.
    """
    for top in range(0, size, 2):
        bottom = min(top + 1, size - 1)  # the last row, if it is alone, is its own partner
        upper, lower = matrix[top], matrix[bottom]
        begin = 0
        while begin < top and upper[begin] == 0.0 and lower[begin] == 0.0:
            begin += 1
        begin -= begin % 4
        for k in range(begin, top):
            a, b = _two_dots(upper, lower, matrix[k], k, begin)
            upper[k], lower[k] = (upper[k] - a) * inverse_pivots[k], (lower[k] - b) * inverse_pivots[k]
        for j in range(top, bottom + 1):
            row = matrix[j]
            diagonal = row[j]
            if j > top:
                row[top] = (row[top] - dot(row, upper, top, begin)) * inverse_pivots[top]
            total = diagonal - dot(row, row, j, begin)
            inverse_pivots[j] = 1.0 / np.sqrt(total) if total > singular * diagonal else 0.0


@njit(**OPTIONS)
def cholesky_solve(factor: np.ndarray, inverse_pivots: np.ndarray, size: int, rhs: np.ndarray) -> None:
    """Solve in place, with the factor from `cholesky`; unknowns of skipped pivots become 0."""
    for j in range(size):
        rhs[j] = (rhs[j] - dot(factor[j], rhs, j, 0)) * inverse_pivots[j]
    for j in range(size - 1, -1, -1):
        row = factor[j]
        value = rhs[j] * inverse_pivots[j]
        rhs[j] = value
        for i in range(j):
            rhs[i] -= row[i] * value


@njit(**OPTIONS)
def factor_windows(item: Item, system: AffineSystem) -> None:
    """Factorise T of the windows: entry (j, k) is the sum of -1/r over the windows that contain both slots."""
    first, last, size = item.first, item.last, item.size
    factor = system.factor
    factor[:size, :size] = 0.0
    for i in range(size):
        factor[last[i], first[i]] -= 1.0 / (last[i] - first[i] + 1)
    for j in range(size):  # windows that begin at or before a slot
        for k in range(1, size):
            factor[j, k] += factor[j, k - 1]
    for j in range(size - 2, -1, -1):  # and end at or after the other slot
        for k in range(size):
            factor[j, k] += factor[j + 1, k]
    for i in range(size):
        for j in range(first[i], last[i] + 1):
            factor[j, j] += 1.0
    cholesky(factor, size, system.inverse_pivots, SINGULAR)


@njit(**OPTIONS)
def project_affine(matrix: np.ndarray, target: float, item: Item, system: AffineSystem) -> None:
    """Orthogonal projection of matrix[:size, :size], in place."""
    first, last, size = item.first, item.last, item.size
    columns = system.columns
    for j in range(size):
        columns[j] = target
    for i in range(size):
        row = matrix[i]
        total = target
        for j in range(first[i], last[i] + 1):
            total -= row[j]
        total /= last[i] - first[i] + 1
        for j in range(first[i], last[i] + 1):
            row[j] += total
            columns[j] -= row[j]
    cholesky_solve(system.factor, system.inverse_pivots, size, columns)
    for i in range(size):
        row = matrix[i]
        total = 0.0
        for j in range(first[i], last[i] + 1):
            total += columns[j]
        total /= last[i] - first[i] + 1
        for j in range(first[i], last[i] + 1):
            row[j] += columns[j] - total
