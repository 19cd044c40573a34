"""Linear extensions of one partial order at a time, compiled: counting them, drawing one.

Counting is #P-complete (Brightwell and Winkler 1991), but blocks are sparse. The counts of independent parts multiply,
times the number of ways to interleave the parts. The counts of parts that follow each other multiply. The count of a
set that cannot be decomposed is a sum over its possible last instructions, computed once per subset: dynamic
programming over down-sets, with the same decomposition of each remaining set (Kangas, Hankala, Niinimäki and Koivisto
2016, "Counting linear extensions of sparse posets").

Sets of instructions are the bits of one uint64. All compiled functions are in this file, because numba's cache on disk
only notices edits of the file that contains a function.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

LARGEST = 64  # instructions of a block
_ONE, _NONE = np.uint64(1), np.uint64(0)
_FACTORIAL = np.array([float(math.factorial(k)) for k in range(LARGEST + 1)])
# The last three entries of `slots`: the stamp of the present block, the number of its entries, and their limit.
_STAMP, _USED, _LIMIT = -3, -2, -1
_CHOOSE = np.array([[float(math.comb(n, k)) for k in range(LARGEST + 1)] for n in range(LARGEST + 1)])


@njit(cache=True)
def _size(bits: np.uint64) -> np.int64:
    """Number of members (the parallel bit count that LLVM turns into one instruction)."""
    bits = bits - ((bits >> _ONE) & np.uint64(0x5555555555555555))
    bits = (bits & np.uint64(0x3333333333333333)) + ((bits >> np.uint64(2)) & np.uint64(0x3333333333333333))
    bits = (bits + (bits >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((bits * np.uint64(0x0101010101010101)) >> np.uint64(56))


@njit(cache=True)
def _lowest(bits: np.uint64) -> np.int64:
    """Lowest member of a set that is not empty."""
    return _size(~bits & (bits - _ONE))


@njit(cache=True)
def _highest(bits: np.uint64) -> np.int64:
    """Highest member of a set that is not empty."""
    for shift in (1, 2, 4, 8, 16, 32):
        bits |= bits >> np.uint64(shift)
    return _size(bits) - 1


@njit(cache=True)
def _singleton(member: int | np.int64) -> np.uint64:
    """The set of a single member."""
    return _ONE << np.uint64(member)


@njit(cache=True)
def _close(n: int, following: np.ndarray, order: np.ndarray, ancestors: np.ndarray, descendants: np.ndarray) -> bool:
    """Transitive closure of one relation, renumbered so that an instruction has a lower number than its successors.

    following: (64,) uint64, direct successors. Fills order[t] (instruction with the new number t), and
    ancestors and descendants (64,) uint64 in the new numbers. Returns False if there is a cycle.
    """
    n_waiting_for = np.zeros(LARGEST, np.int64)
    for i in range(n):
        successors = following[i]
        while successors != _NONE:
            n_waiting_for[_lowest(successors)] += 1
            successors &= successors - _ONE
    number = np.zeros(LARGEST, np.int64)
    n_placed = 0
    for i in range(n):
        if n_waiting_for[i] == 0:
            order[n_placed] = i
            number[i] = n_placed
            n_placed += 1
    position = 0
    while position < n_placed:
        successors = following[order[position]]
        position += 1
        while successors != _NONE:
            k = _lowest(successors)
            successors &= successors - _ONE
            n_waiting_for[k] -= 1
            if n_waiting_for[k] == 0:
                order[n_placed] = k
                number[k] = n_placed
                n_placed += 1
    if n_placed < n:
        return False
    ancestors[:n] = _NONE
    for t in range(n - 1, -1, -1):
        reachable = _NONE
        successors = following[order[t]]
        while successors != _NONE:
            k = number[_lowest(successors)]
            successors &= successors - _ONE
            reachable |= _singleton(k) | descendants[k]
        descendants[t] = reachable
    for t in range(n):
        successors = descendants[t]
        while successors != _NONE:
            ancestors[_lowest(successors)] |= _singleton(t)
            successors &= successors - _ONE
    return True


@njit(cache=True)
def _new_table(states: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Keys, values and slots of a hash table for the counts of `states` subsets of one block, at most half full.

    keys (2**k,) uint64; values (2**k,) float64; slots (2**k + 3,) int64: the stamp of each entry's block, then the
    present stamp, the number of its entries and their limit. A new stamp makes all entries free.
    """
    size = 16
    while size < 2 * states:
        size *= 2
    slots = np.zeros(size + 3, np.int64)
    slots[size + 2] = states
    return np.zeros(size, np.uint64), np.zeros(size), slots


