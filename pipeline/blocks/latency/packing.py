"""What blocks ask of an out-of-order processor, packed into two arrays: its kernel reads them at no cost."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

LONGEST = 64  # instructions of a block: sets of them are bit sets
REGISTERS = 127  # of a block, at most
LOAD, STORE = 1, 2

# Columns of `Costs.instructions`; behind them the lists of `Facts`, each entry in a column.
MICRO_OPS, LATENCY, UNITS, AT_ONCE, MEMORY, ADVANCE, LISTS = range(7)
# Places of `Costs.machine`; behind them groups, sizes of pools and sizes of buffers.
ISSUE, RETIRE, POOLS, BUFFERS, HELD, CHOICES, SOURCES, TARGETS, GROUPS, SIZES = range(10)
BYTE = 8


class Facts(NamedTuple):
    """What B blocks of n instructions ask of a processor with R units, P pools and Q buffers."""

    micro_ops: np.ndarray  # (B, n) int32
    latencies: np.ndarray  # (B, n) int32 cycles from issue to write-back
    held: np.ndarray  # (B, n, R) int32 cycles for which each unit is held
    choices: np.ndarray  # (B, n, C) int32: groups of units of which any one is held besides; -1: no more
    choice_cycles: np.ndarray  # (B, n, C) int32
    sources: np.ndarray  # (B, n, S) int8: what it reads, numbered within the block; -1: no more
    is_late: np.ndarray  # (B, n, S) bool: it reads it `advances` cycles after its issue
    counts: np.ndarray  # (B, n, S) int8: by how many of its operands
    targets: np.ndarray  # (B, n, T) int8: what it writes; -1: no more
    advances: np.ndarray  # (B, n) int32 cycles
    memory: np.ndarray  # (B, n) int8: 0 | LOAD | STORE (which may load as well)
    kept: np.ndarray  # (B, n, P) int32 entries of pools that it takes from dispatch to retirement
    queued: np.ndarray  # (B, n, Q) int32 entries of buffers that it takes from dispatch to issue


class Costs(NamedTuple):
    """The same as two arrays, which functions compiled by numba hand on at no cost: one row per instruction."""

    instructions: np.ndarray  # (B, n, F) int64
    machine: np.ndarray  # (M,) int64


class Block(NamedTuple):
    """One block: a row of Costs."""

    instructions: np.ndarray  # (n, F) int64
    machine: np.ndarray  # (M,) int64


def pack(
    facts: Facts, groups: np.ndarray, pools: np.ndarray, buffers: np.ndarray, issue_width: int, retire_width: int
) -> Costs:
    """Costs of blocks on a processor.

    groups: (G,) int64 bit sets of units; pools: (P,), buffers: (Q,) int sizes; issue_width: micro-ops dispatched per
    cycle; retire_width: instructions retired per cycle. Raises ValueError for n > LONGEST.
    """
    n, n_units = facts.held.shape[1:]
    if n > LONGEST:
        raise ValueError(f"blocks of {n} instructions; at most {LONGEST} fit")
    units = ((facts.held > 0).astype(np.int64) << np.arange(n_units)).sum(2)
    order = np.argsort(facts.held == 0, axis=2, kind="stable")[
        ..., : max(1, int((facts.held > 0).sum(2).max(initial=0)))
    ]
    cycles = np.take_along_axis(facts.held, order, 2).astype(np.int64)
    lists = [
        np.where(cycles > 0, order + 1 | cycles << BYTE, 0),
        np.where(facts.choices >= 0, facts.choices + 1 | facts.choice_cycles.astype(np.int64) << BYTE, 0),
        np.where(
            facts.sources >= 0,
            facts.sources + 1 | (facts.is_late.astype(np.int64) | facts.counts.astype(np.int64) << 1) << BYTE,
            0,
        ),
        facts.targets + 1,
    ]
    at_once = (facts.latencies == 0) & (units == 0) & (facts.choices[..., 0] < 0)
    single = (facts.micro_ops, facts.latencies, units, at_once, facts.memory, facts.advances)
    columns = [np.stack([part.astype(np.int64) for part in single], 2), facts.kept, facts.queued, *lists]
    widths = [len(pools), len(buffers), *(part.shape[2] for part in lists), len(groups)]
    return Costs(
        np.ascontiguousarray(np.concatenate([part.astype(np.int64) for part in columns], 2)),
        np.concatenate([[issue_width, retire_width, *widths], groups, pools, buffers]).astype(np.int64),
    )
