"""Branch and bound over the legal orders of one block on an in-order processor, slot by slot, depth first.

A beginning of an order is given up

- where its lower bound (bounds.py) is no better than the best order found;
- where another beginning of the same instructions left the pipeline in the same state no later: the processor does
  not know what time it is, so what is relative to the current cycle decides. States are compared by two 64-bit hashes;
- for instructions that could change names (same costs, same dependencies): only the first of them goes first.

All three keep an optimal order (Held & Karp's dominance of equal sets, 1962), so a search that ends proves it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from pipeline.blocks.latency.in_order import CYCLE, LEFT, WRITTEN, Block, Pipeline, end_of, idle, put, reset, start_of
from pipeline.blocks.schedulers.on_machine.bounds import Loads, bound, loads, root_bound
from pipeline.blocks.schedulers.on_machine.graph import Graph

LARGEST = 64  # instructions: a set of them is a word
_SEEDS = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F)


class Seen(NamedTuple):
    """States that were left behind, by open addressing; S is a power of two, at least twice the states to come."""

    first: np.ndarray  # (S,) uint64 hash; 0: free
    second: np.ndarray  # (S,) uint64
    cycle: np.ndarray  # (S,) int64: the earliest so far


def seen(states: int) -> Seen:
    """Room for so many states."""
    size = 1 << (2 * states - 1).bit_length()
    return Seen(np.zeros(size, np.uint64), np.zeros(size, np.uint64), np.zeros(size, np.int64))


@njit(cache=True, nogil=True)
def branch_and_bound(block: Block, graph: Graph, order: np.ndarray, states: int, known: Seen) -> tuple[int, int, int]:
    """Improve order (n,), legal, in place, to an optimal one, looking at so many states at most.

    Returns its cycles, a lower bound on those of any order, equal to them where it is proven optimal, and the states.
    """
    n = len(order)
    asked, floor = loads(block, graph), root_bound(block, graph)
    pipeline = idle(len(block.held[0]), len(block.groups), n)
    reset(block, pipeline)
    for t in range(n):
        put(block, pipeline, t, order[t], start_of(block, pipeline, t, order[t]))
    best = end_of(pipeline)
    if best <= floor:
        return best, floor, 0
    known.first[:] = 0
    twins = _twins(block, graph)
    topological = np.argsort(graph.reach.sum(0))
    free = np.zeros((n + 1, len(pipeline.free)), np.int64)
    turn, skipped = np.zeros((n + 1, len(block.groups)), np.int64), np.zeros((n + 1, len(block.groups)), np.int64)
    clock, ready = np.zeros((n + 1, 3), np.int64), np.zeros((n + 1, n), np.int64)
    left = np.ones(n, np.bool_)
    children, n_children, at = np.zeros((n, n), np.int64), np.zeros(n, np.int64), np.zeros(n, np.int64)
    reset(block, pipeline)
    _save(pipeline, 0, free, turn, skipped, clock)
    n_children[0] = _ready(block, graph, pipeline, 0, left, twins, children[0])
    depth, visited = 0, 0
    while depth >= 0:
        if at[depth] == n_children[depth]:
            depth -= 1
            if depth >= 0:
                left[children[depth, at[depth] - 1]] = True
            continue
        i = children[depth, at[depth]]
        at[depth] += 1
        _restore(pipeline, depth, free, turn, skipped, clock)
        put(block, pipeline, depth, i, start_of(block, pipeline, depth, i))
        visited += 1
        if visited > states:
            return best, floor, visited
        if depth == n - 1:
            if end_of(pipeline) < best:
                best = end_of(pipeline)
                order[:] = pipeline.order
                if best <= floor:
                    return best, floor, visited
            continue
        left[i] = False
        for k in range(n):
            ready[depth + 1, k] = max(ready[depth, k], pipeline.issue[depth] + block.delays[i, k])
        if _bound(block, graph, asked, pipeline, ready[depth + 1], left, topological) >= best or _known(
            block, pipeline, ready[depth + 1], left, known
        ):
            left[i] = True
            continue
        depth += 1
        _save(pipeline, depth, free, turn, skipped, clock)
        n_children[depth] = _ready(block, graph, pipeline, depth, left, twins, children[depth])
        at[depth] = 0
    return best, best, visited


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
    """(n, n) bool: [i, k] where i < k could change names with k."""
    n = len(graph.tail)
    twins = np.zeros((n, n), np.bool_)
    for k in range(n):
        for i in range(k):
            same = (
                not graph.reach[i, k]
                and not graph.reach[k, i]
                and block.micro_ops[i] == block.micro_ops[k]
                and block.latencies[i] == block.latencies[k]
                and block.choice[i] == block.choice[k]
                and block.choice_cycles[i] == block.choice_cycles[k]
                and block.delays[i, k] == block.delays[k, i]
                and (block.held[i] == block.held[k]).all()
            )
            for other in range(n):
                if same and other != i and other != k:
                    same = (
                        graph.reach[i, other] == graph.reach[k, other]
                        and graph.reach[other, i] == graph.reach[other, k]
                        and block.delays[i, other] == block.delays[k, other]
                        and block.delays[other, i] == block.delays[other, k]
                    )
            twins[i, k] = same
    return twins


@njit(cache=True, nogil=True)
def _ready(
    block: Block,
    graph: Graph,
    pipeline: Pipeline,
    t: int,
    left: np.ndarray,
    twins: np.ndarray,
    found: np.ndarray,
) -> int:
    """Fill `found` with the instructions that may come into slot t, the most promising first; returns how many."""
    n, count = len(left), 0
    starts, tails = np.zeros(n, np.int64), graph.tail
    for i in range(n):
        if not left[i]:
            continue
        possible = True
        for k in range(n):
            possible &= not (left[k] and (graph.reach[k, i] or twins[k, i]))
        if not possible:
            continue
        starts[i] = start_of(block, pipeline, t, i)
        place = count
        while place > 0 and (starts[i], -tails[i]) < (starts[found[place - 1]], -tails[found[place - 1]]):
            found[place] = found[place - 1]
            place -= 1
        found[place] = i
        count += 1
    return count


@njit(cache=True, nogil=True)
def _bound(
    block: Block,
    graph: Graph,
    asked: Loads,
    pipeline: Pipeline,
    ready: np.ndarray,
    left: np.ndarray,
    topological: np.ndarray,
) -> int:
    """Cycles that no order with this beginning goes below. ready: (n,) cycle in which the operands are there."""
    n = len(left)
    heads = np.zeros(n, np.int64)
    cycle, width = pipeline.clock[CYCLE], block.issue_width
    for k in topological:
        if not left[k]:
            continue
        start = cycle + (1 if pipeline.clock[LEFT] < block.micro_ops[k] <= width else 0)
        start = max(start, pipeline.clock[WRITTEN] - block.latencies[k], ready[k])
        for unit in range(len(pipeline.free)):
            if block.held[k, unit] > 0:
                start = max(start, pipeline.free[unit])
        for i in range(n):
            if left[i] and graph.reach[i, k]:
                start = max(start, heads[i] + graph.distance[i, k])
        heads[k] = start
    return bound(heads, left, graph, asked)


@njit(cache=True, nogil=True)
def _known(block: Block, pipeline: Pipeline, ready: np.ndarray, left: np.ndarray, known: Seen) -> bool:
    """Whether this state was left behind before, no later; it is now."""
    n, width = len(left), block.issue_width
    cycle, micro_ops = pipeline.clock[CYCLE], pipeline.clock[LEFT]
    quickest, smallest, largest = np.int64(1 << 40), np.int64(1 << 40), np.int64(0)
    for k in range(n):
        if left[k]:
            quickest = min(quickest, block.latencies[k])
            smallest, largest = min(smallest, block.micro_ops[k]), max(largest, block.micro_ops[k])
    if micro_ops < smallest and largest <= width:  # nothing more issues in this cycle
        cycle, micro_ops = cycle + 1, width
    first, second = np.uint64(_SEEDS[0]), np.uint64(_SEEDS[1])
    word = np.uint64(0)
    for k in range(n):
        word |= np.uint64(left[k]) << np.uint64(k)
    first, second = _mixed(first, second, word)
    first, second = _mixed(first, second, np.uint64(micro_ops))
    first, second = _mixed(first, second, np.uint64(max(pipeline.clock[WRITTEN] - cycle, quickest)))
    for unit in range(len(pipeline.free)):
        first, second = _mixed(first, second, np.uint64(max(pipeline.free[unit] - cycle, 0)))
    for g in range(len(block.groups)):
        first, second = _mixed(first, second, np.uint64(pipeline.turn[g]))
        first, second = _mixed(first, second, np.uint64(pipeline.skipped[g]))
    for k in range(n):
        if left[k]:
            first, second = _mixed(first, second, np.uint64(max(ready[k] - cycle, 0)))
    first |= np.uint64(1)  # 0 is a free place
    mask = np.uint64(len(known.first) - 1)
    place = second & mask
    while known.first[place]:
        if known.first[place] == first and known.second[place] == second:
            if known.cycle[place] <= cycle:
                return True
            known.cycle[place] = cycle
            return False
        place = (place + np.uint64(1)) & mask
    known.first[place], known.second[place], known.cycle[place] = first, second, cycle
    return False


@njit(cache=True, nogil=True)
def _mixed(first: np.uint64, second: np.uint64, word: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Two hashes with one more word (multiply, xor and shift: Steele, Lea & Flood's SplitMix64)."""
    first = (first ^ word) * np.uint64(0xBF58476D1CE4E5B9)
    first ^= first >> np.uint64(29)
    second = (second + word) * np.uint64(0x94D049BB133111EB)
    second ^= second >> np.uint64(31)
    return first, second
