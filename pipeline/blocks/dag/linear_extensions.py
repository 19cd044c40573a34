"""Linear extensions of one partial order at a time, compiled: counting them, drawing one.

Counting is #P-complete (Brightwell and Winkler 1991), but blocks are sparse. Parts that share nothing multiply,
times the ways to interleave them; parts that follow one another multiply; what cannot be taken apart is summed over
its possible last instructions, every subset once: dynamic programming over down-sets, with the same
decomposition of whatever is left (Kangas, Hankala, Niinimäki and Koivisto 2016, "Counting linear extensions of
sparse posets").

Sets of instructions are the bits of one uint64. All compiled functions are in this file: numba keeps them on disk
and takes an edit of the file that a function is in as the only sign that it is out of date.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

LARGEST = 64  # instructions of a block
_ONE, _NONE = np.uint64(1), np.uint64(0)
_FACTORIAL = np.array([float(math.factorial(k)) for k in range(LARGEST + 1)])
_CHOOSE = np.array([[float(math.comb(n, k)) for k in range(LARGEST + 1)] for n in range(LARGEST + 1)])


@njit(cache=True)
def _size(bits: np.uint64) -> np.int64:
    """Number of members (the parallel bit count that LLVM turns into one instruction)."""
    bits = bits - ((bits >> _ONE) & np.uint64(0x5555555555555555))
    bits = (bits & np.uint64(0x3333333333333333)) + ((bits >> np.uint64(2)) & np.uint64(0x3333333333333333))
    bits = (bits + (bits >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((bits * np.uint64(0x0101010101010101)) >> np.uint64(56))


@njit(cache=True)
def _first(bits: np.uint64) -> np.int64:
    """Lowest member of a set that is not empty."""
    return _size(~bits & (bits - _ONE))


@njit(cache=True)
def _last(bits: np.uint64) -> np.int64:
    """Highest member of a set that is not empty."""
    for shift in (1, 2, 4, 8, 16, 32):
        bits |= bits >> np.uint64(shift)
    return _size(bits) - 1


@njit(cache=True)
def _one(member: int | np.int64) -> np.uint64:
    """The set of a single member."""
    return _ONE << np.uint64(member)


@njit(cache=True)
def _close(n: int, following: np.ndarray, order: np.ndarray, ancestors: np.ndarray, descendants: np.ndarray) -> bool:
    """Transitive closure of one relation, renumbered so that what comes before has the lower number.

    following: (64,) uint64, direct successors. Fills order[t] (instruction with the new number t), and
    ancestors and descendants (64,) uint64 in the new numbers. False where there is a cycle.
    """
    waiting = np.zeros(LARGEST, np.int64)
    for i in range(n):
        rest = following[i]
        while rest != _NONE:
            waiting[_first(rest)] += 1
            rest &= rest - _ONE
    number = np.zeros(LARGEST, np.int64)
    done = 0
    for i in range(n):
        if waiting[i] == 0:
            order[done] = i
            number[i] = done
            done += 1
    at = 0
    while at < done:
        rest = following[order[at]]
        at += 1
        while rest != _NONE:
            k = _first(rest)
            rest &= rest - _ONE
            waiting[k] -= 1
            if waiting[k] == 0:
                order[done] = k
                number[k] = done
                done += 1
    if done < n:
        return False
    ancestors[:n] = _NONE
    for t in range(n - 1, -1, -1):
        found = _NONE
        rest = following[order[t]]
        while rest != _NONE:
            k = number[_first(rest)]
            rest &= rest - _ONE
            found |= _one(k) | descendants[k]
        descendants[t] = found
    for t in range(n):
        rest = descendants[t]
        while rest != _NONE:
            ancestors[_first(rest)] |= _one(t)
            rest &= rest - _ONE
    return True


@njit(cache=True)
def _remembered(states: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Room for the counts of `states` subsets of one block: an open hash table, at most half full.

    keys (2**k,) uint64; values (2**k,) float64; slots (2**k + 3,) int64: the stamp of the block that each entry is
    of, then the present stamp, the number of its entries and how many are allowed. A new stamp forgets all.
    """
    room = 16
    while room < 2 * states:
        room *= 2
    slots = np.zeros(room + 3, np.int64)
    slots[room + 2] = states
    return np.zeros(room, np.uint64), np.zeros(room), slots


@njit(cache=True)
def _forget(slots: np.ndarray) -> None:
    """Begin another block."""
    slots[-3] += 1
    slots[-2] = 0


