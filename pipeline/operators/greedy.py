"""Greedy decoders: slot by slot the best of the ready instructions, legal by construction."""

from __future__ import annotations

import numpy as np
from numba import njit

from pipeline.operators.orders import PartialOrders, partial_orders
from pipeline.operators.threads import share

Orders = PartialOrders | np.ndarray


def topological_fill(matrix: np.ndarray, orders: Orders) -> np.ndarray:
    """Slot by slot, the ready instruction with the largest entry; ties go to the lower number, NaN comes last."""
    return _filled(matrix, False, read(orders))


def expected_slots(matrix: np.ndarray, orders: Orders) -> np.ndarray:
    """Instructions by expected slot sum_j j X_ij, the earliest ready one first; ties go to the lower number.

    The sorted order itself wherever that is legal, as it is for every matrix that satisfies the
    dependencies. An expected slot that is NaN comes last.
    """
    return _filled(matrix, True, read(orders))


def read(orders: Orders) -> PartialOrders:
    """Partial orders from themselves or from a bool relation (B, n, n)."""
    return orders if isinstance(orders, PartialOrders) else partial_orders(orders)


def graph(orders: PartialOrders) -> tuple[np.ndarray, ...]:
    """Sizes and dependencies as the kernels take them."""
    return orders.sizes, orders.offsets, orders.before, orders.after


def _filled(matrix: np.ndarray, by_expected_slot: bool, orders: PartialOrders) -> np.ndarray:
    order = np.empty(matrix.shape[:2], np.int16)
    share(_fill, np.ascontiguousarray(matrix, np.float64), by_expected_slot, *graph(orders), order)
    return order


@njit(nogil=True, cache=True)
def _fill(
    start: int,
    stride: int,
    matrix: np.ndarray,
    by_expected_slot: bool,
    sizes: np.ndarray,
    offsets: np.ndarray,
    before: np.ndarray,
    after: np.ndarray,
    order: np.ndarray,
) -> None:
    batch, n, _ = matrix.shape
    most = 0
    for b in range(batch):
        most = max(most, offsets[b + 1] - offsets[b])
    waiting, ready, expected = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n)
    head, following = np.empty(n, np.int64), np.empty(most, np.int64)  # successors as linked lists
    for b in range(start, batch, stride):
        size, begin = sizes[b], offsets[b]
        for i in range(n):
            waiting[i] = 0
            head[i] = -1
            order[b, i] = i
        for e in range(offsets[b + 1] - begin):
            a, z = before[begin + e], after[begin + e]
            waiting[z] += 1
            following[e] = head[a]
            head[a] = e
        if by_expected_slot:
            for i in range(size):
                expected[i] = 0.0
                for j in range(size):
                    expected[i] += j * matrix[b, i, j]
        count = 0
        for i in range(size):
            if waiting[i] == 0:
                ready[count] = i
                count += 1
        for slot in range(size):
            place, best = 0, -np.inf
            for k in range(count):
                i = ready[k]
                score = -expected[i] if by_expected_slot else matrix[b, i, slot]
                if score != score:
                    score = -np.inf
                if k == 0 or score > best or (score == best and i < ready[place]):
                    place, best = k, score
            chosen = ready[place]
            order[b, slot] = chosen
            count -= 1
            ready[place] = ready[count]
            e = head[chosen]
            while e >= 0:
                z = after[begin + e]
                waiting[z] -= 1
                if waiting[z] == 0:
                    ready[count] = z
                    count += 1
                e = following[e]
