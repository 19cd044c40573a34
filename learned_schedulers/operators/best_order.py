"""The legal order of the largest weight sum_t X[order[t], t], with a proof, or with a proven gap.

1. The weight of the maximum-weight matching within the windows (`matching`) is an upper bound on that of every
   legal order. If the matching is legal, it is the answer.
2. Otherwise there is a search over down-sets, layer by layer. A down-set contains the predecessors of all its
   members. The set of instructions in the first t slots decides what can follow, and their order does not, so
   the search stores only the best order of each set (dynamic programming). With the duals u, v of the matching,
   instruction i in slot j costs u_i + v_j - X_ij >= 0, and the total weight is sum u + sum v minus the cost. So
   the search drops a set whose cost reaches that of an existing order. This is exact, and on most matrices
   few sets remain.
3. If a layer still has more sets than the width, only the cheapest remain. Every order through a dropped set
   costs at least as much as the cheapest dropped set, which bounds the loss. The width grows until no dropped
   set can be better, or to `max_states`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import njit

from learned_schedulers.operators.affine import Item, item_of
from learned_schedulers.operators.greedy import Orders, as_partial_orders, expected_slots, topological_fill
from learned_schedulers.operators.matching import bounded, match
from learned_schedulers.operators.orders import OrderArrays, PartialOrders
from learned_schedulers.operators.threads import share

_FIRST_WIDTH, _WIDENING = 16, 8  # the first width of the search, and the factor of each next one
_ROUNDING = 1e-13  # share of the largest entry, for each slot: costs that differ by less are equal


@dataclass(frozen=True)
class Best:
    """Result of `best_order`: legal orders, whether each is proven to be the best, and its largest possible loss."""

    order: np.ndarray  # (B, n) int16
    optimal: np.ndarray  # (B,) bool
    gap: np.ndarray  # (B,) an upper bound on (best weight - weight of order); 0 where optimal


def best_order(matrix: np.ndarray, orders: Orders, max_states: int = 4096) -> Best:
    """The legal orders of the largest total weight sum_t X[order[t], t].

    matrix: (B, n, n); entries are cut off at +-1e6, and NaN counts as the smallest. max_states: the largest number
    of down-sets that the search stores for each number of filled slots. An item that needs more gets a good order,
    never lighter than the greedy ones, and an upper bound on its loss. "Best" is up to rounding, 1e-13 n of the
    largest entry. Of equally heavy orders the result is always the same one.
    """
    orders = as_partial_orders(orders)
    weights = bounded(matrix)
    order, rows, columns = match(weights, orders.sizes, orders.first, orders.last)
    optimal, gap = is_legal(order, orders), np.zeros(len(orders))
    rest = np.flatnonzero(~optimal)
    if len(rest):
        rest_orders, rest_weights = orders.take(rest), weights[rest]
        filled = topological_fill(rest_weights, rest_orders)
        by_slot = expected_slots(rest_weights, rest_orders)
        heavier = weight_of(rest_weights, filled, rest_orders.sizes) >= weight_of(
            rest_weights, by_slot, rest_orders.sizes
        )
        rest_order, rest_gap = np.where(heavier[:, None], filled, by_slot), np.zeros(len(rest))
        arrays = rest_orders.arrays()
        share(_search, rest_weights, rows[rest], columns[rest], arrays, max_states, rest_order, rest_gap)
        order[rest], gap[rest] = rest_order, rest_gap
        optimal[rest] = gap[rest] == 0
    return Best(order, optimal, gap)


def weight_of(matrix: np.ndarray, order: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Total weight (B,) of the real slots of orders (B, n)."""
    entries = np.take_along_axis(matrix, order[:, None, :].astype(np.int64), 1)[:, 0]  # [b, t] = X[b, order[b, t], t]
    return np.where(np.arange(matrix.shape[1]) < sizes[:, None], entries, 0.0).sum(1)


def is_legal(order: np.ndarray, orders: PartialOrders) -> np.ndarray:
    """Whether orders (B, n) satisfy every dependency, (B,) bool."""
    slot = np.argsort(order, 1)
    item = np.repeat(np.arange(len(orders)), np.diff(orders.offsets))
    wrong = slot[item, orders.before] > slot[item, orders.after]
    return np.bincount(item[wrong], minlength=len(orders)) == 0


class _Table(NamedTuple):
    """An open-addressed hash table of down-sets; a row is in use if its stamp is that of the current layer."""

    keys: np.ndarray  # (rows, words) uint64, bits of the members
    states: np.ndarray  # (rows,) int32, index of the set in its layer
    stamps: np.ndarray  # (rows,) int64


class _Layers(NamedTuple):
    """Scratch of the search for `states` sets in a layer; two layers alternate in `sets` and `costs`."""

    sets: np.ndarray  # (2, states * n, words) uint64, bits of the members
    costs: np.ndarray  # (2, states * n)
    parent: np.ndarray  # (states * n,) int32, of each set of the next layer: its best subset in the present layer
    choice: np.ndarray  # (states * n,) int16, and the instruction that was added to it
    parents: np.ndarray  # (n, states) int32, `parent` of the remaining sets of every layer
    choices: np.ndarray  # (n, states) int16, `choice` of the remaining sets of every layer


@njit(nogil=True, cache=True)
def _row_of(table: _Table, stamp: int, mask: int, key: np.ndarray) -> np.int64:
    """The row of the set `key` in the table, or the free row that it belongs to."""
    keys, stamps = table.keys, table.stamps
    mixed = np.uint64(0)
    for word in range(len(key)):
        mixed = (mixed ^ key[word]) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    row = np.int64(mixed & np.uint64(mask))
    while stamps[row] == stamp:
        same = True
        for word in range(len(key)):
            same = same and keys[row, word] == key[word]
        if same:
            break
        row = (row + 1) & mask
    return row


