"""The legal order of the largest weight sum_t X[order[t], t], with a proof, or with a proven gap.

1. The maximum-weight matching within the windows (`matching`) bounds every legal order. Where it is legal,
   it is the answer.
2. Else a search over down-sets, layer by layer: sets of instructions that hold the predecessors of their
   members. Which instructions fill the first t slots decides what can follow, not how they were filled, so
   the best way to fill each set is all that is kept (dynamic programming). The duals u, v of the matching
   make every placement of i in slot j cost u_i + v_j - X_ij >= 0, and the total weight is sum u + sum v less
   the cost. So a set whose cost reaches that of a known order is left out: exact, and on most matrices that
   leaves few sets.
3. Where a layer still has more sets than a width, the cheapest are kept. All that was dropped costs at least
   as much as the cheapest dropped set, which bounds what was lost. The width grows until nothing better can
   have been dropped, or to `max_states`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from pipeline.operators.greedy import Orders, expected_slots, read, topological_fill
from pipeline.operators.matching import bounded, match
from pipeline.operators.orders import PartialOrders
from pipeline.operators.threads import share

_NARROWEST, _WIDER = 16, 8  # widths of the search: the first, and how many times wider each next one is
_ROUNDING = 1e-13  # of the largest entry, for each slot: costs that differ by less are equal


@dataclass(frozen=True)
class Best:
    """Result of `best_order`: legal orders, whether each is proven best, and the largest loss possible."""

    order: np.ndarray  # (B, n) int16
    optimal: np.ndarray  # (B,) bool
    gap: np.ndarray  # (B,) an upper bound on (best weight - weight of order); 0 where optimal


def best_order(matrix: np.ndarray, orders: Orders, max_states: int = 4096) -> Best:
    """The legal orders of the largest total weight sum_t X[order[t], t].

    matrix: (B, n, n), entries cut off at +-1e6, NaN as the smallest. max_states: at most so many down-sets are
    kept for each number of filled slots; an item that needs more gets the best order found, never lighter
    than the greedy ones, and a bound on what it may lack. "Best" is up to rounding, 1e-13 n of the largest
    entry. Of equally heavy orders one is taken, the same one every time.
    """
    orders = read(orders)
    weights = bounded(matrix)
    order, rows, columns = match(weights, orders.sizes, orders.first, orders.last)
    optimal, gap = is_legal(order, orders), np.zeros(len(orders))
    rest = np.flatnonzero(~optimal)
    if len(rest):
        part, own = orders.take(rest), weights[rest]
        fill, sort = topological_fill(own, part), expected_slots(own, part)
        heavier = weight_of(own, fill, part.sizes) >= weight_of(own, sort, part.sizes)
        known = np.where(heavier[:, None], fill, sort)
        lost = np.zeros(len(rest))
        share(
            _search, own, rows[rest], columns[rest], part.sizes, part.offsets, part.before, part.after, part.first,
            part.last, max_states, known, lost,
        )  # fmt: skip
        order[rest], gap[rest] = known, lost
        optimal[rest] = gap[rest] == 0
    return Best(order, optimal, gap)


def weight_of(matrix: np.ndarray, order: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Total weight (B,) of the real slots of orders (B, n)."""
    taken = np.take_along_axis(matrix, order[:, None, :].astype(np.int64), 1)[:, 0]  # [b, t] = X[b, order[b, t], t]
    return np.where(np.arange(matrix.shape[1]) < sizes[:, None], taken, 0.0).sum(1)


def is_legal(order: np.ndarray, orders: PartialOrders) -> np.ndarray:
    """Whether orders (B, n) hold every dependency, (B,) bool."""
    slot = np.argsort(order, 1)
    item = np.repeat(np.arange(len(orders)), np.diff(orders.offsets))
    wrong = slot[item, orders.before] > slot[item, orders.after]
    return np.bincount(item[wrong], minlength=len(orders)) == 0


@njit(nogil=True, cache=True)
def _place(keys: np.ndarray, stamp: int, stamps: np.ndarray, mask: int, key: np.ndarray) -> np.int64:
    """Where the set `key` is or belongs in the open-addressed table."""
    mixed = np.uint64(0)
    for word in range(len(key)):
        mixed = (mixed ^ key[word]) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    at = np.int64(mixed & np.uint64(mask))
    while stamps[at] == stamp:
        same = True
        for word in range(len(key)):
            same = same and keys[at, word] == key[word]
        if same:
            break
        at = (at + 1) & mask
    return at