@njit(cache=True)
def _place(subset: np.uint64, keys: np.ndarray, slots: np.ndarray) -> np.int64:
    """Where the subset is in the table, or would be."""
    last = len(keys) - 1
    mixed = subset * np.uint64(0x9E3779B97F4A7C15)
    at = np.int64((mixed ^ (mixed >> np.uint64(32))) & np.uint64(last))
    while slots[at] == slots[-3] and keys[at] != subset:
        at = (at + 1) & last
    return at


@njit(cache=True)
def _everything(n: int) -> np.uint64:
    """The set of n instructions."""
    return ~_NONE if n == LARGEST else _one(n) - _ONE


@njit(cache=True)
def _component(subset: np.uint64, ancestors: np.ndarray, descendants: np.ndarray) -> np.uint64:
    """The instructions of `subset` that depend, directly or not, on the first one or it on them."""
    found = subset & (~subset + _ONE)
    frontier = found
    while frontier != _NONE:
        i = _first(frontier)
        frontier &= frontier - _ONE
        more = (ancestors[i] | descendants[i]) & subset & ~found
        found |= more
        frontier |= more
    return found


@njit(cache=True)
def _last_part(subset: np.uint64, ancestors: np.ndarray) -> np.uint64:
    """The smallest part of `subset` that can only come after all the rest; `subset` where there is none."""
    rest, shared = subset, ~_NONE
    while rest != _NONE:
        i = _last(rest)
        rest &= ~_one(i)
        shared &= ancestors[i]
        if rest & ~shared == _NONE:
            break
    return subset & ~rest


@njit(cache=True)
def _hooks(subset: np.uint64, ancestors: np.ndarray, descendants: np.ndarray) -> float:
    """At most the number of legal orders: n! / product of |x and its descendants|.

    Equality for forests; for all others a lower bound (Stanley, Enumerative Combinatorics 1, chapter 3; Hammett and
    Pittel 2008). By symmetry the same holds with ancestors: the better of both.
    """
    down, up, rest = 1.0, 1.0, subset
    while rest != _NONE:
        i = _first(rest)
        rest &= rest - _ONE
        down *= _size(descendants[i] & subset) + 1
        up *= _size(ancestors[i] & subset) + 1
    return _FACTORIAL[_size(subset)] / min(down, up)


@njit(cache=True)
def _ends(subset: np.uint64, descendants: np.ndarray) -> np.uint64:
    """The instructions of `subset` that can come last."""
    found, rest = _NONE, subset
    while rest != _NONE:
        i = _first(rest)
        rest &= rest - _ONE
        if descendants[i] & subset == _NONE:
            found |= _one(i)
    return found


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
    if n == 2:  # one in five of all
        return 2.0 if descendants[_first(subset)] & subset == _NONE else 1.0
    part = _component(subset, ancestors, descendants)
    ways = 0.0
    if part != subset:
        ways = _CHOOSE[n, _size(part)]
    else:
        part = _last_part(subset, ancestors)
        ways = 1.0
    if part != subset:
        ways *= _count(part, ancestors, descendants, keys, values, slots)
        return ways * _count(subset & ~part, ancestors, descendants, keys, values, slots)
    at = _place(subset, keys, slots)
    if slots[at] == slots[-3]:
        return values[at]
    if slots[-2] >= slots[-1]:
        slots[-2] = slots[-1] + 1
        return _hooks(subset, ancestors, descendants)
    total, rest = 0.0, _ends(subset, descendants)
    while rest != _NONE:
        # What comes last can be exchanged for whatever else can and has the same ancestors: count one of them.
        i = _last(rest)
        alike, others = _NONE, rest
        while others != _NONE:
            k = _first(others)
            others &= others - _ONE
            if (ancestors[i] ^ ancestors[k]) & subset == _NONE:
                alike |= _one(k)
        rest &= ~alike
        child = subset & ~_one(i)
        at = _place(child, keys, slots)  # looked up before the call: taking a subset apart costs ten times as much
        if slots[at] == slots[-3]:
            total += _size(alike) * values[at]
        else:
            total += _size(alike) * _count(child, ancestors, descendants, keys, values, slots)
    if slots[-2] < slots[-1]:
        at = _place(subset, keys, slots)
        keys[at], values[at], slots[at] = subset, total, slots[-3]
        slots[-2] += 1
    return total