@njit(cache=True)
def _begin_block(slots: np.ndarray) -> None:
    """Begin another block: all entries of the table become free."""
    slots[_STAMP] += 1
    slots[_USED] = 0


@njit(cache=True)
def _table_position(subset: np.uint64, keys: np.ndarray, slots: np.ndarray) -> np.int64:
    """Position of the subset in the table, or of the free entry for it."""
    position_mask = len(keys) - 1
    hashed = subset * np.uint64(0x9E3779B97F4A7C15)
    position = np.int64((hashed ^ (hashed >> np.uint64(32))) & np.uint64(position_mask))
    while slots[position] == slots[_STAMP] and keys[position] != subset:
        position = (position + 1) & position_mask
    return position


@njit(cache=True)
def _full_set(n: int) -> np.uint64:
    """The set of n instructions."""
    return ~_NONE if n == LARGEST else _singleton(n) - _ONE


@njit(cache=True)
def _component(subset: np.uint64, ancestors: np.ndarray, descendants: np.ndarray) -> np.uint64:
    """The connected component of the first instruction of `subset` under dependence, direct or not."""
    component = subset & (~subset + _ONE)
    frontier = component
    while frontier != _NONE:
        i = _lowest(frontier)
        frontier &= frontier - _ONE
        new_members = (ancestors[i] | descendants[i]) & subset & ~component
        component |= new_members
        frontier |= new_members
    return component


@njit(cache=True)
def _last_part(subset: np.uint64, ancestors: np.ndarray) -> np.uint64:
    """The smallest part of `subset` that always comes after all other members; `subset` if there is none."""
    earlier, common_ancestors = subset, ~_NONE
    while earlier != _NONE:
        i = _highest(earlier)
        earlier &= ~_singleton(i)
        common_ancestors &= ancestors[i]
        if earlier & ~common_ancestors == _NONE:
            break
    return subset & ~earlier


@njit(cache=True)
def _hook_bound(subset: np.uint64, ancestors: np.ndarray, descendants: np.ndarray) -> float:
    """A lower bound of the number of legal orders: n! / product of |x and its descendants|.

    It is exact for forests and a lower bound for all other orders (Stanley, Enumerative Combinatorics 1, chapter 3;
    Hammett and Pittel 2008). By symmetry the same holds with ancestors; the function returns the better bound.
    """
    down, up, unvisited = 1.0, 1.0, subset
    while unvisited != _NONE:
        i = _lowest(unvisited)
        unvisited &= unvisited - _ONE
        down *= _size(descendants[i] & subset) + 1
        up *= _size(ancestors[i] & subset) + 1
    return _FACTORIAL[_size(subset)] / min(down, up)


@njit(cache=True)
def _possible_last(subset: np.uint64, descendants: np.ndarray) -> np.uint64:
    """The instructions of `subset` that can come last."""
    maximal, unvisited = _NONE, subset
    while unvisited != _NONE:
        i = _lowest(unvisited)
        unvisited &= unvisited - _ONE
        if descendants[i] & subset == _NONE:
            maximal |= _singleton(i)
    return maximal


