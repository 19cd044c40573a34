"""What a network may know of a block beyond its single instructions: their places in the DAG, and relations of pairs.

Every feature is a category, so that a network can learn an embedding or a bias for it; numbers are capped. No feature
depends on the order in which the instructions are shown.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from learned_schedulers.blocks.dag.dependencies import Kind
from learned_schedulers.blocks.problems.instructions import (
    ACCESS_BYTES,
    ADDRESS,
    DISPLACEMENT,
    FIRST_REGISTER,
    IMMEDIATE,
    NO_ADDRESS,
    OPCODE,
    RIP_ADDRESS,
    SECOND_REGISTER,
)
from learned_schedulers.blocks.problems.problems import Problems
from learned_schedulers.kernel_arrays import read_only

# Features of an instruction: name -> number of categories; the last one includes all greater numbers.
NODE = {
    "depth": 25,  # cycles, longest path from the start of the block
    "height": 25,  # cycles, longest path to the end of the block
    "ancestors": 33,
    "descendants": 33,
    "conflicts_before": 13,  # direct conflicts with earlier instructions
    "conflicts_after": 13,
    "block_length": 65,
    "latency": 25,  # cycles, nominal (dag/latencies.py)
}
_DEPTH, _HEIGHT, _ANCESTORS, _DESCENDANTS, _CONFLICTS_BEFORE, _CONFLICTS_AFTER, _BLOCK_LENGTH, _LATENCY = range(
    len(NODE)
)
# Features of an ordered pair (i, k).
PAIR = {
    "conflict": 512,  # kinds of the direct conflict, if i comes first
    "conflict_back": 512,  # kinds of the direct conflict, if k comes first
    "path": 6,  # _INDEPENDENT to _ITSELF
    "address": 26,  # see address_category
    "same": 64,  # see same_category
}
_CONFLICT, _CONFLICT_BACK, _PATH, _ADDRESS, _SAME = range(len(PAIR))
_NODE_SIZES = np.array(list(NODE.values()), np.int64)
_NODE_STARTS = np.cumsum(_NODE_SIZES) - _NODE_SIZES
_PAIR_SIZES = np.array(list(PAIR.values()), np.int64)
_PAIR_STARTS = np.cumsum(_PAIR_SIZES) - _PAIR_SIZES
ADDRESS_START, SAME_START = int(_PAIR_STARTS[_ADDRESS]), int(_PAIR_STARTS[_SAME])
N_NODE, N_PAIR = int(_NODE_SIZES.sum()), int(_PAIR_SIZES.sum())
_INDEPENDENT, _IMPLIED, _EDGE, _IMPLIED_BACK, _EDGE_BACK, _ITSELF = range(6)  # categories of `path`
_FLOW = int(Kind.REGISTER_RAW | Kind.FLAG_RAW | Kind.MEMORY_RAW)
_OUTPUT = int(Kind.REGISTER_WAW | Kind.FLAG_WAW | Kind.MEMORY_WAW)


class Relations(NamedTuple):
    """Categories of B blocks of n instructions. The categories of all features have distinct numbers."""

    nodes: np.ndarray  # (B, n, 8) int64, less than N_NODE, columns NODE
    pairs: np.ndarray  # (B, n, n, 5) int64, less than N_PAIR, columns PAIR
    heights: np.ndarray  # (B, n) int64 cycles


def relations(problems: Problems, compared: np.ndarray) -> Relations:
    """Relations of the instructions of each block, shown in a legal order.

    compared: (U, 7), `Encodings.compared`.
    """
    size, n = problems.instructions.shape
    related = Relations(
        nodes=np.zeros((size, n, len(NODE)), np.int64),
        pairs=np.zeros((size, n, n, len(PAIR)), np.int64),
        heights=np.zeros((size, n), np.int64),
    )
    shown = (problems.precedes, problems.conflicts, problems.latencies, problems.instructions, compared)
    _relate(*read_only(shown), related)
    np.minimum(related.nodes, _NODE_SIZES - 1, out=related.nodes)
    np.add(related.nodes, _NODE_STARTS, out=related.nodes)
    np.add(related.pairs, _PAIR_STARTS, out=related.pairs)
    return related


@njit(cache=True, nogil=True)
def delay(kinds: int, latency: int) -> int:
    """Cycles from the issue of an instruction to that of a conflicting one: only a result has to be waited for."""
    if kinds & _FLOW:
        return latency
    return 1 if kinds & _OUTPUT else 0


@njit(cache=True, nogil=True)
def address_category(compared: np.ndarray, i: int, k: int) -> int:
    """Position of k's memory operand relative to that of i.

    0: one of them has none; 1: both are rip-relative; 2: their registers differ; 3: the same place; 4: directly below;
    5: directly above; from 6 on: by the power of two of the distance, even numbers below, odd ones above.
    """
    if compared[i, ADDRESS] == NO_ADDRESS or compared[k, ADDRESS] == NO_ADDRESS:
        return 0
    if compared[i, ADDRESS] != compared[k, ADDRESS]:
        return 2
    if compared[i, ADDRESS] == RIP_ADDRESS:
        return 1
    distance = compared[k, DISPLACEMENT] - compared[i, DISPLACEMENT]
    if distance == 0:
        return 3
    above = 1 if distance > 0 else 0
    if distance == compared[i, ACCESS_BYTES] or -distance == compared[k, ACCESS_BYTES]:
        return 4 + above
    power, rest = 0, abs(distance)
    while rest > 1 and power < 9:
        rest >>= 1
        power += 1
    return 6 + 2 * power + above


@njit(cache=True, nogil=True)
def same_category(compared: np.ndarray, i: int, k: int) -> int:
    """What i and k have in common.

    0: different opcodes; 1: the same opcode and constant; 2: the same opcode, a greater constant in k; 3: a smaller
    one. Plus one bit for each pair of operands 0 and 1 of i and of k that are the same register.
    """
    category = 0
    if compared[i, OPCODE] == compared[k, OPCODE]:
        category = 1
        if compared[k, IMMEDIATE] > compared[i, IMMEDIATE]:
            category = 2
        elif compared[k, IMMEDIATE] < compared[i, IMMEDIATE]:
            category = 3
    bit = 4
    for column_i in (FIRST_REGISTER, SECOND_REGISTER):
        for column_k in (FIRST_REGISTER, SECOND_REGISTER):
            if compared[i, column_i] > 0 and compared[i, column_i] == compared[k, column_k]:
                category += bit
            bit *= 2
    return category


@njit(cache=True, nogil=True)
def _relate(
    precedes: np.ndarray,
    conflicts: np.ndarray,
    latencies: np.ndarray,
    instructions: np.ndarray,
    compared: np.ndarray,
    related: Relations,
) -> None:
    """Fill `related`; categories of each feature start at 0, numbers are not capped."""
    nodes, pairs, heights = related.nodes, related.pairs, related.heights
    size, n = instructions.shape
    reach = np.empty((n, n), np.bool_)
    for b in range(size):
        reach[:] = False
        for i in range(n - 1, -1, -1):  # the order is legal: all successors are complete
            for k in range(i + 1, n):
                if conflicts[b, i, k]:
                    nodes[b, i, _CONFLICTS_AFTER] += 1
                    nodes[b, k, _CONFLICTS_BEFORE] += 1
                    heights[b, i] = max(heights[b, i], heights[b, k] + delay(conflicts[b, i, k], latencies[b, i]))
                    reach[i, k] = True
                    for m in range(k + 1, n):
                        reach[i, m] |= reach[k, m]
            nodes[b, i, _HEIGHT] = heights[b, i]
        for k in range(n):
            nodes[b, k, _BLOCK_LENGTH] = n
            nodes[b, k, _LATENCY] = latencies[b, k]
            for i in range(k):
                if conflicts[b, i, k]:
                    nodes[b, k, _DEPTH] = max(
                        nodes[b, k, _DEPTH], nodes[b, i, _DEPTH] + delay(conflicts[b, i, k], latencies[b, i])
                    )
                nodes[b, i, _DESCENDANTS] += reach[i, k]
                nodes[b, k, _ANCESTORS] += reach[i, k]
        for i in range(n):
            for k in range(n):
                pairs[b, i, k, _CONFLICT] = conflicts[b, i, k]
                pairs[b, i, k, _CONFLICT_BACK] = conflicts[b, k, i]
                path = _INDEPENDENT
                if i == k:
                    path = _ITSELF
                elif reach[i, k]:
                    path = _EDGE if precedes[b, i, k] else _IMPLIED
                elif reach[k, i]:
                    path = _EDGE_BACK if precedes[b, k, i] else _IMPLIED_BACK
                pairs[b, i, k, _PATH] = path
                pairs[b, i, k, _ADDRESS] = address_category(compared, instructions[b, i], instructions[b, k])
                pairs[b, i, k, _SAME] = same_category(compared, instructions[b, i], instructions[b, k])


def independent(related: Relations) -> np.ndarray:
    """Pairs that no dependency orders, directly or not; (B, n, n) bool."""
    pairs: np.ndarray = related.pairs[..., _PATH] == _PAIR_STARTS[_PATH] + _INDEPENDENT
    return pairs
