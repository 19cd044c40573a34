"""Lower bounds on the cycles of any legal order of a block on an out-of-order processor.

A result is certain if, in every legal order, each other writer of the register comes before its writer or after its
reader: then the reader always waits for this latency. Certain results, and the time to dispatch the micro-ops of all
predecessors at the width of the machine, give the earliest cycle in which each instruction can issue. The bound is the
maximum of the bounds by paths, by the work of the units (bounds.py), by dispatch, and by retirement.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from learned_schedulers.blocks.methods.on_machine.bounds import Loads, bound
from learned_schedulers.blocks.methods.on_machine.graph import Graph, closure
from learned_schedulers.blocks.processors.packing import (
    ADVANCE,
    AT_ONCE,
    BYTE,
    FIRST_GROUP,
    FIRST_LIST,
    ISSUE_WIDTH,
    LATENCY,
    MEMORY,
    MICRO_OPS,
    N_BUFFERS,
    N_CHOICES,
    N_GROUPS,
    N_OCCUPIED,
    N_POOLS,
    N_SOURCES,
    N_TARGETS,
    RETIRE_WIDTH,
    STORE,
    Block,
)

_UNITS = 64  # a set of them is a word


@njit(cache=True, nogil=True)
def graph(block: Block, precedes: np.ndarray) -> Graph:
    """Lower bounds that hold in every legal order of the block. precedes: (n, n) bool, acyclic.

    Distances are those of certain results, and of stores, which wait for loads and stores before them. All others are
    0, because a later instruction may issue sooner. A tail has the cycles from the issue of an instruction to its
    retirement, or to that of an instruction that must wait for it.
    """
    reach = closure(precedes)
    n = len(reach)
    distance = np.zeros((n, n), np.int64)
    tail = np.zeros(n, np.int64)
    for i in np.argsort(reach.sum(1)):  # each follower of i has fewer followers than i
        tail[i] = block.instructions[i, LATENCY] + 1
        for k in range(n):
            if reach[i, k]:
                delay = _delay(block, reach, i, k)
                distance[i, k] = max(delay, 0)
                if delay >= 0:
                    tail[i] = max(tail[i], delay + tail[k])
    return Graph(reach, distance, tail)


@njit(cache=True, nogil=True)
def root_bound(block: Block, relations: Graph) -> int:
    """A lower bound on the cycles of any legal order of the block. relations: from `graph`."""
    facts, width = block.instructions, block.machine[ISSUE_WIDTH]
    n = len(relations.tail)
    heads, needed = np.zeros(n, np.int64), np.zeros(n, np.int64)
    for k in np.argsort(relations.reach.sum(0)):
        needed[k] = max(1, min(facts[k, MICRO_OPS], width))  # micro-ops that must fit when it is dispatched
        dispatched = (facts[relations.reach[:, k], MICRO_OPS].sum() + needed[k] - 1) // width
        heads[k] = dispatched + (facts[k, AT_ONCE] == 0)
        for i in range(n):
            if relations.reach[i, k] and _waits(block, relations.reach, i, k):
                heads[k] = max(heads[k], heads[i] + relations.distance[i, k])
    least = bound(heads, np.ones(n, np.bool_), relations, _loads(block, relations))
    tails_from_dispatch = relations.tail + (facts[:, AT_ONCE] == 0)
    for i in range(n):
        for k in range(n):
            if relations.reach[i, k]:
                tails_from_dispatch[i] = max(tails_from_dispatch[i], tails_from_dispatch[k])
    spare = (facts[:, MICRO_OPS] - needed).max()
    for last in range(n):
        work = facts[tails_from_dispatch >= tails_from_dispatch[last], MICRO_OPS].sum()
        least = max(least, (work - spare - 1) // width + tails_from_dispatch[last] + 1)
    first_executed = (heads + facts[:, LATENCY]).min() + 1
    return max(least, first_executed + (n + block.machine[RETIRE_WIDTH] - 1) // block.machine[RETIRE_WIDTH])


@njit(cache=True, nogil=True)
def _waits(block: Block, reach: np.ndarray, i: int, k: int) -> bool:
    """Whether k, which comes after i, issues no sooner than i in any order."""
    return _delay(block, reach, i, k) >= 0


@njit(cache=True, nogil=True)
def _delay(block: Block, reach: np.ndarray, i: int, k: int) -> int:
    """Least cycles from the issue of i to that of k, which must come after it; -1: k may issue sooner."""
    facts, machine = block.instructions, block.machine
    sources = FIRST_LIST + machine[N_POOLS] + machine[N_BUFFERS] + machine[N_OCCUPIED] + machine[N_CHOICES]
    delay = -1
    if facts[k, MEMORY] == STORE and facts[i, MEMORY] != 0:
        delay = 0
    for column in range(sources, sources + machine[N_SOURCES]):
        source = facts[k, column]
        if source == 0:
            break
        if not _writes(block, i, source & 255):
            continue
        certain = True
        for m in range(len(reach)):
            if m != i and m != k and _writes(block, m, source & 255):
                certain &= reach[m, i] or reach[k, m]
        if certain:
            late = source >> BYTE & 1
            delay = max(delay, max(0, facts[i, LATENCY] - late * facts[k, ADVANCE]))
    return delay


@njit(cache=True, nogil=True)
def _writes(block: Block, i: int, register: int) -> bool:
    """Whether instruction i writes the register."""
    machine = block.machine
    targets = (
        FIRST_LIST
        + machine[N_POOLS]
        + machine[N_BUFFERS]
        + machine[N_OCCUPIED]
        + machine[N_CHOICES]
        + machine[N_SOURCES]
    )
    writes = False
    for column in range(targets, targets + machine[N_TARGETS]):
        writes |= block.instructions[i, column] == register
    return writes


@njit(cache=True, nogil=True)
def _loads(block: Block, relations: Graph) -> Loads:
    """What the instructions need of each unit and of each group; `root_bound` treats dispatch separately."""
    facts, machine, n = block.instructions, block.machine, len(relations.tail)
    n_groups = machine[N_GROUPS]
    members = np.empty(_UNITS + n_groups, np.int64)
    for unit in range(_UNITS):
        members[unit] = np.int64(1) << unit
    members[_UNITS:] = machine[FIRST_GROUP : FIRST_GROUP + n_groups]
    work = np.zeros((len(members), n), np.int64)
    longest = np.zeros((len(members), n), np.int64)
    capacity = np.zeros(len(members), np.int64)
    first = FIRST_LIST + machine[N_POOLS] + machine[N_BUFFERS]
    for d in range(len(members)):
        for unit in range(_UNITS):
            capacity[d] += members[d] >> unit & 1
        for i in range(n):
            for column in range(first, first + machine[N_OCCUPIED] + machine[N_CHOICES]):
                use = facts[i, column]
                if use == 0:
                    continue
                number = (use & 255) - 1
                used_units = members[number] if column < first + machine[N_OCCUPIED] else members[_UNITS + number]
                if used_units & ~members[d] == 0:
                    work[d, i] += use >> BYTE
                    longest[d, i] = max(longest[d, i], use >> BYTE)
    return Loads(work, capacity, relations.tail - longest)
