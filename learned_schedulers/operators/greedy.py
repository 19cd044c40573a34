"""Greedy decoders: each slot gets the best ready instruction, so that orders are legal by construction."""

from __future__ import annotations

import numpy as np
from numba import njit

from learned_schedulers.operators.affine import most_edges
from learned_schedulers.operators.orders import OrderArrays, PartialOrders, partial_orders
from learned_schedulers.operators.threads import share

Orders = PartialOrders | np.ndarray


def topological_fill(matrix: np.ndarray, orders: Orders) -> np.ndarray:
    """Give each slot the ready instruction with the largest entry; ties go to the lower number, NaN comes last."""
    return _greedy(matrix, False, as_partial_orders(orders))


def expected_slots(matrix: np.ndarray, orders: Orders) -> np.ndarray:
    """Give each slot the ready instruction with the earliest expected slot sum_j j X_ij; ties go to the lower number.

    The result is the sorted order if that is legal, which it is for every matrix that satisfies the
    dependencies. An expected slot that is NaN comes last.
    """
    return _greedy(matrix, True, as_partial_orders(orders))


def as_partial_orders(orders: Orders) -> PartialOrders:
    """The argument itself if it is `PartialOrders`; else those of a bool relation (B, n, n)."""
    return orders if isinstance(orders, PartialOrders) else partial_orders(orders)


def _greedy(matrix: np.ndarray, by_expected_slot: bool, orders: PartialOrders) -> np.ndarray:
    order = np.empty(matrix.shape[:2], np.int16)
    share(_fill, np.ascontiguousarray(matrix, np.float64), by_expected_slot, orders.arrays(), order)
    return order


@njit(nogil=True, cache=True)
def _fill(
    start: int,
    stride: int,
    matrix: np.ndarray,
    by_expected_slot: bool,
    orders: OrderArrays,
    order: np.ndarray,
) -> None:
    sizes, offsets, before, after = orders.sizes, orders.offsets, orders.before, orders.after
    batch, n, _ = matrix.shape
    waiting, ready, expected = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n)
    first_edge, next_edge = np.empty(n, np.int64), np.empty(most_edges(offsets), np.int64)  # linked lists of successors
    for b in range(start, batch, stride):
        size, begin = sizes[b], offsets[b]
        for i in range(n):
            waiting[i] = 0
            first_edge[i] = -1
            order[b, i] = i
        for e in range(offsets[b + 1] - begin):
            a = before[begin + e]
            waiting[after[begin + e]] += 1
            next_edge[e] = first_edge[a]
            first_edge[a] = e
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
            position, best = 0, -np.inf
            for k in range(count):
                i = ready[k]
                score = -expected[i] if by_expected_slot else matrix[b, i, slot]
                if score != score:
                    score = -np.inf
                if k == 0 or score > best or (score == best and i < ready[position]):
                    position, best = k, score
            chosen = ready[position]
            order[b, slot] = chosen
            count -= 1
            ready[position] = ready[count]
            e = first_edge[chosen]
            while e >= 0:
                successor = after[begin + e]
                waiting[successor] -= 1
                if waiting[successor] == 0:
                    ready[count] = successor
                    count += 1
                e = next_edge[e]
