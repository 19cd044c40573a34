"""Lower bounds on the cycles of any legal order of a block on an in-order processor.

Each bound is the maximum, over sets of instructions, of (first start in the set) + (time that the set needs) + (least
time from there to the end). There is one for paths alone, one for micro-ops and the issue width, one for each unit, and
one for each group of units of which instructions choose one. This is Carlier & Pinson's bound for one machine (1989),
for the sets that thresholds of heads and tails define.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from learned_schedulers.blocks.methods.on_machine.graph import Graph
from learned_schedulers.blocks.processors.in_order import Block


class Loads(NamedTuple):
    """What n instructions need of D resources: each unit, each group of units, and the issue of micro-ops."""

    work: np.ndarray  # (D, n) int64: cycles of units, micro-ops
    capacity: np.ndarray  # (D,) int64: units, issue width
    after: np.ndarray  # (D, n) int64: cycles from the end of its work there to the end of all that must follow it


@njit(cache=True, nogil=True)
def loads(block: Block, graph: Graph) -> Loads:
    """Loads of the units, the groups and the issue width, in this order."""
    n, units, groups = len(graph.tail), block.unit_cycles.shape[1], len(block.groups)
    work = np.zeros((units + groups + 1, n), np.int64)
    after = np.zeros((units + groups + 1, n), np.int64)
    capacity = np.ones(units + groups + 1, np.int64)
    for unit in range(units):
        for i in range(n):
            work[unit, i] = block.unit_cycles[i, unit]
            after[unit, i] = graph.tail[i] - work[unit, i]
    for g in range(groups):
        members = block.groups[g]
        capacity[units + g] = 0
        for unit in range(units):
            capacity[units + g] += members >> unit & 1
        for i in range(n):
            longest = 0
            for unit in range(units):
                if members >> unit & 1:
                    work[units + g, i] += block.unit_cycles[i, unit]
                    longest = max(longest, block.unit_cycles[i, unit])
            chosen = block.choice[i]
            if chosen >= 0 and block.groups[chosen] & ~members == 0:
                work[units + g, i] += block.choice_cycles[i]
                longest = max(longest, block.choice_cycles[i])
            after[units + g, i] = graph.tail[i] - longest
    capacity[-1] = block.issue_width
    for i in range(n):
        # An instruction that fits into one cycle issues in the last cycle counted; a wider one starts before it.
        work[-1, i] = block.micro_ops[i]
        after[-1, i] = graph.tail[i] - 1 if block.micro_ops[i] <= block.issue_width else -1
    return Loads(work, capacity, after)


@njit(cache=True, nogil=True)
def root_bound(block: Block, graph: Graph) -> int:
    """A lower bound on the cycles of any legal order of the block."""
    n = len(graph.tail)
    heads = np.zeros(n, np.int64)
    remaining = np.ones(n, np.bool_)
    order = np.argsort(graph.reach.sum(0))
    for k in order:
        for i in range(n):
            if graph.reach[i, k]:
                heads[k] = max(heads[k], heads[i] + graph.distance[i, k])
    return bound(heads, remaining, graph, loads(block, graph))


@njit(cache=True, nogil=True)
def bound(heads: np.ndarray, remaining: np.ndarray, graph: Graph, resources: Loads) -> int:
    """Least cycles of a single pass if the instructions `remaining`, (n,) bool, issue no sooner than `heads`, (n,)."""
    n = len(heads)
    longest = 0
    for i in range(n):
        if remaining[i]:
            longest = max(longest, heads[i] + graph.tail[i])
    for d in range(len(resources.capacity)):
        work, after, capacity = resources.work[d], resources.after[d], resources.capacity[d]
        for first in range(n):
            if not remaining[first] or work[first] == 0:
                continue
            # Of the instructions that start no sooner than `first`: those with at least as much after them as `last`.
            for last in range(n):
                if not remaining[last] or work[last] == 0 or heads[last] < heads[first]:
                    continue
                total = 0
                for i in range(n):
                    if remaining[i] and heads[i] >= heads[first] and after[i] >= after[last]:
                        total += work[i]
                needed = (total + capacity - 1) // capacity
                longest = max(longest, heads[first] + needed + after[last])
    return longest + 1