@njit(nogil=True, cache=True)
def _pass(
    cost: np.ndarray,
    item: Item,
    predecessors: np.ndarray,
    limit: float,
    width: int,
    layers: _Layers,
    table: _Table,
    stamp: int,
) -> tuple[float, float, int]:
    """One search with at most `width` sets in a layer; finds only orders that are cheaper than `limit`.

    predecessors: (n, words) uint64, bits. Returns the cost of the best order (infinite if there is none), the least
    cost of a dropped set, and the last stamp.
    """
    first, last, size = item.first, item.last, item.size
    sets, costs, parent, choice, parents, choices = layers
    states, stamps = table.states, table.stamps
    lowest_bit = np.uint64(1)
    mask = 64
    while mask < 2 * width * size:
        mask *= 2
    mask -= 1
    old, new, dropped = 0, 1, np.inf
    sets[old, 0] = 0  # nothing placed
    costs[old, 0] = 0.0
    old_count = 1
    key = np.empty(sets.shape[2], np.uint64)
    for slot in range(size):
        stamp += 1  # empties the table
        new_count = 0
        for state in range(old_count):
            placed = sets[old, state]
            for i in range(size):
                word, bit = i >> 6, lowest_bit << np.uint64(i & 63)
                if slot < first[i] or slot > last[i] or placed[word] & bit:
                    continue
                total = costs[old, state] + cost[i, slot]
                if total >= limit:
                    continue
                ready = True
                for w in range(len(placed)):
                    ready = ready and not predecessors[i, w] & ~placed[w]
                    key[w] = placed[w]
                if not ready:
                    continue
                key[word] |= bit
                row = _row_of(table, stamp, mask, key)
                if stamps[row] != stamp:
                    stamps[row], states[row] = stamp, new_count
                    table.keys[row] = key
                    sets[new, new_count] = key
                    costs[new, new_count] = total
                    parent[new_count], choice[new_count] = state, i
                    new_count += 1
                elif total < costs[new, states[row]]:
                    costs[new, states[row]] = total
                    parent[states[row]], choice[states[row]] = state, i
        threshold, equals = np.inf, 0
        if new_count > width:  # the cheapest stay, and of equal ones the earliest
            threshold = np.partition(costs[new, :new_count], width - 1)[width - 1]
            equals = width
            for state in range(new_count):
                equals -= costs[new, state] < threshold
        old_count = 0
        for state in range(new_count):
            value = costs[new, state]
            if value < threshold or (value == threshold and equals > 0):
                equals -= value == threshold
                sets[new, old_count] = sets[new, state]
                costs[new, old_count] = value
                parents[slot, old_count], choices[slot, old_count] = parent[state], choice[state]
                old_count += 1
            else:
                dropped = min(dropped, value)
        if old_count == 0:
            return np.inf, dropped, stamp
        old, new = new, old
    return costs[old, 0], dropped, stamp


@njit(nogil=True, cache=True)
def _search(
    start: int,
    stride: int,
    weights: np.ndarray,
    rows: np.ndarray,
    columns: np.ndarray,
    orders: OrderArrays,
    max_states: int,
    order: np.ndarray,
    gap: np.ndarray,
) -> None:
    """Improve `order` (B, n) in place, and fill `gap` (B,): how much heavier another legal order may be."""
    batch, n, _ = weights.shape
    words = (n + 63) // 64
    predecessors, cost = np.empty((n, words), np.uint64), np.empty((n, n))
    room = 0  # largest width that fits the scratch; most items need little
    for b in range(start, batch, stride):
        item = item_of(orders, b)
        first, last, size, before, after = item
        predecessors[:size] = 0
        for e in range(len(before)):
            predecessors[after[e], before[e] >> 6] |= np.uint64(1) << np.uint64(before[e] & 63)
        largest = 0.0
        for i in range(size):
            for j in range(first[i], last[i] + 1):
                cost[i, j] = max(rows[b, i] + columns[b, j] - weights[b, i, j], 0.0)
                largest = max(largest, abs(weights[b, i, j]))
        rounding = _ROUNDING * size * largest
        best = 0.0
        for slot in range(size):
            best += cost[order[b, slot], slot]
        width, dropped = min(_FIRST_WIDTH, max_states), 0.0
        while best - dropped > rounding:
            if width > room:
                room, table_rows = width, 64
                while table_rows < 2 * room * n:
                    table_rows *= 2
                layers = _Layers(
                    np.empty((2, room * n, words), np.uint64), np.empty((2, room * n)),
                    np.empty(room * n, np.int32), np.empty(room * n, np.int16),
                    np.empty((n, room), np.int32), np.empty((n, room), np.int16),
                )  # fmt: skip
                stamps = np.zeros(table_rows, np.int64)
                table = _Table(np.empty((table_rows, words), np.uint64), np.empty(table_rows, np.int32), stamps)
                stamp = stamps[0]  # not the literal 0, for which numba would compile `_pass` separately
            total, dropped, stamp = _pass(
                cost, item, predecessors, best - rounding, width, layers, table, stamp
            )  # fmt: skip
            if total < best:
                best = total
                state = 0
                for slot in range(size - 1, -1, -1):
                    order[b, slot] = layers.choices[slot, state]
                    state = layers.parents[slot, state]
            if width >= max_states:
                break
            width = min(_WIDENING * width, max_states)
        gap[b] = best - dropped if best - dropped > rounding else 0.0
