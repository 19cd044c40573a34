"""Direct conflicts of the instructions of many blocks, compiled: bit tests of every pair."""

from __future__ import annotations

import numpy as np
from numba import njit

LONGEST = 64  # instructions of a block: sets of them are words
_ONE = np.uint64(1)

# Numbers in place of imports: numba keeps compiled code until *this* file changes. A test compares them with
# `dag/resources.py`, `dependencies.Kind` and iced-x86.
N_GENERAL, GENERAL_LANES = 16, 3
FLAGS = np.uint64(0x7F)  # in word 2
_NOT_FLAGS = ~FLAGS
_LANES = np.uint64((1 << GENERAL_LANES) - 1)
NONE, FIRST_GENERAL, RIP = 0, 53, 70  # iced-x86's registers
REGISTER, FLAG, MEMORY = 1, 8, 64  # Kind: each times
RAW, WAR, WAW = 1, 2, 4

# Columns of the table's accesses.
BASE, INDEX, SEGMENT, SCALE, DISPLACEMENT, EXPLICIT, SIZE, DIRECTION = range(8)
READS, WRITES = 1, 2  # bits of DIRECTION


@njit(cache=True, nogil=True)
def _value(counts: np.ndarray, register: int) -> int:
    """Which of a register's values an address uses: how often it was written before. Constants never change."""
    return counts[register - FIRST_GENERAL] if register != NONE and register != RIP else 0


@njit(cache=True, nogil=True)
def _disjoint(one: np.ndarray, low: int, other: np.ndarray, other_low: int) -> bool:
    """Whether two memory operands cannot overlap, given equal values of equal registers; wrap-around is left out.

    one, other: columns of the table's accesses; low, other_low: displacements.
    """
    if one[SIZE] == 0 or other[SIZE] == 0 or one[SEGMENT] != other[SEGMENT]:
        return False
    # A rip-relative and an absolute address are both constants.
    base = NONE if one[BASE] == RIP else one[BASE]
    other_base = NONE if other[BASE] == RIP else other[BASE]
    if base != other_base or one[INDEX] != other[INDEX] or (one[INDEX] != NONE and one[SCALE] != other[SCALE]):
        return False
    return low + one[SIZE] <= other_low or other_low + other[SIZE] <= low


@njit(cache=True, nogil=True)
def _dead_flags(writes: np.ndarray, kills: np.ndarray, reads: np.ndarray, rows: np.ndarray, dead: np.ndarray) -> None:
    """Of each instruction the flags that it writes and that are overwritten for sure before anybody reads them."""
    overwritten = np.uint64(0)
    for i in range(len(rows) - 1, -1, -1):
        row = rows[i]
        dead[i] = writes[row, 2] & overwritten
        overwritten = (overwritten | kills[row]) & ~reads[row, 2]


@njit(cache=True, nogil=True)
def _count_writes(writes: np.ndarray, rows: np.ndarray, counts: np.ndarray) -> None:
    """counts (n, 16): how often each general register, or a part of it, was written before each instruction."""
    for register in range(counts.shape[1]):
        shift = np.uint64(GENERAL_LANES * register)
        count = 0
        for i in range(len(rows)):
            counts[i, register] = count
            if writes[rows[i], 0] >> shift & _LANES:
                count += 1


@njit(cache=True, nogil=True)
def _three(raw: bool, war: bool, waw: bool) -> int:
    return RAW * raw | WAR * war | WAW * waw


