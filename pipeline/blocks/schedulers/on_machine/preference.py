"""A preference for one of the ready instructions, linear in a few features of it, on an in-order processor."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from pipeline.blocks.latency.in_order import CYCLE, LEFT, WRITTEN, Block, Costs, Pipeline, idle, put, reset, start_of
from pipeline.blocks.schedulers.on_machine.graph import Graph, block_of, graph

FEATURES = (
    "wait",  # cycles until it can issue
    "tail",  # cycles from its issue to the end of all that must follow
    "latency",
    "write_back",  # cycles by which it puts off the last write-back
    "held_back",  # the most cycles by which another ready instruction would have to wait for its write-back
    "freed",  # instructions that become ready
    "followers",  # instructions that must follow
    "depth",  # instructions that must come before
    "micro_ops",
    "fills",  # whether it leaves no micro-op of its cycle
    "units",  # units that it holds for certain
    "free_units",  # units that are free when it issues
    "long_held",  # the most cycles for which it holds a unit
    "waiting_units",  # ready instructions that want a unit which it holds for certain
)


class Ready(NamedTuple):
    """A beginning of an order of one block of n instructions."""

    pipeline: Pipeline
    waiting: np.ndarray  # (n,) int64: direct predecessors not issued yet; -1: issued itself


@njit(cache=True, nogil=True)
def begin(block: Block, precedes: np.ndarray, state: Ready) -> None:
    """Nothing has issued."""
    reset(block, state.pipeline)
    state.waiting[:] = precedes.sum(0)


@njit(cache=True, nogil=True)
def go_on(block: Block, precedes: np.ndarray, state: Ready, t: int, i: int) -> None:
    """Issue instruction i in slot t."""
    put(block, state.pipeline, t, i, start_of(block, state.pipeline, t, i))
    state.waiting[i] = -1
    for k in range(len(precedes)):
        state.waiting[k] -= precedes[i, k]


@njit(cache=True, nogil=True)
def describe(
    block: Block,
    graph: Graph,
    precedes: np.ndarray,
    state: Ready,
    t: int,
    starts: np.ndarray,
    i: int,
    found: np.ndarray,
) -> None:
    """Fill found (F,) with the FEATURES of ready instruction i for slot t; starts: (n,) cycles of the ready ones."""
    pipeline, n, start = state.pipeline, len(precedes), starts[i]
    done = start + block.latencies[i]
    held_back, waiting_units, freed, followers, depth = 0, 0, 0, 0, 0
    for k in range(n):
        followers += graph.reach[i, k]
        depth += graph.reach[k, i]
        freed += precedes[i, k] and state.waiting[k] == 1
        if k != i and state.waiting[k] == 0:
            held_back = max(held_back, done - block.latencies[k] - starts[k])
            for unit in range(len(pipeline.free)):
                if block.held[i, unit] > 0 and block.held[k, unit] > 0:
                    waiting_units += 1
                    break
    units, free_units, long_held = 0, 0, np.int64(block.choice_cycles[i])
    for unit in range(len(pipeline.free)):
        units += block.held[i, unit] > 0
        free_units += pipeline.free[unit] <= start
        long_held = max(long_held, np.int64(block.held[i, unit]))
    left = block.issue_width if start > pipeline.clock[CYCLE] else pipeline.clock[LEFT]
    # Of cycles the logarithm: a division takes a hundred times as long as an addition.
    found[0] = math.log1p(start - pipeline.clock[CYCLE])
    found[1] = math.log1p(graph.tail[i])
    found[2] = math.log1p(block.latencies[i])
    found[3] = math.log1p(max(0, done - pipeline.clock[WRITTEN]))
    found[4] = math.log1p(held_back)
    found[5] = freed
    found[6] = followers
    found[7] = depth
    found[8] = block.micro_ops[i]
    found[9] = block.micro_ops[i] >= left
    found[10] = units
    found[11] = free_units
    found[12] = math.log1p(long_held)
    found[13] = waiting_units


@njit(cache=True, nogil=True)
def preferred(
    block: Block,
    graph: Graph,
    precedes: np.ndarray,
    state: Ready,
    t: int,
    weights: np.ndarray,
    starts: np.ndarray,
    found: np.ndarray,
) -> int:
    """The ready instruction that the weights (F,) like best for slot t; of equals the one shown first.

    starts (n,) and found (F,) are written.
    """
    n, chosen, best = len(precedes), -1, -np.inf
    for i in range(n):
        if state.waiting[i] == 0:
            starts[i] = start_of(block, state.pipeline, t, i)
    for i in range(n):
        if state.waiting[i] == 0:
            describe(block, graph, precedes, state, t, starts, i, found)
            value = (weights * found).sum()
            if value > best:
                chosen, best = i, value
    return chosen


@njit(cache=True, nogil=True)
def finish(
    block: Block,
    graph: Graph,
    precedes: np.ndarray,
    state: Ready,
    t: int,
    weights: np.ndarray,
    randomness: float,
    rng: np.random.Generator,
    starts: np.ndarray,
    found: np.ndarray,
) -> None:
    """Fill the slots from t on by preference, each with this probability at random."""
    n = len(precedes)
    for slot in range(t, n):
        i = -1
        if randomness > 0 and rng.random() < randomness:
            count = 0
            for k in range(n):
                if state.waiting[k] == 0:
                    count += 1
                    if rng.random() * count < 1:  # each of the ready ones is kept with the same probability
                        i = k
        else:
            i = preferred(block, graph, precedes, state, slot, weights, starts, found)
        go_on(block, precedes, state, slot, i)


def greedy(costs: Costs, precedes: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The orders (B, n) int16 that weights (F,) of the FEATURES prefer; precedes: (B, n, n) bool."""
    order = np.empty(precedes.shape[:2], np.int16)
    _greedy(costs, np.ascontiguousarray(precedes), weights, np.random.default_rng(0), order)
    return order


@njit(cache=True, nogil=True)
def _greedy(
    costs: Costs, precedes: np.ndarray, weights: np.ndarray, unused: np.random.Generator, order: np.ndarray
) -> None:
    size, n = order.shape
    state = Ready(idle(costs.held.shape[2], len(costs.groups), n), np.zeros(n, np.int64))
    starts, found = np.zeros(n, np.int64), np.zeros(len(weights))
    for b in range(size):
        block = block_of(costs, b)
        begin(block, precedes[b], state)
        finish(block, graph(block, precedes[b]), precedes[b], state, 0, weights, 0.0, unused, starts, found)
        order[b] = state.pipeline.order
