"""A transparent model of an in-order processor: in which cycle each instruction of an order issues.

It follows llvm-mca 19's pipeline for processors without reordering (`InOrderIssueStage`), which on x86 are `atom` and
`bonnell`. Instructions issue in their order, each in the first cycle, counted from 0, in which all of this holds:

- Issue width. At most `issue_width` micro-ops issue in a cycle. An instruction with more micro-ops than that starts in
  the current cycle, even if no micro-op fits there any more, and issues its rest alone in the following cycles.
- Operands. `delays[i, k]` cycles have passed since the issue of each earlier instruction i whose result it reads.
- Units. All units that it occupies are free. If it occupies any one unit of a group, one of them is free; llvm-mca's
  round robin chooses the highest free unit that had no turn yet.
- Write-back in order. It ends no sooner than all earlier instructions: a quick instruction after a slow one waits.

Memory does not stall: by default, llvm-mca assumes that loads and stores never overlap.

The makespan is llvm-mca's count of cycles for a single pass: up to the last write-back, that cycle included.

Deviations from llvm-mca (the experiment `processor_agreement` has their effect): every result of an instruction comes
after its full latency; fences do not delay loads and stores; no instruction may write back out of order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from learned_schedulers.blocks.processors.units import choose, mark_used


class Costs(NamedTuple):
    """What B blocks of n instructions need of a processor with R units, in G groups."""

    micro_ops: np.ndarray  # (B, n) int32
    latencies: np.ndarray  # (B, n) int32 cycles from issue to write-back
    unit_cycles: np.ndarray  # (B, n, R) int32 cycles for which it occupies each unit
    choice: np.ndarray  # (B, n) int32: group of which it occupies any one unit besides; -1: none
    choice_cycles: np.ndarray  # (B, n) int32 cycles for which it occupies that unit
    # (B, n, n) int16: [b, i, k] least cycles from the issue of i to that of k if i comes first; at most i's latency.
    delays: np.ndarray
    groups: np.ndarray  # (G,) int64 bit sets of units
    issue_width: int  # micro-ops per cycle


CURRENT_CYCLE, MICRO_OPS_LEFT, LAST_WRITE_BACK = range(3)  # places of Pipeline.clock


class Block(NamedTuple):
    """What one block of n instructions needs: a row of Costs."""

    micro_ops: np.ndarray  # (n,)
    latencies: np.ndarray  # (n,)
    unit_cycles: np.ndarray  # (n, R)
    choice: np.ndarray  # (n,)
    choice_cycles: np.ndarray  # (n,)
    delays: np.ndarray  # (n, n)
    groups: np.ndarray  # (G,)
    issue_width: int


class Pipeline(NamedTuple):
    """State of the processor between two instructions; int64 arrays that `issue_instruction` writes."""

    free: np.ndarray  # (R,) cycle from which on each unit is free
    turn: np.ndarray  # (G,) bit sets: units of each group whose turn is still to come in this round
    skipped: np.ndarray  # (G,) bit sets: units of each group that were used before their turn
    clock: np.ndarray  # (3,) the current cycle; micro-ops that still fit into it; cycle of the last write-back
    order: np.ndarray  # (n,) instruction in each slot
    issue: np.ndarray  # (n,) cycle in which each slot issued


class Timing(NamedTuple):
    """When the instructions of B blocks issue in K orders of each."""

    issue: np.ndarray  # (B, K, n) int32: cycle in which the instruction in slot t issues
    makespan: np.ndarray  # (B, K) int32: cycles of a single pass


def simulate(costs: Costs, orders: np.ndarray) -> Timing:
    """Timing of K orders of each block.

    orders: (B, K, n) int, [b, k, t] is the instruction of block b in slot t. Raises ValueError if the shapes differ
    or an order is not a permutation.
    """
    size, n = costs.latencies.shape
    if orders.ndim != 3 or orders.shape[0] != size or orders.shape[2] != n:
        raise ValueError(f"orders of shape {orders.shape} for {size} blocks of {n} instructions")
    issue = np.empty(orders.shape, np.int32)
    makespan = np.empty(orders.shape[:2], np.int32)
    # A copy: numba would compile the kernel again for every other type, and for read-only arrays.
    faulty = _simulate(costs, np.array(orders, np.int64, order="C"), issue, makespan)
    if faulty >= 0:
        raise ValueError(f"block {faulty} has an order that is not a permutation of its instructions")
    return Timing(issue, makespan)


@njit(cache=True, nogil=True)
def _simulate(costs: Costs, orders: np.ndarray, issue: np.ndarray, makespan: np.ndarray) -> int:
    """Fill issue and makespan. Returns -1, or the first block with an order that is not a permutation."""
    size, n_orders, n = orders.shape
    pipeline = new_pipeline(costs.unit_cycles.shape[2], len(costs.groups), n)
    visited = np.empty(n, np.bool_)
    for b in range(size):
        block = block_of(costs, b)
        for k in range(n_orders):
            visited[:] = False
            for i in orders[b, k]:
                if i < 0 or i >= n or visited[i]:
                    return b
                visited[i] = True
            makespan[b, k] = makespan_of(block, orders[b, k], pipeline)
            issue[b, k] = pipeline.issue
    return -1


@njit(cache=True, nogil=True)
def block_of(costs: Costs, b: int) -> Block:
    """Block b of a batch."""
    return Block(
        costs.micro_ops[b],
        costs.latencies[b],
        costs.unit_cycles[b],
        costs.choice[b],
        costs.choice_cycles[b],
        costs.delays[b],
        costs.groups,
        costs.issue_width,
    )


@njit(cache=True, nogil=True)
def new_pipeline(n_units: int, n_groups: int, n: int) -> Pipeline:
    """A pipeline for blocks of n instructions; call `reset` before each of them."""
    return Pipeline(
        free=np.zeros(n_units, np.int64),
        turn=np.zeros(n_groups, np.int64),
        skipped=np.zeros(n_groups, np.int64),
        clock=np.zeros(3, np.int64),
        order=np.zeros(n, np.int64),
        issue=np.zeros(n, np.int64),
    )


@njit(cache=True, nogil=True)
def reset(block: Block, pipeline: Pipeline) -> None:
    """Set the pipeline to its state before the first instruction of the block."""
    pipeline.free[:] = 0
    pipeline.turn[:] = block.groups
    pipeline.skipped[:] = 0
    pipeline.clock[CURRENT_CYCLE] = 0
    pipeline.clock[MICRO_OPS_LEFT] = block.issue_width
    pipeline.clock[LAST_WRITE_BACK] = 0


@njit(cache=True, nogil=True)
def makespan_of(block: Block, order: np.ndarray, pipeline: Pipeline) -> int:
    """Cycles of one order (n,) of one block, a permutation; afterwards `pipeline.issue` has the cycle of each slot."""
    reset(block, pipeline)
    for t in range(len(order)):
        issue_instruction(block, pipeline, t, order[t], issue_cycle(block, pipeline, t, order[t]))
    return makespan_so_far(pipeline)


@njit(cache=True, nogil=True)
def makespan_so_far(pipeline: Pipeline) -> int:
    """Cycles of a single pass over the instructions that have issued."""
    return max(pipeline.clock[LAST_WRITE_BACK], pipeline.clock[CURRENT_CYCLE]) + 1


@njit(cache=True, nogil=True)
def issue_cycle(block: Block, pipeline: Pipeline, t: int, i: int) -> int:
    """Cycle in which instruction i would issue in slot t, once all earlier slots have issued."""
    start = pipeline.clock[CURRENT_CYCLE]
    if pipeline.clock[MICRO_OPS_LEFT] < block.micro_ops[i] <= block.issue_width:
        start += 1
    start = max(start, pipeline.clock[LAST_WRITE_BACK] - block.latencies[i])
    for unit in range(len(pipeline.free)):
        if block.unit_cycles[i, unit] > 0:
            start = max(start, pipeline.free[unit])
    group = block.choice[i]
    if group >= 0:
        start = max(start, _first_free(pipeline.free, block.groups[group], block.unit_cycles[i]))
    for s in range(t - 1, -1, -1):
        earlier = pipeline.order[s]
        # Write-backs are in order: once this result is available, so are those of all slots before it.
        if pipeline.issue[s] + block.latencies[earlier] <= start:
            break
        start = max(start, pipeline.issue[s] + block.delays[earlier, i])
    return start


@njit(cache=True, nogil=True)
def issue_instruction(block: Block, pipeline: Pipeline, t: int, i: int, start: int) -> None:
    """Issue instruction i in slot t and in cycle `start`, the result of `issue_cycle`."""
    free, groups, turn, skipped = pipeline.free, block.groups, pipeline.turn, pipeline.skipped
    cycle, room = pipeline.clock[CURRENT_CYCLE], pipeline.clock[MICRO_OPS_LEFT]
    if start > cycle:
        cycle, room = start, block.issue_width
    pipeline.order[t], pipeline.issue[t] = i, cycle
    pipeline.clock[LAST_WRITE_BACK] = max(pipeline.clock[LAST_WRITE_BACK], cycle + block.latencies[i])
    for unit in range(len(free)):
        if block.unit_cycles[i, unit] > 0:
            free[unit] = cycle + block.unit_cycles[i, unit]
            mark_used(unit, groups, turn, skipped)
    group = block.choice[i]
    if group >= 0:
        ready = 0
        for unit in range(len(free)):
            ready |= (free[unit] <= cycle) << unit
        unit = choose(group, ready, groups, turn, skipped)
        free[unit] = cycle + block.choice_cycles[i]
        mark_used(unit, groups, turn, skipped)
    micro_ops = block.micro_ops[i]
    if micro_ops <= room:
        room -= micro_ops
    else:
        carried = micro_ops - room
        further_cycles = (carried + block.issue_width - 1) // block.issue_width
        cycle += further_cycles
        room = further_cycles * block.issue_width - carried
    pipeline.clock[CURRENT_CYCLE], pipeline.clock[MICRO_OPS_LEFT] = cycle, room


@njit(cache=True, nogil=True)
def _first_free(free: np.ndarray, members: int, unit_cycles: np.ndarray) -> int:
    """First cycle in which a unit of the group is free that the instruction does not occupy by itself."""
    earliest = np.iinfo(np.int64).max
    for unit in range(len(free)):
        if members >> unit & 1 and unit_cycles[unit] == 0:
            earliest = min(earliest, free[unit])
    return earliest
