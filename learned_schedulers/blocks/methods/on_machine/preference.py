"""A preference for one of the ready instructions, linear in a few of its features, on an in-order processor."""

from __future__ import annotations

import math
from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numba import njit

from learned_schedulers.blocks.methods.on_machine.graph import Graph, graph
from learned_schedulers.blocks.processors.in_order import (
    CURRENT_CYCLE,
    LAST_WRITE_BACK,
    MICRO_OPS_LEFT,
    Block,
    Costs,
    Pipeline,
    block_of,
    issue_cycle,
    issue_instruction,
    new_pipeline,
    reset,
)
from learned_schedulers.kernel_arrays import ZERO


class Feature(IntEnum):
    """Columns of the features of a ready instruction. Numbers of cycles are logarithms, log(1 + cycles)."""

    WAIT = 0  # cycles until it can issue
    TAIL = 1  # cycles from its issue to the end of all that must follow it
    LATENCY = 2  # cycles
    WRITE_BACK = 3  # cycles by which it delays the last write-back
    HELD_BACK = 4  # most cycles by which another ready instruction would have to wait for its write-back
    FREED = 5  # instructions that become ready
    FOLLOWERS = 6  # instructions that must follow it
    DEPTH = 7  # instructions that must precede it
    MICRO_OPS = 8
    FILLS = 9  # 1 if no further micro-op fits into its cycle
    UNITS = 10  # units that it always occupies
    FREE_UNITS = 11  # units that are free when it issues
    LONG_HELD = 12  # most cycles for which it occupies a unit
    WAITING_UNITS = 13  # ready instructions that need a unit which it always occupies


FEATURES = tuple(feature.name.lower() for feature in Feature)  # names in files of weights


class Ready(NamedTuple):
    """A beginning of an order of one block of n instructions."""

    pipeline: Pipeline
    waiting: np.ndarray  # (n,) int64: direct predecessors that have not issued; -1: it has issued itself


@njit(cache=True, nogil=True)
def clear(block: Block, precedes: np.ndarray, state: Ready) -> None:
    """Set `state` to an empty order."""
    reset(block, state.pipeline)
    state.waiting[:] = precedes.sum(0)


@njit(cache=True, nogil=True)
def append(block: Block, precedes: np.ndarray, state: Ready, t: int, i: int) -> None:
    """Issue instruction i in slot t."""
    issue_instruction(block, state.pipeline, t, i, issue_cycle(block, state.pipeline, t, i))
    state.waiting[i] = -1
    for k in range(len(precedes)):
        state.waiting[k] -= precedes[i, k]


@njit(cache=True, nogil=True)
def fill_features(
    block: Block,
    graph: Graph,
    precedes: np.ndarray,
    state: Ready,
    t: int,
    starts: np.ndarray,
    i: int,
    features: np.ndarray,
) -> None:
    """Fill features (F,) of ready instruction i for slot t. starts: (n,) cycles of issue of the ready instructions."""
    pipeline, n, start = state.pipeline, len(precedes), starts[i]
    end = start + block.latencies[i]
    held_back, waiting_units, freed, followers, depth = 0, 0, 0, 0, 0
    for k in range(n):
        followers += graph.reach[i, k]
        depth += graph.reach[k, i]
        freed += precedes[i, k] and state.waiting[k] == 1
        if k != i and state.waiting[k] == 0:
            held_back = max(held_back, end - block.latencies[k] - starts[k])
            for unit in range(len(pipeline.free)):
                if block.unit_cycles[i, unit] > 0 and block.unit_cycles[k, unit] > 0:
                    waiting_units += 1
                    break
    units, free_units, long_held = 0, 0, np.int64(block.choice_cycles[i])
    for unit in range(len(pipeline.free)):
        units += block.unit_cycles[i, unit] > 0
        free_units += pipeline.free[unit] <= start
        long_held = max(long_held, np.int64(block.unit_cycles[i, unit]))
    room = block.issue_width if start > pipeline.clock[CURRENT_CYCLE] else pipeline.clock[MICRO_OPS_LEFT]
    # Logarithms of cycles, because a division takes a hundred times as long as an addition.
    features[Feature.WAIT] = math.log1p(start - pipeline.clock[CURRENT_CYCLE])
    features[Feature.TAIL] = math.log1p(graph.tail[i])
    features[Feature.LATENCY] = math.log1p(block.latencies[i])
    features[Feature.WRITE_BACK] = math.log1p(max(0, end - pipeline.clock[LAST_WRITE_BACK]))
    features[Feature.HELD_BACK] = math.log1p(held_back)
    features[Feature.FREED] = freed
    features[Feature.FOLLOWERS] = followers
    features[Feature.DEPTH] = depth
    features[Feature.MICRO_OPS] = block.micro_ops[i]
    features[Feature.FILLS] = block.micro_ops[i] >= room
    features[Feature.UNITS] = units
    features[Feature.FREE_UNITS] = free_units
    features[Feature.LONG_HELD] = math.log1p(long_held)
    features[Feature.WAITING_UNITS] = waiting_units


@njit(cache=True, nogil=True)
def preferred(
    block: Block,
    graph: Graph,
    precedes: np.ndarray,
    state: Ready,
    t: int,
    weights: np.ndarray,
    starts: np.ndarray,
    features: np.ndarray,
) -> int:
    """The ready instruction of highest preference for slot t by weights (F,); of equal ones, the one shown first.

    It overwrites starts (n,) and features (F,).
    """
    n, chosen, best = len(precedes), -1, -np.inf
    for i in range(n):
        if state.waiting[i] == 0:
            starts[i] = issue_cycle(block, state.pipeline, t, i)
    for i in range(n):
        if state.waiting[i] == 0:
            fill_features(block, graph, precedes, state, t, starts, i, features)
            value = (weights * features).sum()
            if value > best:
                chosen, best = i, value
    return chosen


@njit(cache=True, nogil=True)
def complete(
    block: Block,
    graph: Graph,
    precedes: np.ndarray,
    state: Ready,
    t: int,
    weights: np.ndarray,
    randomness: float,
    rng: np.random.Generator,
    starts: np.ndarray,
    features: np.ndarray,
) -> None:
    """Fill the slots from t on by preference, or with probability `randomness` at random."""
    n = len(precedes)
    for slot in range(t, n):
        i = -1
        if randomness > 0 and rng.random() < randomness:
            count = 0
            for k in range(n):
                if state.waiting[k] == 0:
                    count += 1
                    if rng.random() * count < 1:  # all ready instructions have the same probability
                        i = k
        else:
            i = preferred(block, graph, precedes, state, slot, weights, starts, features)
        append(block, precedes, state, slot, i)


def greedy(costs: Costs, precedes: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The greedy orders (B, n) int16 by weights (F,) of the FEATURES. precedes: (B, n, n) bool."""
    order = np.empty(precedes.shape[:2], np.int16)
    _greedy(costs, np.ascontiguousarray(precedes), weights, np.random.default_rng(0), order)
    return order


@njit(cache=True, nogil=True)
def _greedy(
    costs: Costs, precedes: np.ndarray, weights: np.ndarray, unused: np.random.Generator, order: np.ndarray
) -> None:
    size, n = order.shape
    state = Ready(new_pipeline(costs.unit_cycles.shape[2], len(costs.groups), n), np.zeros(n, np.int64))
    starts, features = np.zeros(n, np.int64), np.zeros(len(weights))
    for b in range(size):
        block = block_of(costs, b)
        clear(block, precedes[b], state)
        complete(block, graph(block, precedes[b]), precedes[b], state, ZERO, weights, 0.0, unused, starts, features)
        order[b] = state.pipeline.order