@njit(cache=True, nogil=True)
def find(
    reads: np.ndarray,
    writes: np.ndarray,
    kills: np.ndarray,
    accesses: np.ndarray,
    n_accesses: np.ndarray,
    encoding: np.ndarray,
    displacement: np.ndarray,
    block_offsets: np.ndarray,
    addresses_known: np.ndarray,
    with_flags: bool,
    disambiguate: bool,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Offsets, before, after, kinds, reduced of `dependencies.Conflicts`; arguments as `find_conflicts`."""
    n_blocks = len(block_offsets) - 1
    offsets = np.zeros(n_blocks + 1, np.int64)
    capacity = 4 * len(encoding) + LONGEST * LONGEST
    before, after = np.empty(capacity, np.uint8), np.empty(capacity, np.uint8)
    kinds, reduced = np.empty(capacity, np.uint16), np.empty(capacity, np.bool_)
    pair = np.zeros((LONGEST, LONGEST), np.uint16)
    implied = np.zeros((LONGEST, LONGEST), np.bool_)
    reach = np.zeros(LONGEST, np.uint64)  # of each instruction, all that must come before it
    dead = np.zeros(LONGEST, np.uint64)
    counts = np.zeros((LONGEST, N_GENERAL), np.int64)
    found = 0
    for block in range(n_blocks):
        start, end = block_offsets[block], block_offsets[block + 1]
        n, rows = end - start, encoding[start:end]
        _dead_flags(writes, kills, reads, rows, dead)
        follow = disambiguate and addresses_known[block]
        if follow:
            _count_writes(writes, rows, counts)
        for j in range(n):
            later = rows[j]
            reach[j] = 0
            # From the nearest backwards: whatever a nearer predecessor implies is no edge of the reduction.
            for i in range(j - 1, -1, -1):
                earlier = rows[i]
                raw = writes[earlier, 2] & reads[later, 2]
                war = reads[earlier, 2] & writes[later, 2]
                waw = writes[earlier, 2] & writes[later, 2]
                kind = REGISTER * _three(
                    (
                        (raw & _NOT_FLAGS)
                        | (writes[earlier, 0] & reads[later, 0])
                        | (writes[earlier, 1] & reads[later, 1])
                    )
                    != 0,
                    (
                        (war & _NOT_FLAGS)
                        | (reads[earlier, 0] & writes[later, 0])
                        | (reads[earlier, 1] & writes[later, 1])
                    )
                    != 0,
                    (
                        (waw & _NOT_FLAGS)
                        | (writes[earlier, 0] & writes[later, 0])
                        | (writes[earlier, 1] & writes[later, 1])
                    )
                    != 0,
                )
                if with_flags:
                    live = FLAGS & ~(dead[i] & dead[j])
                    kind |= FLAG * _three((raw & FLAGS) != 0, (war & FLAGS) != 0, (waw & live) != 0)
                for a in range(n_accesses[earlier]):
                    one = accesses[earlier, a]
                    for b in range(n_accesses[later]):
                        other = accesses[later, b]
                        first, second = one[DIRECTION], other[DIRECTION]
                        memory = _three(
                            (first & WRITES) != 0 and (second & READS) != 0,
                            (first & READS) != 0 and (second & WRITES) != 0,
                            (first & WRITES) != 0 and (second & WRITES) != 0,
                        )
                        if memory == 0:
                            continue
                        # Disjoint first: where it holds, both sizes are known and the registers general.
                        if (
                            follow
                            and _disjoint(
                                one,
                                one[DISPLACEMENT] + one[EXPLICIT] * displacement[start + i],
                                other,
                                other[DISPLACEMENT] + other[EXPLICIT] * displacement[start + j],
                            )
                            and _value(counts[i], one[BASE]) == _value(counts[j], other[BASE])
                            and _value(counts[i], one[INDEX]) == _value(counts[j], other[INDEX])
                        ):
                            continue
                        kind |= MEMORY * memory
                pair[i, j] = kind
                if kind != 0:
                    implied[i, j] = (reach[j] >> np.uint64(i) & _ONE) != 0
                    reach[j] |= reach[i] | _ONE << np.uint64(i)
        if found + n * n > len(before):
            capacity = 2 * (found + n * n)
            before, after = _grown(before, capacity), _grown(after, capacity)
            kinds, reduced = _grown(kinds, capacity), _grown(reduced, capacity)
        for i in range(n):
            for j in range(i + 1, n):
                if pair[i, j] != 0:
                    before[found], after[found] = i, j
                    kinds[found], reduced[found] = pair[i, j], not implied[i, j]
                    found += 1
        offsets[block + 1] = found
    return offsets, before[:found].copy(), after[:found].copy(), kinds[:found].copy(), reduced[:found].copy()


@njit(cache=True, nogil=True)
def _grown(array: np.ndarray, size: int) -> np.ndarray:
    larger = np.empty(size, array.dtype)
    larger[: len(array)] = array
    return larger
