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

Deviations from llvm-mca (benchmarks/machine_agreement.py measures what they cost): every result of an instruction
comes after its full latency; fences do not hold back loads and stores; no instruction may write back out of order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from pipeline.latency.units import choose, took


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
    wrong = _simulate(costs, np.ascontiguousarray(orders), issue, makespan, scratch(costs))
    if wrong >= 0:
        raise ValueError(f"block {wrong} has an order that is no permutation of its instructions")
    return Timing(issue, makespan)


def scratch(costs: Costs) -> np.ndarray:
    """Working memory of `cycles`."""
    return np.empty(costs.held.shape[2] + 2 * len(costs.groups), np.int64)


@njit(cache=True, nogil=True)
def _simulate(costs: Costs, orders: np.ndarray, issue: np.ndarray, makespan: np.ndarray, memory: np.ndarray) -> int:
    """Fill issue and makespan. Returns -1, or the first block with an order that is no permutation."""
    size, n_orders, n = orders.shape
    seen = np.empty(n, np.bool_)
    for b in range(size):
        for k in range(n_orders):
            seen[:] = False
            for i in orders[b, k]:
                if i < 0 or i >= n or seen[i]:
                    return b
                seen[i] = True
            makespan[b, k] = cycles(costs, b, orders[b, k], issue[b, k], memory)
    return -1


@njit(cache=True, nogil=True)
def cycles(costs: Costs, b: int, order: np.ndarray, issue: np.ndarray, memory: np.ndarray) -> int:
    """Makespan of one order (n,), a permutation, of block b; for searches compiled by numba.

    issue: (n,) int, filled; memory: of `scratch`. Nothing is allocated.
    """
    latencies, held, delays, groups = costs.latencies[b], costs.held[b], costs.delays[b], costs.groups
    n_units, n_groups = held.shape[1], len(groups)
    free = memory[:n_units]  # cycle from which each unit is free
    turn, skipped = memory[n_units : n_units + n_groups], memory[n_units + n_groups : n_units + 2 * n_groups]
    free[:] = 0
    turn[:] = groups
    skipped[:] = 0
    cycle, left = 0, costs.issue_width  # the current cycle, and micro-ops that it still issues
    written = 0  # cycle of the last write-back
    for t in range(len(order)):
        i = order[t]
        wanted = costs.micro_ops[b, i]
        start = cycle
        if left < wanted <= costs.issue_width:
            start += 1
        start = max(start, written - latencies[i])
        for unit in range(n_units):
            if held[i, unit] > 0:
                start = max(start, free[unit])
        group = costs.choice[b, i]
        if group >= 0:
            start = max(start, _first_free(free, groups[group], held[i]))
        for s in range(t - 1, -1, -1):
            # Write-backs are in order: the results of all that came before this one are there as well.
            if issue[s] + latencies[order[s]] <= start:
                break
            start = max(start, issue[s] + delays[order[s], i])
        if start > cycle:
            cycle, left = start, costs.issue_width
        issue[t] = cycle
        written = max(written, cycle + latencies[i])
        for unit in range(n_units):
            if held[i, unit] > 0:
                free[unit] = cycle + held[i, unit]
                took(unit, groups, turn, skipped)
        if group >= 0:
            ready = 0
            for unit in range(n_units):
                ready |= (free[unit] <= cycle) << unit
            unit = choose(group, ready, groups, turn, skipped)
            free[unit] = cycle + costs.choice_cycles[b, i]
            took(unit, groups, turn, skipped)
        if wanted <= left:
            left -= wanted
        else:
            rest = wanted - left
            more = (rest + costs.issue_width - 1) // costs.issue_width
            cycle += more
            left = more * costs.issue_width - rest
    return max(written, cycle) + 1


@njit(cache=True, nogil=True)
def _first_free(free: np.ndarray, members: int, held: np.ndarray) -> int:
    """First cycle in which a unit of a group is free."""
    first = np.iinfo(np.int64).max
    for unit in range(len(free)):
        if members >> unit & 1 and held[unit] == 0:
            first = min(first, free[unit])
    return first