@njit("float64(uint64, uint64[::1], uint64[::1], uint64[::1], float64[::1], int64[::1])", cache=True)
def _count(
    subset: np.uint64,
    ancestors: np.ndarray,
    descendants: np.ndarray,
    keys: np.ndarray,
    values: np.ndarray,
    slots: np.ndarray,
) -> float:
    """Legal orders of the instructions in `subset`, or a lower bound once `_exhausted(slots)`.

    ancestors, descendants: (64,) uint64, numbered so that ancestors have lower numbers.
    """
    n = _size(subset)
    if n <= 1:
        return 1.0
    if n == 2:  # one in five of all calls
        return 2.0 if descendants[_lowest(subset)] & subset == _NONE else 1.0
    part = _component(subset, ancestors, descendants)
    n_orders = 0.0
    if part != subset:
        n_orders = _CHOOSE[n, _size(part)]
    else:
        part = _last_part(subset, ancestors)
        n_orders = 1.0
    if part != subset:
        n_orders *= _count(part, ancestors, descendants, keys, values, slots)
        return n_orders * _count(subset & ~part, ancestors, descendants, keys, values, slots)
    position = _table_position(subset, keys, slots)
    if slots[position] == slots[_STAMP]:
        return values[position]
    if slots[_USED] >= slots[_LIMIT]:
        slots[_USED] = slots[_LIMIT] + 1
        return _hook_bound(subset, ancestors, descendants)
    total, candidates = 0.0, _possible_last(subset, descendants)
    while candidates != _NONE:
        # Possible last instructions with the same ancestors are interchangeable: count the orders for one of them.
        i = _highest(candidates)
        equivalent, unvisited = _NONE, candidates
        while unvisited != _NONE:
            k = _lowest(unvisited)
            unvisited &= unvisited - _ONE
            if (ancestors[i] ^ ancestors[k]) & subset == _NONE:
                equivalent |= _singleton(k)
        candidates &= ~equivalent
        without_last = subset & ~_singleton(i)
        # Look it up before the call, because decomposing a subset costs ten times as much.
        position = _table_position(without_last, keys, slots)
        if slots[position] == slots[_STAMP]:
            total += _size(equivalent) * values[position]
        else:
            total += _size(equivalent) * _count(without_last, ancestors, descendants, keys, values, slots)
    if slots[_USED] < slots[_LIMIT]:
        position = _table_position(subset, keys, slots)
        keys[position], values[position], slots[position] = subset, total, slots[_STAMP]
        slots[_USED] += 1
    return total


@njit(cache=True)
def _exhausted(slots: np.ndarray) -> bool:
    """Whether a count since `_begin_block` has needed more subsets than the limit."""
    return slots[_USED] > slots[_LIMIT]


@njit(cache=True, nogil=True)
def count_ragged(
    blocks: np.ndarray,
    offsets: np.ndarray,
    before: np.ndarray,
    after: np.ndarray,
    lengths: np.ndarray,
    states: int,
    counts: np.ndarray,
    exact: np.ndarray,
) -> int:
    """Fill counts and exact (B,) at the indices `blocks`; return -1, or the first block that has a cycle.

    offsets (B + 1,) int64 into before and after (E,) uint8; lengths (B,) int64, at most 64; states: subsets per block.
    """
    keys, values, slots = _new_table(states)
    following, order = np.zeros(LARGEST, np.uint64), np.zeros(LARGEST, np.int64)
    ancestors, descendants = np.zeros(LARGEST, np.uint64), np.zeros(LARGEST, np.uint64)
    for b in blocks:
        n = lengths[b]
        following[:n] = _NONE
        for e in range(offsets[b], offsets[b + 1]):
            following[before[e]] |= _singleton(after[e])
        if not _close(n, following, order, ancestors, descendants):
            return b
        _begin_block(slots)
        counts[b] = _count(_full_set(n), ancestors, descendants, keys, values, slots)
        exact[b] = not _exhausted(slots)
    return -1


