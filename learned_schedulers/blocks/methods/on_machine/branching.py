"""Branch and bound over the legal orders of one block on an in-order processor, slot by slot, depth first.

The search gives up a beginning of an order

- if its lower bound (bounds.py) is no better than the best order so far;
- if an earlier beginning of the same instructions left the pipeline in the same state at the same cycle or before.
  States are relative to the current cycle, and are compared by two 64-bit hashes;
- if it swaps interchangeable instructions (equal costs, equal dependencies): only the first of them goes first.

Each of these rules preserves an optimal order (Held & Karp's dominance of equal sets, 1962), so a completed search
proves that its order is optimal.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from learned_schedulers.blocks.methods.on_machine.bounds import Loads, bound, loads, root_bound
from learned_schedulers.blocks.methods.on_machine.graph import Graph
from learned_schedulers.blocks.processors.in_order import (
    CURRENT_CYCLE,
    LAST_WRITE_BACK,
    MICRO_OPS_LEFT,
    Block,
    Pipeline,
    issue_cycle,
    issue_instruction,
    makespan_so_far,
    new_pipeline,
    reset,
)
from learned_schedulers.kernel_arrays import ZERO

LARGEST = 64  # instructions: a set of them is a word
_SEEDS = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F)


class VisitedStates(NamedTuple):
    """Visited states, a hash table with open addressing. S is a power of two, at least twice the number of states."""

    first_hash: np.ndarray  # (S,) uint64 hash; 0: free
    second_hash: np.ndarray  # (S,) uint64
    cycle: np.ndarray  # (S,) int64: the earliest cycle of the state so far


def visited_states(states: int) -> VisitedStates:
    """An empty table with room for this number of states."""
    size = 1 << (2 * states - 1).bit_length()
    return VisitedStates(np.zeros(size, np.uint64), np.zeros(size, np.uint64), np.zeros(size, np.int64))


@njit(cache=True, nogil=True)
def branch_and_bound(
    block: Block, graph: Graph, order: np.ndarray, states: int, visited: VisitedStates
) -> tuple[int, int, int]:
    """Improve order (n,), legal, in place, to an optimal one; the search visits at most this number of states.

    Returns its cycles, a lower bound on those of any order (equal to its cycles if it is proven optimal), and the
    number of visited states.
    """
    n = len(order)
    resources, floor = loads(block, graph), root_bound(block, graph)
    pipeline = new_pipeline(len(block.unit_cycles[0]), len(block.groups), n)
    reset(block, pipeline)
    for t in range(n):
        issue_instruction(block, pipeline, t, order[t], issue_cycle(block, pipeline, t, order[t]))
    best = makespan_so_far(pipeline)
    if best <= floor:
        return best, floor, 0
    visited.first_hash[:] = 0
    twins = _twins(block, graph)
    topological = np.argsort(graph.reach.sum(0))
    free = np.zeros((n + 1, len(pipeline.free)), np.int64)
    turn, skipped = np.zeros((n + 1, len(block.groups)), np.int64), np.zeros((n + 1, len(block.groups)), np.int64)
    clock, ready = np.zeros((n + 1, 3), np.int64), np.zeros((n + 1, n), np.int64)
    remaining = np.ones(n, np.bool_)
    children, n_children, next_child = np.zeros((n, n), np.int64), np.zeros(n, np.int64), np.zeros(n, np.int64)
    reset(block, pipeline)
    depth, n_visited = ZERO, 0
    _save(pipeline, depth, free, turn, skipped, clock)
    n_children[0] = _candidates(block, graph, pipeline, depth, remaining, twins, children[0])
    while depth >= 0:
        if next_child[depth] == n_children[depth]:
            depth -= 1
            if depth >= 0:
                remaining[children[depth, next_child[depth] - 1]] = True
            continue
        i = children[depth, next_child[depth]]
        next_child[depth] += 1
        _restore(pipeline, depth, free, turn, skipped, clock)
        issue_instruction(block, pipeline, depth, i, issue_cycle(block, pipeline, depth, i))
        n_visited += 1
        if n_visited > states:
            return best, floor, n_visited
        if depth == n - 1:
            if makespan_so_far(pipeline) < best:
                best = makespan_so_far(pipeline)
                order[:] = pipeline.order
                if best <= floor:
                    return best, floor, n_visited
            continue
        remaining[i] = False
        for k in range(n):
            ready[depth + 1, k] = max(ready[depth, k], pipeline.issue[depth] + block.delays[i, k])
        least = _bound(block, graph, resources, pipeline, ready[depth + 1], remaining, topological)
        if least >= best or _visited_before(block, pipeline, ready[depth + 1], remaining, visited):
            remaining[i] = True
            continue
        depth += 1
        _save(pipeline, depth, free, turn, skipped, clock)
        n_children[depth] = _candidates(block, graph, pipeline, depth, remaining, twins, children[depth])
        next_child[depth] = 0
    return best, best, n_visited


@njit(cache=True, nogil=True)
def _save(
    pipeline: Pipeline, depth: int, free: np.ndarray, turn: np.ndarray, skipped: np.ndarray, clock: np.ndarray
) -> None:
    free[depth], turn[depth], skipped[depth], clock[depth] = (
        pipeline.free,
        pipeline.turn,
        pipeline.skipped,
        pipeline.clock,
    )


@njit(cache=True, nogil=True)
def _restore(
    pipeline: Pipeline, depth: int, free: np.ndarray, turn: np.ndarray, skipped: np.ndarray, clock: np.ndarray
) -> None:
    pipeline.free[:] = free[depth]
    pipeline.turn[:] = turn[depth]
    pipeline.skipped[:] = skipped[depth]
    pipeline.clock[:] = clock[depth]


@njit(cache=True, nogil=True)
def _twins(block: Block, graph: Graph) -> np.ndarray:
    """(n, n) bool: [i, k] if i < k and both are interchangeable."""
    n = len(graph.tail)
    twins = np.zeros((n, n), np.bool_)
    for k in range(n):
        for i in range(k):
            interchangeable = (
                not graph.reach[i, k]
                and not graph.reach[k, i]
                and block.micro_ops[i] == block.micro_ops[k]
                and block.latencies[i] == block.latencies[k]
                and block.choice[i] == block.choice[k]
                and block.choice_cycles[i] == block.choice_cycles[k]
                and block.delays[i, k] == block.delays[k, i]
                and (block.unit_cycles[i] == block.unit_cycles[k]).all()
            )
            for m in range(n):
                if interchangeable and m != i and m != k:
                    interchangeable = (
                        graph.reach[i, m] == graph.reach[k, m]
                        and graph.reach[m, i] == graph.reach[m, k]
                        and block.delays[i, m] == block.delays[k, m]
                        and block.delays[m, i] == block.delays[m, k]
                    )
            twins[i, k] = interchangeable
    return twins


@njit(cache=True, nogil=True)
def _candidates(
    block: Block,
    graph: Graph,
    pipeline: Pipeline,
    t: int,
    remaining: np.ndarray,
    twins: np.ndarray,
    candidates: np.ndarray,
) -> int:
    """Fill `candidates` with the instructions that may take slot t, the most promising first; returns their number."""
    n, count = len(remaining), 0
    starts, tails = np.zeros(n, np.int64), graph.tail
    for i in range(n):
        if not remaining[i]:
            continue
        possible = True
        for k in range(n):
            possible &= not (remaining[k] and (graph.reach[k, i] or twins[k, i]))
        if not possible:
            continue
        starts[i] = issue_cycle(block, pipeline, t, i)
        place = count
        while place > 0 and (starts[i], -tails[i]) < (starts[candidates[place - 1]], -tails[candidates[place - 1]]):
            candidates[place] = candidates[place - 1]
            place -= 1
        candidates[place] = i
        count += 1
    return count


@njit(cache=True, nogil=True)
def _bound(
    block: Block,
    graph: Graph,
    resources: Loads,
    pipeline: Pipeline,
    ready: np.ndarray,
    remaining: np.ndarray,
    topological: np.ndarray,
) -> int:
    """Least cycles of any order with this beginning. ready: (n,) cycle in which the operands are available."""
    n = len(remaining)
    heads = np.zeros(n, np.int64)
    cycle, width = pipeline.clock[CURRENT_CYCLE], block.issue_width
    for k in topological:
        if not remaining[k]:
            continue
        start = cycle + (1 if pipeline.clock[MICRO_OPS_LEFT] < block.micro_ops[k] <= width else 0)
        start = max(start, pipeline.clock[LAST_WRITE_BACK] - block.latencies[k], ready[k])
        for unit in range(len(pipeline.free)):
            if block.unit_cycles[k, unit] > 0:
                start = max(start, pipeline.free[unit])
        for i in range(n):
            if remaining[i] and graph.reach[i, k]:
                start = max(start, heads[i] + graph.distance[i, k])
        heads[k] = start
    return bound(heads, remaining, graph, resources)


@njit(cache=True, nogil=True)
def _visited_before(
    block: Block, pipeline: Pipeline, ready: np.ndarray, remaining: np.ndarray, table: VisitedStates
) -> bool:
    """Whether the table has this state at the same cycle or before; otherwise add it."""
    n, width = len(remaining), block.issue_width
    cycle, micro_ops = pipeline.clock[CURRENT_CYCLE], pipeline.clock[MICRO_OPS_LEFT]
    least_latency, smallest, largest = np.int64(1 << 40), np.int64(1 << 40), np.int64(0)
    for k in range(n):
        if remaining[k]:
            least_latency = min(least_latency, block.latencies[k])
            smallest, largest = min(smallest, block.micro_ops[k]), max(largest, block.micro_ops[k])
    if micro_ops < smallest and largest <= width:  # no further instruction issues in this cycle
        cycle, micro_ops = cycle + 1, width
    first, second = np.uint64(_SEEDS[0]), np.uint64(_SEEDS[1])
    word = np.uint64(0)
    for k in range(n):
        word |= np.uint64(remaining[k]) << np.uint64(k)
    first, second = _mixed(first, second, word)
    first, second = _mixed(first, second, np.uint64(micro_ops))
    first, second = _mixed(first, second, np.uint64(max(pipeline.clock[LAST_WRITE_BACK] - cycle, least_latency)))
    for unit in range(len(pipeline.free)):
        first, second = _mixed(first, second, np.uint64(max(pipeline.free[unit] - cycle, 0)))
    for g in range(len(block.groups)):
        first, second = _mixed(first, second, np.uint64(pipeline.turn[g]))
        first, second = _mixed(first, second, np.uint64(pipeline.skipped[g]))
    for k in range(n):
        if remaining[k]:
            first, second = _mixed(first, second, np.uint64(max(ready[k] - cycle, 0)))
    first |= np.uint64(1)  # 0 marks a free place
    mask = np.uint64(len(table.first_hash) - 1)
    place = second & mask
    while table.first_hash[place]:
        if table.first_hash[place] == first and table.second_hash[place] == second:
            if table.cycle[place] <= cycle:
                return True
            table.cycle[place] = cycle
            return False
        place = (place + np.uint64(1)) & mask
    table.first_hash[place], table.second_hash[place], table.cycle[place] = first, second, cycle
    return False


@njit(cache=True, nogil=True)
def _mixed(first: np.uint64, second: np.uint64, word: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Two hashes with one more word (multiply, xor and shift: Steele, Lea & Flood's SplitMix64)."""
    first = (first ^ word) * np.uint64(0xBF58476D1CE4E5B9)
    first ^= first >> np.uint64(29)
    second = (second + word) * np.uint64(0x94D049BB133111EB)
    second ^= second >> np.uint64(31)
    return first, second
