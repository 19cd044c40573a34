"""The projections of a batch: a kernel handles items start, start + stride, ..., so that threads can share a batch.

An item's numbers depend neither on the other items nor on the number of threads. All numbers are float64: at
the sizes of a block the vectors are short, so this costs little.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from learned_schedulers.operators.affine import (
    OPTIONS,
    AffineSystem,
    Item,
    factor_windows,
    item_of,
    most_edges,
    project_affine,
)
from learned_schedulers.operators.extrapolated import Scratch, edge_weights, extrapolate, extrapolate_backward
from learned_schedulers.operators.nearest import face_projection, newton, newton_scratch
from learned_schedulers.operators.orders import OrderArrays

LARGEST = 1e6  # proposals are cut off at this size: beyond it, float64 has too few digits for the constraints


@njit(**OPTIONS)
def _load(proposal: np.ndarray, item: Item, matrix: np.ndarray) -> bool:
    """Copy the entries within the windows, cut off at +-LARGEST; returns false if one of them is NaN."""
    first, last = item.first, item.last
    valid = True
    for i in range(item.size):
        for j in range(first[i], last[i] + 1):
            valid &= not np.isnan(proposal[i, j])
            matrix[i, j] = min(max(proposal[i, j], -LARGEST), LARGEST)
    return valid


@njit(**OPTIONS)
def _scratch(n: int) -> tuple[AffineSystem, Scratch]:
    return (
        AffineSystem(np.empty((n, n)), np.empty(n), np.empty(n)),
        Scratch(np.empty((n, n)), np.empty(n), np.empty(n), np.empty(n)),
    )


@njit(**OPTIONS)
def forward(
    start: int,
    stride: int,
    proposal: np.ndarray,
    orders: OrderArrays,
    iterations: int,
    tolerance: float,
    exact: bool,
    projection: np.ndarray,
    multipliers: np.ndarray,
    spent: np.ndarray,
    errors: np.ndarray,
) -> None:
    """Fill projection (B, n, n, exact zeros outside the windows), multipliers (M,), spent (B,) and errors (B,).

    Each item makes at most `iterations` extrapolated steps, or none if `exact` is set; `spent` is their number. If
    they leave a violation above `tolerance`, or if `exact` is set, Newton's method projects their result, `spent`
    becomes -1 minus the number of steps, and `errors` is the error of Newton's method. An item with a NaN is NaN in
    its windows.
    """
    batch, n, _ = proposal.shape
    edges = most_edges(orders.offsets)
    system, scratch = _scratch(n)
    matrix, weights = np.empty((n, n)), np.empty(edges)
    shifted, history = np.empty((n, n)), np.empty((0, n, n))
    # Newton's scratch is large, so it is allocated when the first item needs it.
    allocated = False
    newton_arrays = newton_scratch(0, 0)
    for b in range(start, batch, stride):
        item = item_of(orders, b)
        first, last, size = item.first, item.last, item.size
        spent[b], errors[b] = 0, 0.0
        source = matrix
        if _load(proposal[b], item, matrix):
            factor_windows(item, system)
            project_affine(matrix, 1.0, item, system)
            steps, worst = 0, 0.0
            if not exact:
                edge_weights(item, weights)
                steps, worst = extrapolate(matrix, item, weights, tolerance, iterations, history, system, scratch)
            spent[b] = steps
            if exact or worst > tolerance:
                if not allocated:
                    newton_arrays = newton_scratch(n, edges)
                    allocated = True
                item_multipliers = multipliers[orders.offsets[b] : orders.offsets[b + 1]]
                trial, change = scratch.direction, weights
                _, errors[b] = newton(matrix, item, shifted, item_multipliers, trial, change, newton_arrays)
                spent[b] = -1 - steps
                for i in range(size):
                    for j in range(first[i], last[i] + 1):
                        shifted[i, j] = max(shifted[i, j], 0.0)
                source = shifted
        else:
            for i in range(size):
                for j in range(first[i], last[i] + 1):
                    matrix[i, j] = np.nan
        for i in range(n):
            for j in range(n):
                inside = i < size and first[i] <= j <= last[i]
                projection[b, i, j] = source[i, j] if inside else 0.0


@njit(**OPTIONS)
def backward(
    start: int,
    stride: int,
    proposal: np.ndarray,
    projection: np.ndarray,
    cotangent: np.ndarray,
    orders: OrderArrays,
    tolerance: float,
    multipliers: np.ndarray,
    spent: np.ndarray,
    gradients: np.ndarray,
) -> None:
    """Fill gradients (B, n, n) with the product of `cotangent` and the derivative of `forward`."""
    batch, n, _ = proposal.shape
    edges, longest = most_edges(orders.offsets), 0
    for b in range(batch):
        longest = max(longest, spent[b] if spent[b] >= 0 else -1 - spent[b])
    system, scratch = _scratch(n)
    matrix, weights, flow = np.empty((n, n)), np.empty(edges), np.zeros((n, n))
    history = np.empty((2 * longest, n, n))
    allocated = False
    newton_arrays = newton_scratch(0, 0)
    for b in range(start, batch, stride):
        item = item_of(orders, b)
        first, last, size = item.first, item.last, item.size
        valid = _load(proposal[b], item, matrix)
        for i in range(size):
            for j in range(first[i], last[i] + 1):
                flow[i, j] = cotangent[b, i, j] if valid else np.nan
        if valid:
            if spent[b] < 0:
                if not allocated:
                    newton_arrays = newton_scratch(n, edges)
                    allocated = True
                item_multipliers = multipliers[orders.offsets[b] : orders.offsets[b + 1]]
                face_projection(projection[b], item_multipliers, item, flow, newton_arrays)
            steps = spent[b] if spent[b] >= 0 else -1 - spent[b]
            factor_windows(item, system)
            if steps > 0:
                project_affine(matrix, 1.0, item, system)
                edge_weights(item, weights)
                extrapolate(matrix, item, weights, tolerance, steps, history, system, scratch)
            extrapolate_backward(flow, steps, history, item, weights, system, scratch)
        for i in range(n):
            for j in range(n):
                inside = i < size and first[i] <= j <= last[i] and not abs(proposal[b, i, j]) > LARGEST
                gradients[b, i, j] = flow[i, j] if inside else 0.0
