"""Maximum-weight matching of instructions to slots for a batch, with its dual, which proves that it is optimal.

The algorithm is shortest augmenting paths (Jonker, Volgenant 1987; of their initial reductions only that of the
rows): O(n^3) for an item. scipy's `linear_sum_assignment` finds the same matchings, but without the duals that
`best_order` needs, and a loop over small items spends most of its time in Python.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from learned_schedulers.operators.kernels import LARGEST
from learned_schedulers.operators.threads import share


def bounded(matrix: np.ndarray) -> np.ndarray:
    """The matrix as finite float64: entries are cut off at +-1e6, and NaN becomes -1e6."""
    finite = np.clip(np.ascontiguousarray(matrix, np.float64), -LARGEST, LARGEST)
    finite[np.isnan(finite)] = -LARGEST
    return finite


def hungarian(matrix: np.ndarray, sizes: np.ndarray | None = None) -> np.ndarray:
    """Maximum-weight perfect matching of instructions to slots (POCSNet, equation 10).

    sizes: (B,) number of real instructions of each item, default all. Even a matrix that satisfies every
    dependency can round to an order that violates one.
    """
    size, n, _ = matrix.shape
    sizes = np.full(size, n, np.int64) if sizes is None else np.asarray(sizes, np.int64)
    first = np.zeros((size, n), np.int32)
    last = np.broadcast_to(sizes[:, None].astype(np.int32) - 1, (size, n)).copy()
    return match(bounded(matrix), sizes, first, last)[0]


def match(
    weights: np.ndarray, sizes: np.ndarray, first: np.ndarray, last: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Matchings within windows, and duals u (B, n) of the instructions and v (B, n) of the slots.

    u_i + v_j >= X_ij for every slot j in first[b, i] .. last[b, i], with equality on the matching, up to
    rounding. So no order within the windows weighs more than sum u + sum v. The windows must allow a perfect
    matching. Returns (order (B, n) int16, u, v); a dual beyond an item's size is 0.
    """
    batch, n, _ = weights.shape
    order = np.empty((batch, n), np.int16)
    rows, columns = np.zeros((batch, n)), np.zeros((batch, n))
    share(_match, weights, sizes, first, last, order, rows, columns)
    return order, rows, columns


@njit(nogil=True, cache=True)
def _match(
    start: int,
    stride: int,
    weights: np.ndarray,
    sizes: np.ndarray,
    first: np.ndarray,
    last: np.ndarray,
    order: np.ndarray,
    rows: np.ndarray,
    columns: np.ndarray,
) -> None:
    """Fill `order` and the duals (rows: u, columns: v) of `match`."""
    batch, n, _ = weights.shape
    slot_of, holder, previous = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    distance, reached = np.empty(n), np.empty(n, np.bool_)
    for b in range(start, batch, stride):
        size, u, v, w = sizes[b], rows[b], columns[b], weights[b]
        for i in range(n):
            order[b, i] = i
            slot_of[i] = -1
            holder[i] = -1
        for i in range(size):  # a row gets its best slot if that is still free
            best = first[b, i]
            for j in range(first[b, i] + 1, last[b, i] + 1):
                if w[i, j] > w[i, best]:
                    best = j
            u[i] = w[i, best]
            if holder[best] < 0:
                holder[best] = i
                slot_of[i] = best
        for free in range(size):
            if slot_of[free] >= 0:
                continue
            for j in range(size):
                distance[j] = np.inf
                reached[j] = False
            row, length, end = free, 0.0, -1
            while end < 0:  # Dijkstra's algorithm over the slots; the lengths u + v - X are not negative
                offset, low, high = length + u[row], first[b, row], last[b, row]
                nearest, shortest = -1, np.inf
                for j in range(size):
                    if reached[j]:
                        continue
                    if low <= j <= high:
                        through = offset + v[j] - w[row, j]
                        if through < distance[j]:
                            distance[j] = through
                            previous[j] = row
                    if distance[j] < shortest:
                        nearest, shortest = j, distance[j]
                reached[nearest] = True
                length = shortest
                if holder[nearest] < 0:
                    end = nearest
                else:
                    row = holder[nearest]
            u[free] -= length
            for j in range(size):
                if reached[j] and j != end:
                    u[holder[j]] -= length - distance[j]
                    v[j] += length - distance[j]
            while end >= 0:  # along the path, each slot gets the row that reached it
                row = previous[end]
                holder[end] = row
                slot_of[row], end = end, slot_of[row]
        for j in range(size):
            order[b, j] = holder[j]
