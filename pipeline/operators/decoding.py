"""Soft assignment -> order.

`hungarian` follows the paper and may violate dependencies; `topological_fill`, `expected_slots` and
`best_order` give legal orders by construction. All take (B, n, n) matrices, [b, i, j] of instruction i
in slot j, and return (B, n) int16 orders; with `PartialOrders` of several sizes the order's tail, beyond
an item's size, holds the masked instructions in their own order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit, prange
from scipy.optimize import linear_sum_assignment

from pipeline.operators.orders import PartialOrders, partial_orders

Orders = PartialOrders | np.ndarray
_FORBIDDEN = 1e9  # weight of a slot that no legal order uses
_PARALLEL: dict[str, Any] = {"nogil": True, "cache": True, "parallel": True}


def hungarian(matrix: np.ndarray, sizes: np.ndarray | None = None) -> np.ndarray:
    """Maximum-weight perfect matching of instructions to slots (POCSNet, equation 10).

    sizes: (B,) real instructions of each item, default all. A matrix that satisfies every dependency
    can still round to an order that violates one.
    """
    size, n, _ = matrix.shape
    order = np.broadcast_to(np.arange(n, dtype=np.int16), (size, n)).copy()
    for b, item in enumerate(matrix):
        m = n if sizes is None else int(sizes[b])
        instructions, slots = linear_sum_assignment(item[:m, :m], maximize=True)
        order[b, slots] = instructions
    return order


def topological_fill(matrix: np.ndarray, orders: Orders) -> np.ndarray:
    """Slot by slot, the ready instruction with the largest entry; ties go to the lower index."""
    orders = _read(orders)
    return _fill(np.ascontiguousarray(matrix, np.float64), *_graph(orders))


def expected_slots(matrix: np.ndarray, orders: Orders) -> np.ndarray:
    """Instructions by expected slot sum_j j X_ij, the earliest ready one first.

    The sorted order itself wherever that is legal, as it is for every matrix that satisfies the
    dependencies.
    """
    orders = _read(orders)
    expected = (matrix * np.arange(orders.n)).sum(2)
    score = np.broadcast_to(-expected[:, :, None], matrix.shape)
    return _fill(np.ascontiguousarray(score, np.float64), *_graph(orders))


@dataclass(frozen=True)
class Best:
    """Result of `best_order`: legal orders, whether each is proven best, and the largest loss possible."""

    order: np.ndarray  # (B, n) int16
    optimal: np.ndarray  # (B,) bool
    gap: np.ndarray  # (B,) an upper bound on (best weight - weight of order); 0 where optimal


def best_order(matrix: np.ndarray, orders: Orders, max_states: int = 200_000) -> Best:
    """The legal order of the largest total weight sum_t X[order[t], t]: dynamic programming over down-sets.

    A down-set is a set of instructions that holds the predecessors of its members; its best weight does
    not depend on how it was filled. Items with more than `max_states` down-sets, or more than 63
    instructions, get the better of the two greedy orders, with the gap to the Hungarian matching within
    the windows, which bounds every order.
    """
    orders = _read(orders)
    weights = np.ascontiguousarray(matrix, np.float64)
    order, optimal = _best(weights, *_graph(orders), max_states)
    gap = np.zeros(len(orders))
    late = np.flatnonzero(~optimal)
    if len(late):
        part = orders.take(late)
        options = [topological_fill(weights[late], part), expected_slots(weights[late], part)]
        found = np.stack([weight_of(weights[late], option, part.sizes) for option in options])
        allowed = np.where(part.support(), weights[late], -_FORBIDDEN)
        bound = weight_of(weights[late], hungarian(allowed, part.sizes), part.sizes)
        order[late] = np.where((found[0] >= found[1])[:, None], *options)
        gap[late] = bound - found.max(0)
        optimal[late] = gap[late] <= 1e-12 * (1 + np.abs(bound))
    return Best(order, optimal, gap)


def weight_of(matrix: np.ndarray, order: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Total weight (B,) of the real slots of orders (B, n)."""
    taken = np.take_along_axis(matrix, order[:, None, :].astype(np.int64), 1)[:, 0]  # [b, t] = X[b, order[b, t], t]
    return (taken * (np.arange(matrix.shape[1]) < sizes[:, None])).sum(1)


def _read(orders: Orders) -> PartialOrders:
    return orders if isinstance(orders, PartialOrders) else partial_orders(orders)


def _graph(orders: PartialOrders) -> tuple[np.ndarray, ...]:
    return orders.sizes, orders.offsets, orders.before, orders.after


