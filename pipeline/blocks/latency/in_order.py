"""A transparent model of an in-order processor: in which cycle each instruction of an order issues.

It follows llvm-mca 19's pipeline for processors without reordering (`InOrderIssueStage`), which on x86 are `atom` and
`bonnell`. Instructions issue in their order, each in the first cycle, counted from 0, in which all of this holds:

- Issue width. The micro-ops issued in a cycle are at most `issue_width`. An instruction with more micro-ops than that
  starts in the current cycle, be nothing left of it, and issues the rest alone in the following ones.
- Operands. `delays[i, k]` cycles have passed since each earlier instruction i whose result it reads.
- Units. Those that it holds are free, and one of those of which it takes any. Which one it takes is llvm-mca's
  round robin: the highest free unit that had no turn yet.
- Write-back in order. It ends no sooner than all earlier ones do: a quick instruction after a slow one waits.

Memory does not stall: llvm-mca takes loads and stores as never overlapping unless told otherwise.

The makespan is llvm-mca's count of cycles for a single pass: up to the last write-back, that cycle included.

Deviations from llvm-mca (benchmarks/machine_agreement measures what they cost): every result of an instruction
comes after its full latency; fences do not hold back loads and stores; no instruction may write back out of order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from pipeline.blocks.latency.units import choose, took


class Costs(NamedTuple):
    """What B blocks of n instructions ask of a processor with R units."""

    micro_ops: np.ndarray  # (B, n) int32
    latencies: np.ndarray  # (B, n) int32 cycles from issue to write-back
    held: np.ndarray  # (B, n, R) int32 cycles for which each unit is held
    choice: np.ndarray  # (B, n) int32: group of units of which any one is held besides; -1: none
    choice_cycles: np.ndarray  # (B, n) int32
    # (B, n, n) int16: [b, i, k] cycles after i that k issues at the earliest, where i comes first; at most i's latency.
    delays: np.ndarray
    groups: np.ndarray  # (G,) int64 bit sets of units
    issue_width: int  # micro-ops per cycle


CYCLE, LEFT, WRITTEN = range(3)  # of Pipeline.clock


class Block(NamedTuple):
    """What one block of n instructions asks: a row of Costs."""

    micro_ops: np.ndarray  # (n,)
    latencies: np.ndarray  # (n,)
    held: np.ndarray  # (n, R)
    choice: np.ndarray  # (n,)
    choice_cycles: np.ndarray  # (n,)
    delays: np.ndarray  # (n, n)
    groups: np.ndarray  # (G,)
    issue_width: int


class Pipeline(NamedTuple):
    """The processor between two instructions, and what it has issued; int64 arrays that `put` writes."""

    free: np.ndarray  # (R,) cycle from which each unit is free
    turn: np.ndarray  # (G,) units of each group that have their turn yet in this round
    skipped: np.ndarray  # (G,) those used before their turn came
    clock: np.ndarray  # (3,) the current cycle, micro-ops that it still issues, cycle of the last write-back
    order: np.ndarray  # (n,) instruction in slot t
    issue: np.ndarray  # (n,) its cycle


class Timing(NamedTuple):
    """When the instructions of B blocks issue in K orders of each."""

    issue: np.ndarray  # (B, K, n) int32: cycle in which the instruction in slot t issues
    makespan: np.ndarray  # (B, K) int32: cycles of a single pass


def simulate(costs: Costs, orders: np.ndarray) -> Timing:
    """Timing of K orders of each block.

    orders: (B, K, n) int, [b, k, t] is the instruction of block b in slot t. Raises ValueError where the shapes differ
    or an order is no permutation.
    """
    size, n = costs.latencies.shape
    if orders.ndim != 3 or orders.shape[0] != size or orders.shape[2] != n:
        raise ValueError(f"orders of shape {orders.shape} for {size} blocks of {n} instructions")
    issue = np.empty(orders.shape, np.int32)
    makespan = np.empty(orders.shape[:2], np.int32)
    # A copy: the kernel would be compiled again for every other type, and for arrays that are read only.
    wrong = _simulate(*costs, np.array(orders, np.int64, order="C"), issue, makespan)
    if wrong >= 0:
        raise ValueError(f"block {wrong} has an order that is no permutation of its instructions")
    return Timing(issue, makespan)


@njit(cache=True, nogil=True)
def _simulate(
    micro_ops: np.ndarray,
    latencies: np.ndarray,
    held: np.ndarray,
    choice: np.ndarray,
    choice_cycles: np.ndarray,
    delays: np.ndarray,
    groups: np.ndarray,
    issue_width: int,
    orders: np.ndarray,
    issue: np.ndarray,
    makespan: np.ndarray,
) -> int:
    """Fill issue and makespan. Returns -1, or the first block with an order that is no permutation."""
    size, n_orders, n = orders.shape
    pipeline = idle(held.shape[2], len(groups), n)
    seen = np.empty(n, np.bool_)
    for b in range(size):
        block = Block(micro_ops[b], latencies[b], held[b], choice[b], choice_cycles[b], delays[b], groups, issue_width)
        for k in range(n_orders):
            seen[:] = False
            for i in orders[b, k]:
                if i < 0 or i >= n or seen[i]:
                    return b
                seen[i] = True
            makespan[b, k] = makespan_of(block, orders[b, k], pipeline)
            issue[b, k] = pipeline.issue
    return -1


@njit(cache=True, nogil=True)
def idle(n_units: int, n_groups: int, n: int) -> Pipeline:
    """A pipeline for blocks of n instructions; `reset` makes it ready for one."""
    return Pipeline(
        np.zeros(n_units, np.int64),
        np.zeros(n_groups, np.int64),
        np.zeros(n_groups, np.int64),
        np.zeros(3, np.int64),
        np.zeros(n, np.int64),
        np.zeros(n, np.int64),
    )


@njit(cache=True, nogil=True)
def reset(block: Block, pipeline: Pipeline) -> None:
    """Nothing has issued."""
    pipeline.free[:] = 0
    pipeline.turn[:] = block.groups
    pipeline.skipped[:] = 0
    pipeline.clock[CYCLE], pipeline.clock[LEFT], pipeline.clock[WRITTEN] = 0, block.issue_width, 0


@njit(cache=True, nogil=True)
def makespan_of(block: Block, order: np.ndarray, pipeline: Pipeline) -> int:
    """Cycles of one order (n,) of one block, a permutation; `pipeline.issue` says afterwards when each slot issued."""
    reset(block, pipeline)
    for t in range(len(order)):
        put(block, pipeline, t, order[t], start_of(block, pipeline, t, order[t]))
    return end_of(pipeline)


@njit(cache=True, nogil=True)
def end_of(pipeline: Pipeline) -> int:
    """Cycles of a single pass over what has issued."""
    return max(pipeline.clock[WRITTEN], pipeline.clock[CYCLE]) + 1


@njit(cache=True, nogil=True)
def start_of(block: Block, pipeline: Pipeline, t: int, i: int) -> int:
    """Cycle in which instruction i would issue in slot t, those of the slots before having issued."""
    start = pipeline.clock[CYCLE]
    if pipeline.clock[LEFT] < block.micro_ops[i] <= block.issue_width:
        start += 1
    start = max(start, pipeline.clock[WRITTEN] - block.latencies[i])
    for unit in range(len(pipeline.free)):
        if block.held[i, unit] > 0:
            start = max(start, pipeline.free[unit])
    group = block.choice[i]
    if group >= 0:
        start = max(start, _first_free(pipeline.free, block.groups[group], block.held[i]))
    for s in range(t - 1, -1, -1):
        before = pipeline.order[s]
        # Write-backs are in order: the results of all that came before this one are there as well.
        if pipeline.issue[s] + block.latencies[before] <= start:
            break
        start = max(start, pipeline.issue[s] + block.delays[before, i])
    return start


@njit(cache=True, nogil=True)
def put(block: Block, pipeline: Pipeline, t: int, i: int, start: int) -> None:
    """Issue instruction i in slot t and in cycle `start`, which `start_of` gave."""
    free, groups, turn, skipped = pipeline.free, block.groups, pipeline.turn, pipeline.skipped
    cycle, left = pipeline.clock[CYCLE], pipeline.clock[LEFT]
    if start > cycle:
        cycle, left = start, block.issue_width
    pipeline.order[t], pipeline.issue[t] = i, cycle
    pipeline.clock[WRITTEN] = max(pipeline.clock[WRITTEN], cycle + block.latencies[i])
    for unit in range(len(free)):
        if block.held[i, unit] > 0:
            free[unit] = cycle + block.held[i, unit]
            took(unit, groups, turn, skipped)
    group = block.choice[i]
    if group >= 0:
        ready = 0
        for unit in range(len(free)):
            ready |= (free[unit] <= cycle) << unit
        unit = choose(group, ready, groups, turn, skipped)
        free[unit] = cycle + block.choice_cycles[i]
        took(unit, groups, turn, skipped)
    wanted = block.micro_ops[i]
    if wanted <= left:
        left -= wanted
    else:
        rest = wanted - left
        more = (rest + block.issue_width - 1) // block.issue_width
        cycle += more
        left = more * block.issue_width - rest
    pipeline.clock[CYCLE], pipeline.clock[LEFT] = cycle, left


@njit(cache=True, nogil=True)
def _first_free(free: np.ndarray, members: int, held: np.ndarray) -> int:
    """First cycle in which a unit of a group is free."""
    first = np.iinfo(np.int64).max
    for unit in range(len(free)):
        if members >> unit & 1 and held[unit] == 0:
            first = min(first, free[unit])
    return first
