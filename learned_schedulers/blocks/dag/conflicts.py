"""Direct conflicts between the instructions of many blocks, compiled: bit tests of every pair."""

from __future__ import annotations

import numpy as np
from numba import njit

LONGEST = 64  # instructions of a block, so that a set of them fits into a word of 64 bits
_ONE = np.uint64(1)

# These are numbers and not imports, because numba keeps compiled code until *this* file changes. A test compares them
# with `dag/resources.py`, `dependencies.Kind` and iced-x86.
N_GENERAL, GENERAL_LANES = 16, 3
FLAGS = np.uint64(0x7F)  # in word 2
_NOT_FLAGS = ~FLAGS
_LANES = np.uint64((1 << GENERAL_LANES) - 1)
NONE, FIRST_GENERAL, RIP = 0, 53, 70  # iced-x86's registers
REGISTER, FLAG, MEMORY = 1, 8, 64  # `dependencies.Kind` is one of these times one of the next three
RAW, WAR, WAW = 1, 2, 4

# Columns of the table's accesses.
BASE, INDEX, SEGMENT, SCALE, DISPLACEMENT, EXPLICIT, SIZE, DIRECTION = range(8)
READS, WRITES = 1, 2  # bits of DIRECTION


@njit(cache=True, nogil=True)
def _version(counts: np.ndarray, register: int) -> int:
    """Number of writes of a register before an instruction, which identifies the value that its address uses.

    It is 0 for what never changes: no register, and rip.
    """
    return counts[register - FIRST_GENERAL] if register != NONE and register != RIP else 0


@njit(cache=True, nogil=True)
def _disjoint(earlier: np.ndarray, earlier_displacement: int, later: np.ndarray, later_displacement: int) -> bool:
    """Whether two memory operands cannot overlap, given equal values of equal registers; wrap-around is ignored.

    earlier, later: columns of the table's accesses.
    """
    if earlier[SIZE] == 0 or later[SIZE] == 0 or earlier[SEGMENT] != later[SEGMENT]:
        return False
    # A rip-relative and an absolute address are both constants.
    earlier_base = NONE if earlier[BASE] == RIP else earlier[BASE]
    later_base = NONE if later[BASE] == RIP else later[BASE]
    if (
        earlier_base != later_base
        or earlier[INDEX] != later[INDEX]
        or (earlier[INDEX] != NONE and earlier[SCALE] != later[SCALE])
    ):
        return False
    return (
        earlier_displacement + earlier[SIZE] <= later_displacement
        or later_displacement + later[SIZE] <= earlier_displacement
    )


@njit(cache=True, nogil=True)
def _dead_flags(writes: np.ndarray, kills: np.ndarray, reads: np.ndarray, rows: np.ndarray, dead: np.ndarray) -> None:
    """Fill `dead`: the flags that each instruction writes and that are certainly overwritten before they are read."""
    overwritten = np.uint64(0)
    for i in range(len(rows) - 1, -1, -1):
        row = rows[i]
        dead[i] = writes[row, 2] & overwritten
        overwritten = (overwritten | kills[row]) & ~reads[row, 2]


@njit(cache=True, nogil=True)
def _count_writes(writes: np.ndarray, rows: np.ndarray, counts: np.ndarray) -> None:
    """Fill counts (n, 16): how often each general register, or a part of it, is written before each instruction."""
    for register in range(counts.shape[1]):
        shift = np.uint64(GENERAL_LANES * register)
        n_writes = 0
        for i in range(len(rows)):
            counts[i, register] = n_writes
            if writes[rows[i], 0] >> shift & _LANES:
                n_writes += 1


@njit(cache=True, nogil=True)
def _dependencies(raw: bool, war: bool, waw: bool) -> int:
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
    reach = np.zeros(LONGEST, np.uint64)  # of each instruction, all instructions that must come before it
    dead = np.zeros(LONGEST, np.uint64)
    counts = np.zeros((LONGEST, N_GENERAL), np.int64)
    n_conflicts = 0
    for block in range(n_blocks):
        start, end = block_offsets[block], block_offsets[block + 1]
        n, rows = end - start, encoding[start:end]
        _dead_flags(writes, kills, reads, rows, dead)
        follow_registers = disambiguate and addresses_known[block]
        if follow_registers:
            _count_writes(writes, rows, counts)
        for j in range(n):
            later = rows[j]
            reach[j] = 0
            # The nearest predecessor comes first: what it implies is not an edge of the transitive reduction.
            for i in range(j - 1, -1, -1):
                earlier = rows[i]
                raw = writes[earlier, 2] & reads[later, 2]
                war = reads[earlier, 2] & writes[later, 2]
                waw = writes[earlier, 2] & writes[later, 2]
                kind = REGISTER * _dependencies(
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
                    kind |= FLAG * _dependencies((raw & FLAGS) != 0, (war & FLAGS) != 0, (waw & live) != 0)
                for x in range(n_accesses[earlier]):
                    earlier_access = accesses[earlier, x]
                    for y in range(n_accesses[later]):
                        later_access = accesses[later, y]
                        earlier_direction, later_direction = earlier_access[DIRECTION], later_access[DIRECTION]
                        memory_dependencies = _dependencies(
                            (earlier_direction & WRITES) != 0 and (later_direction & READS) != 0,
                            (earlier_direction & READS) != 0 and (later_direction & WRITES) != 0,
                            (earlier_direction & WRITES) != 0 and (later_direction & WRITES) != 0,
                        )
                        if memory_dependencies == 0:
                            continue
                        # `_disjoint` comes first: if it is true, both sizes are known and the registers are general.
                        if (
                            follow_registers
                            and _disjoint(
                                earlier_access,
                                earlier_access[DISPLACEMENT] + earlier_access[EXPLICIT] * displacement[start + i],
                                later_access,
                                later_access[DISPLACEMENT] + later_access[EXPLICIT] * displacement[start + j],
                            )
                            and _version(counts[i], earlier_access[BASE]) == _version(counts[j], later_access[BASE])
                            and _version(counts[i], earlier_access[INDEX]) == _version(counts[j], later_access[INDEX])
                        ):
                            continue
                        kind |= MEMORY * memory_dependencies
                pair[i, j] = kind
                if kind != 0:
                    implied[i, j] = (reach[j] >> np.uint64(i) & _ONE) != 0
                    reach[j] |= reach[i] | _ONE << np.uint64(i)
        if n_conflicts + n * n > len(before):
            capacity = 2 * (n_conflicts + n * n)
            before, after = _grown(before, capacity), _grown(after, capacity)
            kinds, reduced = _grown(kinds, capacity), _grown(reduced, capacity)
        for i in range(n):
            for j in range(i + 1, n):
                if pair[i, j] != 0:
                    before[n_conflicts], after[n_conflicts] = i, j
                    kinds[n_conflicts], reduced[n_conflicts] = pair[i, j], not implied[i, j]
                    n_conflicts += 1
        offsets[block + 1] = n_conflicts
    return (
        offsets,
        before[:n_conflicts].copy(),
        after[:n_conflicts].copy(),
        kinds[:n_conflicts].copy(),
        reduced[:n_conflicts].copy(),
    )


@njit(cache=True, nogil=True)
def _grown(array: np.ndarray, capacity: int) -> np.ndarray:
    larger = np.empty(capacity, array.dtype)
    larger[: len(array)] = array
    return larger
