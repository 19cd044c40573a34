"""Lower bounds on the cycles of any legal order of a block on an out-of-order processor.

In no order does an instruction read the result of another than one whose every rival writer comes before the first or
after the second: such results take their latency. With the micro-ops of all that must come before, dispatched at the
width of the machine, they say when each instruction issues at the earliest. The bound is the most of what paths say,
what units have to do (bounds.py), what has to be dispatched before the end, and what has to be retired.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from pipeline.blocks.latency.packing import (
    ADVANCE,
    AT_ONCE,
    BUFFERS,
    BYTE,
    CHOICES,
    GROUPS,
    HELD,
    ISSUE,
    LATENCY,
    LISTS,
    MEMORY,
    MICRO_OPS,
    POOLS,
    RETIRE,
    SIZES,
    SOURCES,
    STORE,
    TARGETS,
    Block,
)
from pipeline.blocks.schedulers.on_machine.bounds import Loads, bound
from pipeline.blocks.schedulers.on_machine.graph import Graph, closure

_UNITS = 64  # a set of them is a word


@njit(cache=True, nogil=True)
def graph(block: Block, precedes: np.ndarray) -> Graph:
    """Lower bounds that hold in every legal order of the block. precedes: (n, n) bool, acyclic.

    Distances are those of certain results, and of stores, which wait for loads and stores before them; elsewhere 0:
    who comes later may issue sooner. A tail is cycles from the issue of an instruction to its retirement, or to that of
    what must wait for it.
    """
    reach = closure(precedes)
    n = len(reach)
    distance = np.zeros((n, n), np.int64)
    tail = np.zeros(n, np.int64)
    for i in np.argsort(reach.sum(1)):  # whoever follows i has fewer followers
        tail[i] = block.instructions[i, LATENCY] + 1
        for k in range(n):
            if reach[i, k]:
                delay = _delay(block, reach, i, k)
                distance[i, k] = max(delay, 0)
                if delay >= 0:
                    tail[i] = max(tail[i], delay + tail[k])
    return Graph(reach, distance, tail)


@njit(cache=True, nogil=True)
def root_bound(block: Block, known: Graph) -> int:
    """Cycles that no legal order of the block goes below. known: of `graph`."""
    facts, width = block.instructions, block.machine[ISSUE]
    n = len(known.tail)
    heads, needed = np.zeros(n, np.int64), np.zeros(n, np.int64)
    for k in np.argsort(known.reach.sum(0)):
        needed[k] = max(1, min(facts[k, MICRO_OPS], width))  # room for it when it is dispatched
        dispatched = (facts[known.reach[:, k], MICRO_OPS].sum() + needed[k] - 1) // width
        heads[k] = dispatched + (facts[k, AT_ONCE] == 0)
        for i in range(n):
            if known.reach[i, k] and _waits(block, known.reach, i, k):
                heads[k] = max(heads[k], heads[i] + known.distance[i, k])
    least = bound(heads, np.ones(n, np.bool_), known, _loads(block, known))
    behind = known.tail + (facts[:, AT_ONCE] == 0)  # from dispatch on
    for i in range(n):
        for k in range(n):
            if known.reach[i, k]:
                behind[i] = max(behind[i], behind[k])
    spare = (facts[:, MICRO_OPS] - needed).max()
    for last in range(n):
        work = facts[behind >= behind[last], MICRO_OPS].sum()
        least = max(least, (work - spare - 1) // width + behind[last] + 1)
    first_done = (heads + facts[:, LATENCY]).min() + 1
    return max(least, first_done + (n + block.machine[RETIRE] - 1) // block.machine[RETIRE])


@njit(cache=True, nogil=True)
def _waits(block: Block, reach: np.ndarray, i: int, k: int) -> bool:
    """Whether k, which comes after i, issues no sooner than i does in any order."""
    return _delay(block, reach, i, k) >= 0


@njit(cache=True, nogil=True)
def _delay(block: Block, reach: np.ndarray, i: int, k: int) -> int:
    """Cycles from the issue of i to that of k, which must come after it; -1: it may issue sooner."""
    facts, machine = block.instructions, block.machine
    sources = LISTS + machine[POOLS] + machine[BUFFERS] + machine[HELD] + machine[CHOICES]
    delay = -1
    if facts[k, MEMORY] == STORE and facts[i, MEMORY] != 0:
        delay = 0
    for column in range(sources, sources + machine[SOURCES]):
        source = facts[k, column]
        if source == 0:
            break
        if not _writes(block, i, source & 255):
            continue
        certain = True
        for other in range(len(reach)):
            if other != i and other != k and _writes(block, other, source & 255):
                certain &= reach[other, i] or reach[k, other]
        if certain:
            late = source >> BYTE & 1
            delay = max(delay, max(0, facts[i, LATENCY] - late * facts[k, ADVANCE]))
    return delay


@njit(cache=True, nogil=True)
def _writes(block: Block, i: int, register: int) -> bool:
    machine = block.machine
    targets = LISTS + machine[POOLS] + machine[BUFFERS] + machine[HELD] + machine[CHOICES] + machine[SOURCES]
    found = False
    for column in range(targets, targets + machine[TARGETS]):
        found |= block.instructions[i, column] == register
    return found


@njit(cache=True, nogil=True)
def _loads(block: Block, known: Graph) -> Loads:
    """What the instructions ask of each unit, and of each group; dispatch is bounded by itself."""
    facts, machine, n = block.instructions, block.machine, len(known.tail)
    n_groups = machine[GROUPS]
    members = np.empty(_UNITS + n_groups, np.int64)
    for unit in range(_UNITS):
        members[unit] = np.int64(1) << unit
    members[_UNITS:] = machine[SIZES : SIZES + n_groups]
    work = np.zeros((len(members), n), np.int64)
    longest = np.zeros((len(members), n), np.int64)
    capacity = np.zeros(len(members), np.int64)
    first = LISTS + machine[POOLS] + machine[BUFFERS]
    for d in range(len(members)):
        for unit in range(_UNITS):
            capacity[d] += members[d] >> unit & 1
        for i in range(n):
            for column in range(first, first + machine[HELD] + machine[CHOICES]):
                use = facts[i, column]
                if use == 0:
                    continue
                one = (use & 255) - 1
                asked = members[one] if column < first + machine[HELD] else members[_UNITS + one]
                if asked & ~members[d] == 0:
                    work[d, i] += use >> BYTE
                    longest[d, i] = max(longest[d, i], use >> BYTE)
    return Loads(work, capacity, known.tail - longest)
