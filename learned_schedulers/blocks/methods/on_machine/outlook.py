"""What lies behind each instruction of a block, in cycles of a processor: bounds that a scheduler looks up.

They hold in every legal order, because the dependencies fix which writer each read of a register sees. `tail` counts
the longest chain of results. The two others add that the followers, which cannot all go at once, queue for dispatch, or
for the units of the instruction (the idea of Langevin and Cerny 1996, without their search for the best subset).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from learned_schedulers.blocks.processors.packing import (
    ADVANCE,
    BYTE,
    FIRST_GROUP,
    FIRST_LIST,
    ISSUE_WIDTH,
    LATENCY,
    LONGEST,
    MICRO_OPS,
    N_BUFFERS,
    N_CHOICES,
    N_OCCUPIED,
    N_POOLS,
    N_SOURCES,
    N_TARGETS,
    REGISTERS,
    RETIRE_WIDTH,
    Block,
)

UNITS = 64  # a set of them is a word


class Outlook(NamedTuple):
    """Of one block of n instructions: the first n entries of arrays for LONGEST."""

    followers: np.ndarray  # int64 bit sets: the instructions that must come after
    n_followers: np.ndarray  # int64
    depth: np.ndarray  # int64: how many must come before
    readers: np.ndarray  # int64: how many read its results
    tail: np.ndarray  # int64 cycles from its issue to the end of it and all that must follow
    dispatch_tail: np.ndarray  # float64 the same, if all that must follow are dispatched after it, widest tails first
    unit_tail: np.ndarray  # float64 the same, if those of them that need its units take turns
    units: np.ndarray  # int64 bit sets: the units that it always occupies, or else those of its groups
    load: np.ndarray  # (UNITS,) float64 cycles for which each unit is needed by instructions without a slot
    sequence: np.ndarray  # int64 a legal order


@njit(cache=True, nogil=True)
def new_outlook() -> Outlook:
    """Uninitialised arrays; `look` fills them."""
    return Outlook(
        np.empty(LONGEST, np.int64), np.empty(LONGEST, np.int64), np.empty(LONGEST, np.int64),
        np.empty(LONGEST, np.int64), np.empty(LONGEST, np.int64), np.empty(LONGEST), np.empty(LONGEST),
        np.empty(LONGEST, np.int64), np.empty(UNITS), np.empty(LONGEST, np.int64),
    )  # fmt: skip


@njit(cache=True, nogil=True)
def count(members: int) -> int:
    """Members of a bit set."""
    total = 0
    while members:
        members &= members - 1
        total += 1
    return total


@njit(cache=True, nogil=True)
def first_use(machine: np.ndarray) -> int:
    """Column of the first occupied unit; those of choices, sources and targets follow."""
    return FIRST_LIST + machine[N_POOLS] + machine[N_BUFFERS]


@njit(cache=True, nogil=True)
def look(block: Block, precedes: np.ndarray, outlook: Outlook) -> None:
    """Fill `outlook`. precedes: (n, n) bool, acyclic."""
    facts, n = block.instructions, len(precedes)
    _sort(precedes, outlook.sequence)
    delays = _delays(block, outlook.sequence, n)
    outlook.load[:] = 0.0
    for place in range(n - 1, -1, -1):
        i = outlook.sequence[place]
        outlook.depth[i] = 0
        outlook.units[i] = _units(facts, block.machine, i)
        need(block, i, 1.0, outlook.load)
        _follow(block, precedes, delays, i, outlook)
    by_tail = np.argsort(-outlook.tail[:n])
    for i in range(n):
        _queue(block, i, by_tail, outlook)


@njit(cache=True, nogil=True)
def _sort(precedes: np.ndarray, sequence: np.ndarray) -> None:
    """Fill `sequence` with a legal order."""
    n, placed = len(precedes), 0
    waiting = precedes.sum(0)
    for k in range(n):
        if waiting[k] == 0:
            sequence[placed] = k
            placed += 1
    for place in range(n):
        i = sequence[place]
        for k in range(n):
            if precedes[i, k]:
                waiting[k] -= 1
                if waiting[k] == 0:
                    sequence[placed] = k
                    placed += 1


@njit(cache=True, nogil=True)
def _delays(block: Block, sequence: np.ndarray, n: int) -> np.ndarray:
    """(n, n) int64: [i, k] cycles from the issue of i until k can read its result; -1: k reads no result of i."""
    facts, machine = block.instructions, block.machine
    sources = first_use(machine) + machine[N_OCCUPIED] + machine[N_CHOICES]
    targets = sources + machine[N_SOURCES]
    delays, writer = np.full((n, n), -1, np.int64), np.full(REGISTERS + 1, -1, np.int64)
    for place in range(n):
        k = sequence[place]
        for column in range(sources, targets):
            source = facts[k, column]
            if source == 0:
                break
            i = writer[source & 255]
            if i >= 0:
                delay = facts[i, LATENCY] - (source >> BYTE & 1) * facts[k, ADVANCE]
                delays[i, k] = max(delays[i, k], delay, 0)
        for column in range(targets, targets + machine[N_TARGETS]):
            target = facts[k, column]
            if target == 0:
                break
            writer[target] = k
    return delays


@njit(cache=True, nogil=True)
def _units(facts: np.ndarray, machine: np.ndarray, i: int) -> int:
    units, first = 0, first_use(machine)
    for column in range(first, first + machine[N_OCCUPIED]):
        if facts[i, column]:
            units |= 1 << (int(facts[i, column] & 255) - 1)
    if units:
        return units
    first += machine[N_OCCUPIED]
    for column in range(first, first + machine[N_CHOICES]):
        if facts[i, column]:
            units |= int(machine[FIRST_GROUP + (facts[i, column] & 255) - 1])
    return units


@njit(cache=True, nogil=True)
def need(block: Block, i: int, sign: float, load: np.ndarray) -> None:
    """Add (sign 1) or take away (-1) the cycles that instruction i needs of each unit; a group shares them equally."""
    facts, machine = block.instructions, block.machine
    first = first_use(machine)
    for column in range(first, first + machine[N_OCCUPIED]):
        use = facts[i, column]
        if use == 0:
            break
        load[(use & 255) - 1] += sign * (use >> BYTE)
    first += machine[N_OCCUPIED]
    for column in range(first, first + machine[N_CHOICES]):
        use = facts[i, column]
        if use == 0:
            break
        members, unit = machine[FIRST_GROUP + (use & 255) - 1], 0
        share = sign * (use >> BYTE) / count(members)
        while members:
            if members & 1:
                load[unit] += share
            members >>= 1
            unit += 1


@njit(cache=True, nogil=True)
def _follow(block: Block, precedes: np.ndarray, delays: np.ndarray, i: int, outlook: Outlook) -> None:
    """Followers, readers and tail of i, once those of all followers are there."""
    facts, machine = block.instructions, block.machine
    in_order = machine[RETIRE_WIDTH] == 0
    latency, followers, readers = facts[i, LATENCY], np.int64(0), 0
    tail = latency if in_order else latency + 1
    carried = max(0, (facts[i, MICRO_OPS] - 1) // machine[ISSUE_WIDTH])
    for k in range(len(precedes)):
        if precedes[i, k]:
            followers |= outlook.followers[k] | (np.int64(1) << k)
            if in_order:  # it issues after i, and writes back after it
                tail = max(tail, max(carried, latency - facts[k, LATENCY]) + outlook.tail[k])
        if delays[i, k] >= 0:
            readers += 1
            tail = max(tail, delays[i, k] + outlook.tail[k])
    outlook.followers[i], outlook.readers[i], outlook.tail[i] = followers, readers, tail


@njit(cache=True, nogil=True)
def _queue(block: Block, i: int, by_tail: np.ndarray, outlook: Outlook) -> None:
    """Depth of what follows i, and the tails of i that count what queues behind it."""
    width, units = block.machine[ISSUE_WIDTH], outlook.units[i]
    dispatch_tail = unit_tail = float(outlook.tail[i])
    micro_ops, followers, work = 0, 0, 0.0
    for k in by_tail:
        if outlook.followers[i] >> k & 1:
            outlook.depth[k] += 1
            followers += 1
            micro_ops += block.instructions[k, MICRO_OPS]
            dispatch_tail = max(dispatch_tail, micro_ops / width + outlook.tail[k])
            if outlook.units[k] & units:
                work += 1.0 / count(outlook.units[k] | units)
                unit_tail = max(unit_tail, work + outlook.tail[k])
    outlook.n_followers[i] = followers
    outlook.dispatch_tail[i], outlook.unit_tail[i] = dispatch_tail, unit_tail