@njit(nogil=True, cache=True)
def _pass(
    cost: np.ndarray,
    size: int,
    needed: np.ndarray,
    first: np.ndarray,
    last: np.ndarray,
    limit: float,
    width: int,
    sets: np.ndarray,
    costs: np.ndarray,
    mother: np.ndarray,
    choice: np.ndarray,
    mothers: np.ndarray,
    choices: np.ndarray,
    keys: np.ndarray,
    places: np.ndarray,
    stamps: np.ndarray,
    stamp: int,
) -> tuple[float, float, int]:
    """One search with at most `width` sets in a layer: cost of the order found, least cost dropped, last stamp.

    Only orders cheaper than `limit` are found. sets and costs hold two layers, the kept and the next; mother
    and choice say how the next one's sets came about, rows of mothers and choices the same of all kept ones.
    """
    one = np.uint64(1)
    mask = 64
    while mask < 2 * width * size:
        mask *= 2
    mask -= 1
    old, new, dropped = 0, 1, np.inf
    sets[old, 0] = 0  # nothing placed
    costs[old, 0] = 0.0
    kept = 1
    key = np.empty(sets.shape[2], np.uint64)
    for slot in range(size):
        stamp += 1  # empties the table
        found = 0
        for state in range(kept):
            placed = sets[old, state]
            for i in range(size):
                word, bit = i >> 6, one << np.uint64(i & 63)
                if slot < first[i] or slot > last[i] or placed[word] & bit:
                    continue
                total = costs[old, state] + cost[i, slot]
                if total >= limit:
                    continue
                ready = True
                for w in range(len(placed)):
                    ready = ready and not needed[i, w] & ~placed[w]
                    key[w] = placed[w]
                if not ready:
                    continue
                key[word] |= bit
                at = _place(keys, stamp, stamps, mask, key)
                if stamps[at] != stamp:
                    stamps[at], places[at] = stamp, found
                    keys[at] = key
                    sets[new, found] = key
                    costs[new, found] = total
                    mother[found], choice[found] = state, i
                    found += 1
                elif total < costs[new, places[at]]:
                    costs[new, places[at]] = total
                    mother[places[at]], choice[places[at]] = state, i
        threshold, equals = np.inf, 0
        if found > width:  # the cheapest stay, among equals the first found
            threshold = np.partition(costs[new, :found], width - 1)[width - 1]
            equals = width
            for state in range(found):
                equals -= costs[new, state] < threshold
        kept = 0
        for state in range(found):
            value = costs[new, state]
            if value < threshold or (value == threshold and equals > 0):
                equals -= value == threshold
                sets[new, kept] = sets[new, state]
                costs[new, kept] = value
                mothers[slot, kept], choices[slot, kept] = mother[state], choice[state]
                kept += 1
            else:
                dropped = min(dropped, value)
        if kept == 0:
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
    sizes: np.ndarray,
    offsets: np.ndarray,
    before: np.ndarray,
    after: np.ndarray,
    first: np.ndarray,
    last: np.ndarray,
    max_states: int,
    order: np.ndarray,
    gap: np.ndarray,
) -> None:
    """Makes `order` (B, n) as heavy as it can, in place, and fills `gap` (B,): how much heavier a legal one may be."""
    batch, n, _ = weights.shape
    words = (n + 63) // 64
    needed, cost = np.empty((n, words), np.uint64), np.empty((n, n))
    room = 0  # the width that the scratch is for: most items need little
    for b in range(start, batch, stride):
        size = sizes[b]
        needed[:size] = 0
        for e in range(offsets[b], offsets[b + 1]):
            needed[after[e], before[e] >> 6] |= np.uint64(1) << np.uint64(before[e] & 63)
        largest = 0.0
        for i in range(size):
            for j in range(first[b, i], last[b, i] + 1):
                cost[i, j] = max(rows[b, i] + columns[b, j] - weights[b, i, j], 0.0)
                largest = max(largest, abs(weights[b, i, j]))
        rounding = _ROUNDING * size * largest
        best = 0.0
        for slot in range(size):
            best += cost[order[b, slot], slot]
        width, dropped = min(_NARROWEST, max_states), 0.0
        while best - dropped > rounding:
            if width > room:
                room, table = width, 64
                while table < 2 * room * n:
                    table *= 2
                sets, costs = np.empty((2, room * n, words), np.uint64), np.empty((2, room * n))
                mother, choice = np.empty(room * n, np.int32), np.empty(room * n, np.int16)
                mothers, choices = np.empty((n, room), np.int32), np.empty((n, room), np.int16)
                keys, places = np.empty((table, words), np.uint64), np.empty(table, np.int32)
                stamps = np.zeros(table, np.int64)
                stamp = stamps[0]  # not the number 0: `_pass` would be compiled for it by itself
            total, dropped, stamp = _pass(
                cost, size, needed, first[b], last[b], best - rounding, width,
                sets, costs, mother, choice, mothers, choices, keys, places, stamps, stamp,
            )  # fmt: skip
            if total < best:
                best = total
                state = 0
                for slot in range(size - 1, -1, -1):
                    order[b, slot] = choices[slot, state]
                    state = mothers[slot, state]
            if width >= max_states:
                break
            width = min(_WIDER * width, max_states)
        gap[b] = best - dropped if best - dropped > rounding else 0.0
