"""What a network may know of a block beyond its single instructions: where each stands in the DAG, how two relate.

Everything is a category, so that an embedding or a bias can be learned for each; numbers are capped. Nothing
depends on the order in which the instructions are shown.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from pipeline.blocks.dag.dependencies import Kind
from pipeline.blocks.problems.instructions import NO_ADDRESS, RIP_ADDRESS
from pipeline.blocks.problems.problems import Problems

# Of an instruction: name -> number of categories, the last one for all that is greater.
NODE = {
    "depth": 25,  # cycles, longest path from the block's start
    "height": 25,  # cycles, longest path to its end
    "ancestors": 33,
    "descendants": 33,
    "conflicts_before": 13,  # direct ones
    "conflicts_after": 13,
    "block_length": 65,
    "latency": 25,  # cycles, nominal (dag/latencies.py)
}
# Of an ordered pair (i, k).
PAIR = {
    "conflict": 512,  # kinds of the direct conflict where i comes first
    "conflict_back": 512,  # ... where k does
    "path": 6,  # see _PATH
    "address": 26,  # see _address
    "same": 64,  # see _same
}
_NODE_SIZES = np.array(list(NODE.values()), np.int64)
_NODE_STARTS = np.cumsum(_NODE_SIZES) - _NODE_SIZES
_PAIR_SIZES = np.array(list(PAIR.values()), np.int64)
_PAIR_STARTS = np.cumsum(_PAIR_SIZES) - _PAIR_SIZES
ADDRESS_START, SAME_START = (int(_PAIR_STARTS[list(PAIR).index(name)]) for name in ("address", "same"))
N_NODE, N_PAIR = int(_NODE_SIZES.sum()), int(_PAIR_SIZES.sum())
_INDEPENDENT, _IMPLIED, _EDGE, _IMPLIED_BACK, _EDGE_BACK, _ITSELF = range(6)  # of `path`
_FLOW = int(Kind.REGISTER_RAW | Kind.FLAG_RAW | Kind.MEMORY_RAW)
_OUTPUT = int(Kind.REGISTER_WAW | Kind.FLAG_WAW | Kind.MEMORY_WAW)


class Relations(NamedTuple):
    """Categories of B blocks of n instructions, all features numbered through."""

    nodes: np.ndarray  # (B, n, 8) int64 in 0..N_NODE, columns NODE
    pairs: np.ndarray  # (B, n, n, 5) int64 in 0..N_PAIR, columns PAIR
    heights: np.ndarray  # (B, n) int64 cycles


def relations(problems: Problems, compared: np.ndarray) -> Relations:
    """Relations of the instructions of each block, shown in a legal order.

    compared: (U, 7) of `instructions.Encodings`.
    """
    size, n = problems.instructions.shape
    nodes = np.zeros((size, n, len(NODE)), np.int64)
    pairs = np.zeros((size, n, n, len(PAIR)), np.int64)
    heights = np.zeros((size, n), np.int64)
    _relate(
        *(problems.precedes, problems.conflicts, problems.latencies, problems.instructions, compared),
        *(nodes, pairs, heights),
    )
    np.minimum(nodes, _NODE_SIZES - 1, out=nodes)
    nodes += _NODE_STARTS
    pairs += _PAIR_STARTS
    return Relations(nodes, pairs, heights)


@njit(cache=True, nogil=True)
def delay(kinds: int, latency: int) -> int:
    """Cycles from an instruction's issue to that of one in conflict with it: only a result has to be waited for."""
    if kinds & _FLOW:
        return latency
    return 1 if kinds & _OUTPUT else 0


@njit(cache=True, nogil=True)
def _address(compared: np.ndarray, i: int, k: int) -> int:
    """How k's memory operand lies to i's: 0 one has none, 1 both rip-relative, 2 other registers, 3 the same place,
    4 right below, 5 right above, else by power of two of the distance."""
    if compared[i, 1] == NO_ADDRESS or compared[k, 1] == NO_ADDRESS:
        return 0
    if compared[i, 1] != compared[k, 1]:
        return 2
    if compared[i, 1] == RIP_ADDRESS:
        return 1
    distance = compared[k, 2] - compared[i, 2]
    if distance == 0:
        return 3
    above = 1 if distance > 0 else 0
    if distance == compared[i, 3] or -distance == compared[k, 3]:
        return 4 + above
    power, rest = 0, abs(distance)
    while rest > 1 and power < 9:
        rest >>= 1
        power += 1
    return 6 + 2 * power + above


@njit(cache=True, nogil=True)
def _same(compared: np.ndarray, i: int, k: int) -> int:
    """0 another opcode, 1 the same with an equal constant, 2 a greater one in k, 3 a smaller one;
    plus a bit for each pairing of operands 0 and 1 that is the same register."""
    found = 0
    if compared[i, 0] == compared[k, 0]:
        found = 1
        if compared[k, 4] > compared[i, 4]:
            found = 2
        elif compared[k, 4] < compared[i, 4]:
            found = 3
    bit = 4
    for one in (5, 6):
        for other in (5, 6):
            if compared[i, one] > 0 and compared[i, one] == compared[k, other]:
                found += bit
            bit *= 2
    return found


@njit(cache=True, nogil=True)
def _relate(
    precedes: np.ndarray,
    conflicts: np.ndarray,
    latencies: np.ndarray,
    instructions: np.ndarray,
    compared: np.ndarray,
    nodes: np.ndarray,
    pairs: np.ndarray,
    heights: np.ndarray,
) -> None:
    size, n = instructions.shape
    reach = np.empty((n, n), np.bool_)
    for b in range(size):
        reach[:] = False
        for i in range(n - 1, -1, -1):  # shown in a legal order: successors are done
            for k in range(i + 1, n):
                if conflicts[b, i, k]:
                    nodes[b, i, 5] += 1
                    nodes[b, k, 4] += 1
                    heights[b, i] = max(heights[b, i], heights[b, k] + delay(conflicts[b, i, k], latencies[b, i]))
                    reach[i, k] = True
                    for m in range(k + 1, n):
                        reach[i, m] |= reach[k, m]
            nodes[b, i, 1] = heights[b, i]
        for k in range(n):
            nodes[b, k, 6] = n
            nodes[b, k, 7] = latencies[b, k]
            for i in range(k):
                if conflicts[b, i, k]:
                    nodes[b, k, 0] = max(nodes[b, k, 0], nodes[b, i, 0] + delay(conflicts[b, i, k], latencies[b, i]))
                nodes[b, i, 3] += reach[i, k]
                nodes[b, k, 2] += reach[i, k]
        for i in range(n):
            for k in range(n):
                pairs[b, i, k, 0] = conflicts[b, i, k]
                pairs[b, i, k, 1] = conflicts[b, k, i]
                path = _INDEPENDENT
                if i == k:
                    path = _ITSELF
                elif reach[i, k]:
                    path = _EDGE if precedes[b, i, k] else _IMPLIED
                elif reach[k, i]:
                    path = _EDGE_BACK if precedes[b, k, i] else _IMPLIED_BACK
                pairs[b, i, k, 2] = path
                pairs[b, i, k, 3] = _address(compared, instructions[b, i], instructions[b, k])
                pairs[b, i, k, 4] = _same(compared, instructions[b, i], instructions[b, k])


def independent(related: Relations) -> np.ndarray:
    """Pairs that no dependency orders, (B, n, n) bool."""
    found: np.ndarray = related.pairs[..., 2] == _PAIR_STARTS[2] + _INDEPENDENT
    return found
