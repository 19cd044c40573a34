"""What a scheduler can say of a beginning of an order: when each instruction issues, on any processor, in one pass.

On a processor that issues in order this is its model (processors/in_order.py). On an out-of-order processor it is an
estimate: an instruction never changes when an earlier one issues, as if the oldest always came first. Of the model
(processors/out_of_order.py), it leaves out the sizes of pools, and that an instruction whose results are waited for may
overtake older ones.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from learned_schedulers.blocks.processors.packing import (
    ADVANCE,
    AT_ONCE,
    BYTE,
    FIRST_GROUP,
    FIRST_LIST,
    ISSUE_WIDTH,
    LATENCY,
    LONGEST,
    MEMORY,
    MICRO_OPS,
    N_BUFFERS,
    N_CHOICES,
    N_GROUPS,
    N_OCCUPIED,
    N_POOLS,
    N_SOURCES,
    N_TARGETS,
    REGISTERS,
    RETIRE_WIDTH,
    STORE,
    UNITS,
    Block,
)
from learned_schedulers.blocks.processors.units import choose, highest, mark_used

CYCLES = 1 << 13  # of an order, at most: later ones count as the last of them
_GROUPS = 64
CYCLE, ROOM, LAST_END, LAST_ACCESS, END, SLOTS, RETIRED, RETIRING = range(8)  # places of State.clock


class State(NamedTuple):
    """A beginning of an order of a block of n instructions; int64 arrays."""

    clock: np.ndarray  # (8,) places CYCLE to RETIRING: the present cycle and its room, what came last, retirement
    busy: np.ndarray  # (CYCLES,) bit set of the units that are occupied in each cycle
    issue: np.ndarray  # (LONGEST,) cycle in which each instruction issues; -1: it has no slot yet
    waiting: np.ndarray  # (LONGEST,) direct predecessors without a slot; -1: it has a slot itself
    writer: np.ndarray  # (REGISTERS + 1,) the last writer of each register, -1: none
    turn: np.ndarray  # (groups,) see processors/units.py
    skipped: np.ndarray  # (groups,)


@njit(cache=True, nogil=True)
def new_state() -> State:
    """A state for blocks of any length; call `clear` before each of them."""
    return State(
        np.zeros(8, np.int64),
        np.zeros(CYCLES, np.int64),
        np.zeros(LONGEST, np.int64),
        np.zeros(LONGEST, np.int64),
        np.zeros(REGISTERS + 1, np.int64),
        np.zeros(_GROUPS, np.int64),
        np.zeros(_GROUPS, np.int64),
    )


@njit(cache=True, nogil=True)
def clear(block: Block, precedes: np.ndarray, state: State) -> None:
    """Set `state` to an empty order."""
    machine, n = block.machine, len(precedes)
    for cycle in range(min(state.clock[END] + 1, CYCLES)):
        state.busy[cycle] = 0
    state.clock[:] = 0
    state.clock[ROOM] = machine[ISSUE_WIDTH]
    state.writer[:] = -1
    for group in range(machine[N_GROUPS]):
        state.turn[group], state.skipped[group] = machine[FIRST_GROUP + group], 0
    for k in range(n):
        state.issue[k] = -1
        state.waiting[k] = 0
        for i in range(n):
            state.waiting[k] += precedes[i, k]


@njit(cache=True, nogil=True)
def begins(block: Block, state: State, i: int) -> int:
    """Cycle in which instruction i would be dispatched in the next slot; in order, the first in which it may issue."""
    facts, machine = block.instructions, block.machine
    width, micro_ops = machine[ISSUE_WIDTH], facts[i, MICRO_OPS]
    in_order = machine[RETIRE_WIDTH] == 0
    waits = min(micro_ops, width) > state.clock[ROOM] and (micro_ops <= width or not in_order)
    cycle = state.clock[CYCLE] + waits
    first = FIRST_LIST + machine[N_POOLS]
    sizes = FIRST_GROUP + machine[N_GROUPS] + machine[N_POOLS]
    for buffer in range(machine[N_BUFFERS]):
        entries, size = facts[i, first + buffer], machine[sizes + buffer]
        if entries == 0 or state.clock[SLOTS] < size:  # an instruction rarely has more than one entry
            continue
        while _waiting(facts, state, first + buffer, cycle) + entries > size and cycle < state.clock[END]:
            cycle += 1
    return cycle


@njit(cache=True, nogil=True)
def _waiting(facts: np.ndarray, state: State, column: int, cycle: int) -> int:
    """Entries of a buffer that instructions occupy in a cycle, because they issue after it."""
    entries = 0
    for k in range(len(facts)):
        if state.issue[k] > cycle:
            entries += facts[k, column]
    return entries


@njit(cache=True, nogil=True)
def starts(block: Block, state: State, i: int) -> int:
    """Cycle in which instruction i would issue in the next slot."""
    facts, machine = block.instructions, block.machine
    start = begins(block, state, i)
    ready = 0
    column = FIRST_LIST + machine[N_POOLS] + machine[N_BUFFERS] + machine[N_OCCUPIED] + machine[N_CHOICES]
    for k in range(column, column + machine[N_SOURCES]):
        source = facts[i, k]
        if source == 0:
            break
        writer = state.writer[source & 255]
        if writer >= 0:
            delay = max(0, facts[writer, LATENCY] - (source >> BYTE & 1) * facts[i, ADVANCE])
            ready = max(ready, state.issue[writer] + delay)
    if machine[RETIRE_WIDTH] == 0:
        start = max(start, state.clock[LAST_END] - facts[i, LATENCY])
    elif facts[i, AT_ONCE] and ready <= start:
        return start
    else:
        start += 1
        if facts[i, MEMORY] == STORE:
            start = max(start, state.clock[LAST_ACCESS])
    start = max(start, ready)
    while start < CYCLES - 1 and not _is_free(facts, machine, i, state.busy[start]):
        start += 1
    return min(start, CYCLES - 1)


@njit(cache=True, nogil=True)
def _is_free(facts: np.ndarray, machine: np.ndarray, i: int, busy: int) -> bool:
    """Whether all units of instruction i are free, and one unit of each of its groups."""
    occupied = busy
    if facts[i, UNITS] & occupied:
        return False
    occupied |= facts[i, UNITS]
    first = FIRST_LIST + machine[N_POOLS] + machine[N_BUFFERS] + machine[N_OCCUPIED]
    for column in range(first, first + machine[N_CHOICES]):
        choice = facts[i, column]
        if choice == 0:
            break
        free = machine[FIRST_GROUP + (choice & 255) - 1] & ~occupied
        if not free:
            return False
        occupied |= free & -free
    return True


@njit(cache=True, nogil=True)
def append(block: Block, precedes: np.ndarray, state: State, i: int, start: int) -> None:
    """Put instruction i into the next slot; start: the result of `starts`."""
    facts, machine, clock = block.instructions, block.machine, state.clock
    width, in_order = machine[ISSUE_WIDTH], machine[RETIRE_WIDTH] == 0
    begin = start if in_order else begins(block, state, i)
    if begin > clock[CYCLE]:
        clock[CYCLE], clock[ROOM] = begin, width
    carried = facts[i, MICRO_OPS] - clock[ROOM]
    if carried <= 0:
        clock[ROOM] = -carried
    else:
        further = (carried + width - 1) // width
        clock[CYCLE] += further
        clock[ROOM] = further * width - carried
    state.issue[i] = start
    clock[SLOTS] += 1
    end = start + facts[i, LATENCY]
    clock[LAST_END] = max(clock[LAST_END], end)
    if end + 1 > clock[RETIRED]:
        clock[RETIRED], clock[RETIRING] = end + 1, machine[RETIRE_WIDTH]
    elif clock[RETIRING] == 0:
        clock[RETIRED], clock[RETIRING] = clock[RETIRED] + 1, machine[RETIRE_WIDTH]
    clock[RETIRING] -= 1
    if facts[i, MEMORY] != 0:
        clock[LAST_ACCESS] = max(clock[LAST_ACCESS], start)
    last = max(end, clock[CYCLE])
    groups = machine[FIRST_GROUP : FIRST_GROUP + machine[N_GROUPS]]
    first = FIRST_LIST + machine[N_POOLS] + machine[N_BUFFERS]
    for column in range(first, first + machine[N_OCCUPIED]):
        use = facts[i, column]
        if use == 0:
            break
        unit = (use & 255) - 1
        last = max(last, _occupy(state.busy, unit, start, use >> BYTE))
        mark_used(unit, groups, state.turn, state.skipped)
    first += machine[N_OCCUPIED]
    for column in range(first, first + machine[N_CHOICES]):
        choice = facts[i, column]
        if choice == 0:
            break
        unit = choose((choice & 255) - 1, ~state.busy[start], groups, state.turn, state.skipped)
        last = max(last, _occupy(state.busy, unit, start, choice >> BYTE))
        mark_used(unit, groups, state.turn, state.skipped)
    clock[END] = max(clock[END], min(last, CYCLES - 1))
    first += machine[N_CHOICES] + machine[N_SOURCES]
    for column in range(first, first + machine[N_TARGETS]):
        target = facts[i, column]
        if target == 0:
            break
        state.writer[target] = i
    state.waiting[i] = -1
    for k in range(len(precedes)):
        state.waiting[k] -= precedes[i, k]


@njit(cache=True, nogil=True)
def _occupy(busy: np.ndarray, unit: int, start: int, cycles: int) -> int:
    """Occupy a unit; returns the last cycle in which it is."""
    last = min(start + cycles, CYCLES) - 1
    for cycle in range(start, last + 1):
        busy[cycle] |= 1 << unit
    return last


@njit(cache=True, nogil=True)
def chosen_unit(machine: np.ndarray, state: State, group: int, start: int, facts: np.ndarray) -> int:
    """The unit of a group that would be chosen in cycle `start`, one of which is free, as `units.choose` does."""
    ready = machine[FIRST_GROUP + group] & ~state.busy[start] & ~facts[UNITS]
    fresh = machine[FIRST_GROUP + group] ^ state.skipped[group]
    if ready & state.turn[group]:
        ready &= state.turn[group]
    elif ready & fresh:
        ready &= fresh
    return highest(ready)


@njit(cache=True, nogil=True)
def makespan(block: Block, state: State) -> int:
    """Cycles of the order so far."""
    if block.machine[RETIRE_WIDTH] == 0:
        return max(state.clock[LAST_END], state.clock[CYCLE]) + 1
    return state.clock[RETIRED] + 1
