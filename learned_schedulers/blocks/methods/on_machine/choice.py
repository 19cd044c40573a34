"""What a learned scheduler reads of every ready instruction at a slot: the processor's state, and what lies behind."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numba import njit

from learned_schedulers.blocks.methods.on_machine.estimate import (
    CYCLE,
    LAST_END,
    RETIRED,
    ROOM,
    State,
    append,
    begins,
    chosen_unit,
    clear,
    makespan,
    new_state,
    starts,
)
from learned_schedulers.blocks.methods.on_machine.outlook import Outlook, count, first_use, look, need, new_outlook
from learned_schedulers.blocks.processors.packing import (
    FIRST_GROUP,
    ISSUE_WIDTH,
    LATENCY,
    LOAD,
    LONGEST,
    MEMORY,
    MICRO_OPS,
    N_CHOICES,
    N_OCCUPIED,
    RETIRE_WIDTH,
    STORE,
    Block,
)


class Feature(IntEnum):
    """Columns of the features of a ready instruction; in cycles unless a comment says otherwise."""

    BEGIN = 0  # from now to its dispatch
    STALL = 1  # from its dispatch to its issue
    LATER = 2  # by which it issues later than the first ready instruction could
    GAP = 3  # by which the longest chain from a ready instruction ends later than the one from it
    PAST_END = 4  # by which its chain ends after all that has a slot
    TAIL = 5  # outlook.py
    DISPATCH_TAIL = 6
    DISPATCH_GAP = 7  # to the longest of a ready instruction
    UNIT_QUEUE = 8  # by which the tail with its units' queue is longer
    LATENCY = 9
    MICRO_OPS = 10  # number
    ROOM_LEFT = 11  # share of the width that is left in its cycle behind it
    FILLS = 12  # 1 if nothing is left
    FREED = 13  # number of instructions that become ready
    FREED_TAIL = 14  # longest tail of these
    FOLLOWERS = 15  # number
    DEPTH = 16  # number of those that must come before
    READERS = 17  # number
    HELD_BACK = 18  # most cycles by which its write-back is later than another ready one's could be
    LOADS = 19  # 1 if it only loads
    STORES = 20  # 1 if it stores
    ACCESSES = 21  # number of the other accesses to memory without a slot
    COMPETING = 22  # number of ready instructions that need a unit of its units
    PRESSURE = 23  # work that waits for the most loaded of its resources
    PRESSURE_GAP = 24  # to the most of a ready instruction
    TAKES = 25  # work that waits for the unit which it would take, over the mean of the group
    DISPATCH_LEFT = 26  # to dispatch all without a slot
    RETIRE_LEFT = 27  # to retire them
    BACKLOG = 28  # from now to the end of all that has a slot
    EXTENDS = 29  # by which it ends later
    READY = 30  # number
    LEFT = 31  # number of instructions without a slot
    BOUND = 32  # by which a lower bound on the whole order is higher than with the best ready instruction
    OTHERS = 33  # by which another chain would end later than its own, if that one came next
    IN_ORDER = 34  # 1 if the processor issues in order
    WIDTH = 35  # micro-ops a cycle
    RETIRE_WIDTH = 36  # instructions a cycle, up to 8; 0 in order


FEATURES = tuple(feature.name.lower() for feature in Feature)  # names in files of weights
_WIDEST = 8


class Choice(NamedTuple):
    """The beginning of an order of one block, and the features of its ready instructions. Made once, used for many."""

    state: State
    outlook: Outlook
    ready: np.ndarray  # (LONGEST,) int64: the ready instructions, as many as `fill` returns
    features: np.ndarray  # (LONGEST, F) float32: a row for each of them
    begin: np.ndarray  # (LONGEST,) int64 cycle in which a ready instruction would be dispatched
    start: np.ndarray  # (LONGEST,) int64 cycle in which it would issue
    pressure: np.ndarray  # (LONGEST,) float64


@njit(cache=True, nogil=True)
def new_choice() -> Choice:
    """Working memory for blocks of any length; call `open_block` before each."""
    return Choice(
        new_state(), new_outlook(), np.empty(LONGEST, np.int64), np.empty((LONGEST, len(FEATURES)), np.float32),
        np.empty(LONGEST, np.int64), np.empty(LONGEST, np.int64), np.empty(LONGEST),
    )  # fmt: skip


@njit(cache=True, nogil=True)
def open_block(block: Block, precedes: np.ndarray, choice: Choice) -> None:
    """Begin an order. precedes: (n, n) bool, acyclic."""
    look(block, precedes, choice.outlook)
    clear(block, precedes, choice.state)


@njit(cache=True, nogil=True)
def take(block: Block, precedes: np.ndarray, choice: Choice, i: int) -> None:
    """Put the ready instruction i into the next slot."""
    append(block, precedes, choice.state, i, starts(block, choice.state, i))
    need(block, i, -1.0, choice.outlook.load)


@njit(cache=True, nogil=True)
def find_ready(choice: Choice, n: int) -> int:
    """Fill `ready`; returns how many instructions are."""
    n_ready = 0
    for i in range(n):
        if choice.state.waiting[i] == 0:
            choice.ready[n_ready] = i
            n_ready += 1
    return n_ready


@njit(cache=True, nogil=True)
def fill(block: Block, precedes: np.ndarray, choice: Choice, n_ready: int, slots: int) -> None:
    """Fill `features` of the ready instructions. slots: how many have an instruction."""
    facts, machine, n = block.instructions, block.machine, len(precedes)
    state, outlook, begin, start, pressure = choice.state, choice.outlook, choice.begin, choice.start, choice.pressure
    ready, rows = choice.ready[:n_ready], choice.features
    width, retire_width = machine[ISSUE_WIDTH], machine[RETIRE_WIDTH]
    micro_ops = accesses = 0
    for i in range(n):
        if state.waiting[i] >= 0:
            micro_ops += facts[i, MICRO_OPS]
            accesses += facts[i, MEMORY] != 0
    earliest, furthest, second, leader = np.int64(1 << 40), np.int64(-1), np.int64(-1), -1
    longest = most_pressure = 0.0
    for i in ready:
        begin[i], start[i] = begins(block, state, i), starts(block, state, i)
        pressure[i] = _pressure(block, i, outlook.load)
        earliest, chain = min(earliest, start[i]), start[i] + outlook.tail[i]
        if chain > furthest:
            furthest, second, leader = chain, furthest, i
        else:
            second = max(second, chain)
        longest, most_pressure = max(longest, outlook.dispatch_tail[i]), max(most_pressure, pressure[i])
    now, end = state.clock[CYCLE], makespan(block, state)
    ended = max(state.clock[RETIRED], state.clock[LAST_END])
    retire_left = 0.0 if retire_width == 0 else (n - slots) / retire_width
    lowest = np.inf
    for j in range(n_ready):
        i, row = ready[j], rows[j]
        latency, tail, memory = facts[i, LATENCY], outlook.tail[i], facts[i, MEMORY]
        write_back = start[i] + latency
        freed, freed_tail, held_back, competing = 0, 0.0, np.int64(0), 0
        for k in range(n):
            if precedes[i, k] and state.waiting[k] == 1:
                freed += 1
                freed_tail = max(freed_tail, outlook.dispatch_tail[k])
        for k in ready:
            if k != i:
                held_back = max(held_back, write_back - facts[k, LATENCY] - start[k])
                competing += (outlook.units[i] & outlook.units[k]) != 0
        room = (width if begin[i] > now else state.clock[ROOM]) - facts[i, MICRO_OPS]
        other = (second if i == leader else furthest) + (room <= 0)
        bound = max(float(max(start[i] + tail + 1, end, other + 1)), begin[i] + micro_ops / width)
        if retire_width:
            bound = max(bound, max(state.clock[RETIRED], write_back + 1) + retire_left)
        lowest = min(lowest, bound)
        row[Feature.BEGIN] = begin[i] - now
        row[Feature.STALL] = start[i] - begin[i]
        row[Feature.LATER] = start[i] - earliest
        row[Feature.GAP] = furthest - start[i] - tail
        row[Feature.PAST_END] = start[i] + tail + 1 - end
        row[Feature.TAIL] = tail
        row[Feature.DISPATCH_TAIL] = outlook.dispatch_tail[i]
        row[Feature.DISPATCH_GAP] = longest - outlook.dispatch_tail[i]
        row[Feature.UNIT_QUEUE] = outlook.unit_tail[i] - tail
        row[Feature.LATENCY] = latency
        row[Feature.MICRO_OPS] = facts[i, MICRO_OPS]
        row[Feature.ROOM_LEFT] = room / width
        row[Feature.FILLS] = room <= 0
        row[Feature.FREED] = freed
        row[Feature.FREED_TAIL] = freed_tail
        row[Feature.FOLLOWERS] = outlook.n_followers[i]
        row[Feature.DEPTH] = outlook.depth[i]
        row[Feature.READERS] = outlook.readers[i]
        row[Feature.HELD_BACK] = held_back
        row[Feature.LOADS] = memory == LOAD
        row[Feature.STORES] = memory == STORE
        row[Feature.ACCESSES] = accesses - (memory != 0)
        row[Feature.COMPETING] = competing
        row[Feature.PRESSURE] = pressure[i]
        row[Feature.PRESSURE_GAP] = most_pressure - pressure[i]
        row[Feature.TAKES] = _takes(block, state, i, start[i], outlook.load)
        row[Feature.DISPATCH_LEFT] = micro_ops / width
        row[Feature.RETIRE_LEFT] = retire_left
        row[Feature.BACKLOG] = ended - now
        row[Feature.EXTENDS] = write_back + 1 - ended
        row[Feature.READY] = n_ready
        row[Feature.LEFT] = n - slots
        row[Feature.BOUND] = bound
        row[Feature.OTHERS] = other - start[i] - tail
        row[Feature.IN_ORDER] = retire_width == 0
        row[Feature.WIDTH] = width
        row[Feature.RETIRE_WIDTH] = min(retire_width, _WIDEST)
    for j in range(n_ready):
        rows[j, Feature.BOUND] -= np.float32(lowest)


@njit(cache=True, nogil=True)
def _mean(members: int, load: np.ndarray) -> float:
    """Mean load of the units of a set, which is not empty."""
    total, size, unit = 0.0, count(members), 0
    while members:
        if members & 1:
            total += load[unit]
        members >>= 1
        unit += 1
    return total / size


@njit(cache=True, nogil=True)
def _pressure(block: Block, i: int, load: np.ndarray) -> float:
    """Work that waits for the most loaded resource that instruction i needs."""
    facts, machine = block.instructions, block.machine
    most, first = 0.0, first_use(machine)
    for column in range(first, first + machine[N_OCCUPIED]):
        if facts[i, column] == 0:
            break
        most = max(most, load[(facts[i, column] & 255) - 1])
    first += machine[N_OCCUPIED]
    for column in range(first, first + machine[N_CHOICES]):
        if facts[i, column] == 0:
            break
        most = max(most, _mean(machine[FIRST_GROUP + (facts[i, column] & 255) - 1], load))
    return most


@njit(cache=True, nogil=True)
def _takes(block: Block, state: State, i: int, start: int, load: np.ndarray) -> float:
    """Work that waits for the unit of its first group that instruction i would take, over the mean of the group."""
    facts, machine = block.instructions, block.machine
    column = first_use(machine) + machine[N_OCCUPIED]
    if machine[N_CHOICES] == 0 or facts[i, column] == 0:
        return 0.0
    group = (facts[i, column] & 255) - 1
    unit = chosen_unit(machine, state, group, start, facts[i])
    return load[unit] - _mean(machine[FIRST_GROUP + group], load)