@njit(cache=True)
def _draw_exactly(
    n: int,
    rng: np.random.Generator,
    ancestors: np.ndarray,
    descendants: np.ndarray,
    keys: np.ndarray,
    values: np.ndarray,
    slots: np.ndarray,
    drawn: np.ndarray,
) -> None:
    """Fill drawn[:n] with an extension, all equally likely: the last member is i with probability e(without i) / e."""
    remaining = _full_set(n)
    cumulative_weight, candidate = np.empty(n), np.empty(n, np.int64)
    for slot in range(n - 1, -1, -1):
        n_possible, total, unvisited = 0, 0.0, remaining
        while unvisited != _NONE:
            i = _lowest(unvisited)
            unvisited &= unvisited - _ONE
            if descendants[i] & remaining == _NONE:
                candidate[n_possible] = i
                n_possible += 1
        for k in range(n_possible if n_possible > 1 else 0):
            total += _count(remaining & ~_singleton(candidate[k]), ancestors, descendants, keys, values, slots)
            cumulative_weight[k] = total
        chosen = 0
        if n_possible > 1:
            threshold = rng.random() * total
            while chosen < n_possible - 1 and cumulative_weight[chosen] <= threshold:
                chosen += 1
        drawn[slot] = candidate[chosen]
        remaining &= ~_singleton(candidate[chosen])


@njit(cache=True)
def _draw_by_swaps(n: int, distance: float, rng: np.random.Generator, ancestors: np.ndarray, drawn: np.ndarray) -> None:
    """Fill drawn[:n] with the end of a Markov chain of swaps of neighbours (Bubley and Dyer 1999).

    A step picks the neighbours in slots p - 1 and p with probability proportional to p (n - p) and swaps them with
    probability 1/2 if that is legal. By path coupling the expected distance of two chains shrinks by the factor
    1 - 1 / K per step, K = (n^3 - n) / 6, and at the start it is at most n (n - 1) / 2 swaps: after
    K ln(n (n - 1) / (2 distance)) steps the order's distribution is within `distance` of uniform in total variation.
    """
    drawn[:n] = np.arange(n)  # this order is legal by the numbering
    cumulative_weight = np.cumsum(np.array([p * (n - p) for p in range(1, n)], np.float64))
    steps = math.ceil(cumulative_weight[-1] * math.log(n * (n - 1) / (2 * distance)))
    for _ in range(steps):
        p = np.searchsorted(cumulative_weight, rng.random() * cumulative_weight[-1], side="right")
        earlier, later = drawn[p], drawn[p + 1]
        if rng.random() < 0.5 and ancestors[later] & _singleton(earlier) == _NONE:
            drawn[p], drawn[p + 1] = later, earlier


@njit(cache=True, nogil=True)
def draw_uniform(
    precedes: np.ndarray,
    rng: np.random.Generator,
    states: int,
    distance: float,
    orders: np.ndarray,
) -> int:
    """Fill orders (B, n) int16 for precedes (B, n, n); return -1, or the first block that has a cycle.

    The distribution is exactly uniform if `states` subsets suffice to count the orders, and otherwise within `distance`
    of uniform in total variation.
    """
    blocks, n, _ = precedes.shape
    keys, values, slots = _new_table(states)
    following, order = np.zeros(LARGEST, np.uint64), np.zeros(LARGEST, np.int64)
    ancestors, descendants = np.zeros(LARGEST, np.uint64), np.zeros(LARGEST, np.uint64)
    drawn = np.zeros(LARGEST, np.int64)
    for b in range(blocks):
        for i in range(n):
            following[i] = _NONE
            for k in range(n):
                if precedes[b, i, k]:
                    following[i] |= _singleton(k)
        if not _close(n, following, order, ancestors, descendants):
            return b
        _begin_block(slots)
        _count(_full_set(n), ancestors, descendants, keys, values, slots)
        if not _exhausted(slots):
            _draw_exactly(n, rng, ancestors, descendants, keys, values, slots, drawn)
        if _exhausted(slots):
            _draw_by_swaps(n, distance, rng, ancestors, drawn)
        for slot in range(n):
            orders[b, slot] = order[drawn[slot]]
    return -1