@njit(**_PARALLEL)
def _fill(
    score: np.ndarray, sizes: np.ndarray, offsets: np.ndarray, before: np.ndarray, after: np.ndarray
) -> np.ndarray:
    batch, n, _ = score.shape
    order = np.empty((batch, n), np.int16)
    chunks = min(batch, 64)
    for chunk in prange(chunks):
        waiting, ready = np.empty(n, np.int64), np.empty(n, np.int64)
        head, following = np.empty(n, np.int64), np.empty(len(before), np.int64)  # successors as linked lists
        for b in range(chunk, batch, chunks):
            size = sizes[b]
            for i in range(n):
                waiting[i] = 0
                head[i] = -1
                order[b, i] = i
            for e in range(offsets[b], offsets[b + 1]):
                waiting[after[e]] += 1
                following[e] = head[before[e]]
                head[before[e]] = e
            count = 0
            for i in range(size):
                if waiting[i] == 0:
                    ready[count] = i
                    count += 1
            for slot in range(size):
                place = 0
                for k in range(1, count):
                    mine, best = score[b, ready[k], slot], score[b, ready[place], slot]
                    if mine > best or best != best or (mine == best and ready[k] < ready[place]):
                        place = k
                chosen = ready[place]
                order[b, slot] = chosen
                count -= 1
                ready[place] = ready[count]
                e = head[chosen]
                while e >= 0:
                    waiting[after[e]] -= 1
                    if waiting[after[e]] == 0:
                        ready[count] = after[e]
                        count += 1
                    e = following[e]
    return order


@njit(nogil=True, cache=True)
def _find(keys: np.ndarray, stamp: int, stamps: np.ndarray, key: np.uint64) -> np.int64:
    """Where `key` is or belongs in the open-addressed table; places says -1 for a free one."""
    mask = len(keys) - 1
    h = key * np.uint64(0x9E3779B97F4A7C15)
    at = np.int64((h ^ (h >> np.uint64(29))) & np.uint64(mask))
    while stamps[at] == stamp and keys[at] != key:
        at = (at + 1) & mask
    return at


@njit(**_PARALLEL)
def _best(
    weights: np.ndarray, sizes: np.ndarray, offsets: np.ndarray, before: np.ndarray, after: np.ndarray, max_states: int
) -> tuple[np.ndarray, np.ndarray]:
    batch, n, _ = weights.shape
    order = np.empty((batch, n), np.int16)
    optimal = np.zeros(batch, np.bool_)
    one = np.uint64(1)
    chunks = min(batch, 16)
    table = 64
    while table < 4 * max_states:
        table *= 2
    for chunk in prange(chunks):
        sets, values = np.empty(max_states, np.uint64), np.empty(max_states)
        mothers, choices = np.empty(max_states, np.int32), np.empty(max_states, np.int16)
        keys, places, stamps = np.empty(table, np.uint64), np.empty(table, np.int32), np.zeros(table, np.int64)
        stamp = 0
        needed = np.empty(n, np.uint64)
        for b in range(chunk, batch, chunks):
            size = sizes[b]
            for i in range(n):
                order[b, i] = i
                needed[i] = np.uint64(0)
            if size > 63:
                continue
            for e in range(offsets[b], offsets[b + 1]):
                needed[after[e]] |= one << np.uint64(before[e])
            sets[0], values[0] = np.uint64(0), 0.0
            begin, end = 0, 1
            complete = True
            for slot in range(size):
                stamp += 1  # empties the table
                following = end
                for state in range(begin, end):
                    placed = sets[state]
                    for i in range(size):
                        bit = one << np.uint64(i)
                        if placed & bit or needed[i] & ~placed:
                            continue
                        value = values[state] + weights[b, i, slot]
                        at = _find(keys, stamp, stamps, placed | bit)
                        if stamps[at] != stamp:
                            if following == max_states:
                                complete = False
                                break
                            stamps[at], keys[at], places[at] = stamp, placed | bit, following
                            sets[following], values[following] = placed | bit, value
                            mothers[following], choices[following] = state, i
                            following += 1
                        elif value > values[places[at]]:
                            values[places[at]] = value
                            mothers[places[at]], choices[places[at]] = state, i
                    if not complete:
                        break
                if not complete:
                    break
                begin, end = end, following
            if complete:
                state = end - 1
                for slot in range(size - 1, -1, -1):
                    order[b, slot] = choices[state]
                    state = mothers[state]
                optimal[b] = True
    return order, optimal
