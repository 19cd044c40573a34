"""The projections over a batch: the items from `start` on in strides, so that threads can share a batch.

An item's numbers do not depend on the others nor on the number of threads. Float64 throughout: at
the sizes of a block the vectors are short and it costs little.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from pipeline.operators.affine import OPTIONS, factor_windows, project_affine
from pipeline.operators.extrapolated import edge_weights, extrapolate, extrapolate_backward
from pipeline.operators.nearest import face_projection, nearest_scratch, newton

LARGEST = 1e6  # proposals are cut off here: beyond, float64 has too few digits left for the constraints


@njit(**OPTIONS)
def _load(proposal: np.ndarray, first: np.ndarray, last: np.ndarray, size: int, matrix: np.ndarray) -> bool:
    """Copy what lies in the windows, cut off at +-LARGEST; false where an entry is NaN."""
    known = True
    for i in range(size):
        for j in range(first[i], last[i] + 1):
            known &= not np.isnan(proposal[i, j])
            matrix[i, j] = min(max(proposal[i, j], -LARGEST), LARGEST)
    return known


@njit(**OPTIONS)
def forward(
    start: int,
    stride: int,
    proposal: np.ndarray,
    sizes: np.ndarray,
    offsets: np.ndarray,
    before: np.ndarray,
    after: np.ndarray,
    first: np.ndarray,
    last: np.ndarray,
    iterations: int,
    tolerance: float,
    exact: bool,
    found: np.ndarray,
    multipliers: np.ndarray,
    spent: np.ndarray,
    errors: np.ndarray,
) -> None:
    """Fills found (B, n, n, exact zeros outside the windows), multipliers (M,), spent (B,) and errors (B,).

    At most `iterations` extrapolated steps for each item, `spent`; where they leave a violation above
    `tolerance`, or `exact` is set, Newton's method projects what they left, spent becomes -1 - iterations,
    and the error that Newton's method left is kept. An item with a NaN is NaN in its windows.
    """
    batch, n, _ = proposal.shape
    most = 0
    for b in range(batch):
        most = max(most, offsets[b + 1] - offsets[b])
    matrix, direction, factor = np.empty((n, n)), np.empty((n, n)), np.empty((n, n))
    pivots, columns, expected, slope = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    weights = np.empty(most)
    shifted, history = np.empty((n, n)), np.empty((0, n, n))
    # Newton's scratch is large; it is made when the first item needs it.
    made = False
    gradient, change, free, system, system_pivots, rhs, rows = nearest_scratch(0, 0)
    for b in range(start, batch, stride):
        size, lo, hi = sizes[b], first[b], last[b]
        a, z = before[offsets[b] : offsets[b + 1]], after[offsets[b] : offsets[b + 1]]
        spent[b], errors[b] = 0, 0.0
        source = matrix
        if _load(proposal[b], lo, hi, size, matrix):
            factor_windows(lo, hi, size, factor, pivots)
            project_affine(matrix, 1.0, lo, hi, size, factor, pivots, columns)
            edge_weights(lo, hi, a, z, weights)
            used, worst = extrapolate(
                matrix, lo, hi, size, a, z, weights, tolerance, iterations,
                history, direction, expected, slope, factor, pivots, columns,
            )  # fmt: skip
            spent[b] = used
            if exact or worst > tolerance:
                if not made:
                    gradient, change, free, system, system_pivots, rhs, rows = nearest_scratch(n, most)
                    made = True
                _, errors[b] = newton(
                    matrix, (lo, hi, size, a, z), shifted, multipliers[offsets[b] : offsets[b + 1]], direction,
                    weights, gradient, change, free, system, system_pivots, rhs, rows,
                )  # fmt: skip
                spent[b] = -1 - used
                for i in range(size):
                    for j in range(lo[i], hi[i] + 1):
                        shifted[i, j] = max(shifted[i, j], 0.0)
                source = shifted
        else:
            for i in range(size):
                for j in range(lo[i], hi[i] + 1):
                    matrix[i, j] = np.nan
        for i in range(n):
            for j in range(n):
                inside = i < size and lo[i] <= j <= hi[i]
                found[b, i, j] = source[i, j] if inside else 0.0


@njit(**OPTIONS)
def backward(
    start: int,
    stride: int,
    proposal: np.ndarray,
    found: np.ndarray,
    cotangent: np.ndarray,
    sizes: np.ndarray,
    offsets: np.ndarray,
    before: np.ndarray,
    after: np.ndarray,
    first: np.ndarray,
    last: np.ndarray,
    tolerance: float,
    multipliers: np.ndarray,
    spent: np.ndarray,
    gradients: np.ndarray,
) -> None:
    """Fills gradients (B, n, n) with the product of `cotangent` and the derivative of `forward`."""
    batch, n, _ = proposal.shape
    most, longest = 0, 0
    for b in range(batch):
        most = max(most, offsets[b + 1] - offsets[b])
        longest = max(longest, spent[b] if spent[b] >= 0 else -1 - spent[b])
    matrix, direction, factor = np.empty((n, n)), np.empty((n, n)), np.empty((n, n))
    pivots, columns, expected, slope = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    weights, flow = np.empty(most), np.zeros((n, n))
    history = np.empty((2 * longest, n, n))
    made = False
    gradient, change, free, system, system_pivots, rhs, rows = nearest_scratch(0, 0)
    for b in range(start, batch, stride):
        size, lo, hi = sizes[b], first[b], last[b]
        a, z = before[offsets[b] : offsets[b + 1]], after[offsets[b] : offsets[b + 1]]
        known = _load(proposal[b], lo, hi, size, matrix)
        for i in range(size):
            for j in range(lo[i], hi[i] + 1):
                flow[i, j] = cotangent[b, i, j] if known else np.nan
        if known:
            if spent[b] < 0:
                if not made:
                    gradient, change, free, system, system_pivots, rhs, rows = nearest_scratch(n, most)
                    made = True
                face_projection(
                    found[b], multipliers[offsets[b] : offsets[b + 1]], (lo, hi, size, a, z), flow,
                    gradient, change, free, system, system_pivots, rhs, rows,
                )  # fmt: skip
            used = spent[b] if spent[b] >= 0 else -1 - spent[b]
            factor_windows(lo, hi, size, factor, pivots)
            if used > 0:
                project_affine(matrix, 1.0, lo, hi, size, factor, pivots, columns)
                edge_weights(lo, hi, a, z, weights)
                extrapolate(
                    matrix, lo, hi, size, a, z, weights, tolerance, used,
                    history, direction, expected, slope, factor, pivots, columns,
                )  # fmt: skip
            extrapolate_backward(
                flow, used, history, lo, hi, size, a, z, weights,
                direction, expected, slope, factor, pivots, columns,
            )  # fmt: skip
        for i in range(n):
            for j in range(n):
                inside = i < size and lo[i] <= j <= hi[i] and not abs(proposal[b, i, j]) > LARGEST
                gradients[b, i, j] = flow[i, j] if inside else 0.0
