"""The projections over a batch: one item after the other, items side by side on the cores.

An item's numbers do not depend on the others nor on the number of cores. Float64 throughout: at
the sizes of a block the vectors are short and it costs little.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from pipeline.operators.affine import OPTIONS, factor_windows, project_affine
from pipeline.operators.extrapolated import edge_weights, extrapolate, extrapolate_backward
from pipeline.operators.nearest import face_projection, nearest_scratch, newton

_PARALLEL = OPTIONS | {"parallel": True}
_NEWTON_STEPS = 300  # for each scale; seen: 150
_NEWTON_TOLERANCE = 1e-9
LARGEST = 1e6  # proposals are cut off here: beyond, float64 has too few digits left for the constraints


@njit(**OPTIONS)
def _load(proposal: np.ndarray, first: np.ndarray, last: np.ndarray, size: int, matrix: np.ndarray) -> None:
    for i in range(size):
        for j in range(first[i], last[i] + 1):
            matrix[i, j] = min(max(proposal[i, j], -LARGEST), LARGEST)


@njit(**_PARALLEL)
def forward(
    chunks: int,
    proposal: np.ndarray,
    sizes: np.ndarray,
    offsets: np.ndarray,
    before: np.ndarray,
    after: np.ndarray,
    first: np.ndarray,
    last: np.ndarray,
    iterations: int,
    tolerance: float,
    finish: int,
    found: np.ndarray,
    multipliers: np.ndarray,
    spent: np.ndarray,
) -> None:
    """Fills found (B, n, n, exact zeros outside the windows), spent (B,) and multipliers (M,).

    `iterations` extrapolated steps, at most, for each item; where they leave a violation above
    `tolerance` and `finish` is set, Newton's method projects what they left, and spent becomes
    -1 - iterations. With iterations = 0 and finish = 2, Newton's method alone.
    """
    batch, n, _ = proposal.shape
    most = 0
    for b in range(batch):
        most = max(most, offsets[b + 1] - offsets[b])
    for chunk in prange(chunks):
        matrix, direction, factor = np.empty((n, n)), np.empty((n, n)), np.empty((n, n))
        pivots, columns, expected, slope = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
        weights = np.empty(most)
        point, history = np.zeros((n + 1, n)), np.empty((0, n, n))
        # Newton's scratch is large; it is made when the first item needs it.
        made = False
        gradient, trial, change, free, system, system_pivots, rhs, rows = nearest_scratch(0, 0)
        dual = np.empty(2 * n + most)
        for b in range(chunk, batch, chunks):
            size, lo, hi = sizes[b], first[b], last[b]
            a, z = before[offsets[b] : offsets[b + 1]], after[offsets[b] : offsets[b + 1]]
            _load(proposal[b], lo, hi, size, matrix)
            factor_windows(lo, hi, size, factor, pivots)
            project_affine(matrix, 1.0, lo, hi, size, factor, pivots, columns)
            edge_weights(lo, hi, a, z, weights)
            used, worst = extrapolate(
                matrix, lo, hi, size, a, z, weights, tolerance, iterations,
                history, direction, expected, slope, factor, pivots, columns,
            )  # fmt: skip
            spent[b] = used
            source = matrix
            if finish == 2 or (finish == 1 and not worst <= tolerance):
                if not made:
                    gradient, trial, change, free, system, system_pivots, rhs, rows = nearest_scratch(n, most)
                    made = True
                newton(
                    matrix, lo, hi, size, a, z, min(tolerance, _NEWTON_TOLERANCE), _NEWTON_STEPS,
                    point, dual, gradient, trial, change, free, system, system_pivots, rhs, rows,
                )  # fmt: skip
                spent[b] = -1 - used
                source = point
                for e in range(len(a)):
                    multipliers[offsets[b] + e] = dual[2 * size + e]
            for i in range(n):
                for j in range(n):
                    inside = i < size and lo[i] <= j <= hi[i]
                    found[b, i, j] = source[i, j] if inside else 0.0


@njit(**_PARALLEL)
def backward(
    chunks: int,
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
    for chunk in prange(chunks):
        matrix, direction, factor = np.empty((n, n)), np.empty((n, n)), np.empty((n, n))
        pivots, columns, expected, slope = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
        weights, flow = np.empty(most), np.zeros((n, n))
        point, history = np.zeros((n + 1, n)), np.empty((2 * longest, n, n))
        made = False
        change_of, _, change, free, system, system_pivots, rhs, rows = nearest_scratch(0, 0)
        for b in range(chunk, batch, chunks):
            size, lo, hi = sizes[b], first[b], last[b]
            a, z = before[offsets[b] : offsets[b + 1]], after[offsets[b] : offsets[b + 1]]
            for i in range(size):
                for j in range(lo[i], hi[i] + 1):
                    flow[i, j] = cotangent[b, i, j]
            if spent[b] < 0:
                if not made:
                    change_of, _, change, free, system, system_pivots, rhs, rows = nearest_scratch(n, most)
                    made = True
                for i in range(size):
                    for j in range(lo[i], hi[i] + 1):
                        point[i, j] = found[b, i, j]
                face_projection(
                    point, multipliers[offsets[b] : offsets[b + 1]], lo, hi, size, a, z, flow,
                    change_of, change, free, system, system_pivots, rhs, rows,
                )  # fmt: skip
            used = spent[b] if spent[b] >= 0 else -1 - spent[b]
            factor_windows(lo, hi, size, factor, pivots)
            if used > 0:
                _load(proposal[b], lo, hi, size, matrix)
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
                    inside = i < size and lo[i] <= j <= hi[i] and abs(proposal[b, i, j]) <= LARGEST
                    gradients[b, i, j] = flow[i, j] if inside else 0.0