@njit(cache=True)
def _exhausted(slots: np.ndarray) -> bool:
    """Whether a count since `_forget` needed more subsets than allowed."""
    return slots[-2] > slots[-1]


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
    """Fill counts and exact (B,) of the blocks named; -1, or the first block that has a cycle.

    offsets (B + 1,) int64 into before and after (E,) uint8; lengths (B,) int64, at most 64; states: subsets per block.
    """
    keys, values, slots = _remembered(states)
    following, order = np.zeros(LARGEST, np.uint64), np.zeros(LARGEST, np.int64)
    ancestors, descendants = np.zeros(LARGEST, np.uint64), np.zeros(LARGEST, np.uint64)
    for b in blocks:
        n = lengths[b]
        following[:n] = _NONE
        for e in range(offsets[b], offsets[b + 1]):
            following[before[e]] |= _one(after[e])
        if not _close(n, following, order, ancestors, descendants):
            return b
        _forget(slots)
        counts[b] = _count(_everything(n), ancestors, descendants, keys, values, slots)
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
    """Fill drawn[:n] with an extension, all equally likely: the last one is i with probability e(without i) / e."""
    left = _everything(n)
    weight, member = np.empty(n), np.empty(n, np.int64)
    for slot in range(n - 1, -1, -1):
        possible, total, rest = 0, 0.0, left
        while rest != _NONE:
            i = _first(rest)
            rest &= rest - _ONE
            if descendants[i] & left == _NONE:
                member[possible] = i
                possible += 1
        for k in range(possible if possible > 1 else 0):
            total += _count(left & ~_one(member[k]), ancestors, descendants, keys, values, slots)
            weight[k] = total
        chosen = 0
        if possible > 1:
            aim = rng.random() * total
            while chosen < possible - 1 and weight[chosen] <= aim:
                chosen += 1
        drawn[slot] = member[chosen]
        left &= ~_one(member[chosen])


@njit(cache=True)
def _draw_by_swaps(n: int, distance: float, rng: np.random.Generator, ancestors: np.ndarray, drawn: np.ndarray) -> None:
    """Fill drawn[:n] with the end of a Markov chain of swaps of neighbours (Bubley and Dyer 1999).

    A step picks the neighbours in slots p - 1 and p with probability proportional to p (n - p) and swaps them with
    probability 1/2 where that is legal. By path coupling two chains come closer by 1 / K a step, K = (n^3 - n) / 6, and
    begin at most n (n - 1) / 2 swaps apart: after K ln(n (n - 1) / (2 distance)) steps the order's distribution is
    within `distance` of uniform in total variation.
    """
    drawn[:n] = np.arange(n)  # numbered so that it is legal
    likely = np.cumsum(np.array([p * (n - p) for p in range(1, n)], np.float64))
    steps = math.ceil(likely[-1] * math.log(n * (n - 1) / (2 * distance)))
    for _ in range(steps):
        p = np.searchsorted(likely, rng.random() * likely[-1], side="right")
        i, k = drawn[p], drawn[p + 1]
        if rng.random() < 0.5 and ancestors[k] & _one(i) == _NONE:
            drawn[p], drawn[p + 1] = k, i


@njit(cache=True, nogil=True)
def draw_uniform(
    precedes: np.ndarray,
    rng: np.random.Generator,
    states: int,
    distance: float,
    orders: np.ndarray,
) -> int:
    """Fill orders (B, n) int16 for precedes (B, n, n); -1, or the first block that has a cycle.

    Exactly uniform where `states` subsets suffice to count, else within `distance` of it in total variation.
    """
    blocks, n, _ = precedes.shape
    keys, values, slots = _remembered(states)
    following, order = np.zeros(LARGEST, np.uint64), np.zeros(LARGEST, np.int64)
    ancestors, descendants = np.zeros(LARGEST, np.uint64), np.zeros(LARGEST, np.uint64)
    drawn = np.zeros(LARGEST, np.int64)
    for b in range(blocks):
        for i in range(n):
            following[i] = _NONE
            for k in range(n):
                if precedes[b, i, k]:
                    following[i] |= _one(k)
        if not _close(n, following, order, ancestors, descendants):
            return b
        _forget(slots)
        _count(_everything(n), ancestors, descendants, keys, values, slots)
        if not _exhausted(slots):
            _draw_exactly(n, rng, ancestors, descendants, keys, values, slots, drawn)
        if _exhausted(slots):
            _draw_by_swaps(n, distance, rng, ancestors, drawn)
        for slot in range(n):
            orders[b, slot] = order[drawn[slot]]
    return -1
