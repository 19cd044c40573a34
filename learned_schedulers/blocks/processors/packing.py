"""What blocks need of an out-of-order processor, packed into two arrays for its kernel."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

LONGEST = 64  # instructions of a block: a set of them fits into one word
REGISTERS = 127  # of a block, at most
LOAD, STORE = 1, 2

# Columns of `Costs.instructions`. From FIRST_LIST on follow the entries of pools and of buffers, and four lists:
# occupied units, choices, sources, targets; one entry a column. An entry is 0 for none; else its low byte is its number
# + 1, and from bit BYTE on it has the cycles of a unit or a choice, or of a source `is_late | counts << 1`.
MICRO_OPS, LATENCY, UNITS, AT_ONCE, MEMORY, ADVANCE, FIRST_LIST = range(7)
# Places of `Costs.machine`: widths, and lengths of the lists. From FIRST_GROUP on follow the groups, the sizes of pools
# and the sizes of buffers.
ISSUE_WIDTH, RETIRE_WIDTH, N_POOLS, N_BUFFERS = range(4)
N_OCCUPIED, N_CHOICES, N_SOURCES, N_TARGETS, N_GROUPS, FIRST_GROUP = range(4, 10)
BYTE = 8


class Facts(NamedTuple):
    """What B blocks of n instructions need of a processor with R units, P pools and Q buffers."""

    micro_ops: np.ndarray  # (B, n) int32
    latencies: np.ndarray  # (B, n) int32 cycles from issue to write-back
    unit_cycles: np.ndarray  # (B, n, R) int32 cycles for which it occupies each unit
    choices: np.ndarray  # (B, n, C) int32: groups of which it occupies any one unit besides; -1: no more
    choice_cycles: np.ndarray  # (B, n, C) int32 cycles for which it occupies that unit
    sources: np.ndarray  # (B, n, S) int8: registers that it reads, numbered within the block; -1: no more
    is_late: np.ndarray  # (B, n, S) bool: it reads this register `advances` cycles after its issue
    counts: np.ndarray  # (B, n, S) int8: how many of its operands read this register
    targets: np.ndarray  # (B, n, T) int8: registers that it writes; -1: no more
    advances: np.ndarray  # (B, n) int32 cycles
    memory: np.ndarray  # (B, n) int8: 0 | LOAD | STORE (a store may load as well)
    pool_entries: np.ndarray  # (B, n, P) int32 entries of each pool that it occupies from dispatch to retirement
    buffer_entries: np.ndarray  # (B, n, Q) int32 entries of each buffer that it occupies from dispatch to issue


class Costs(NamedTuple):
    """The same facts as two arrays, which functions compiled by numba pass on at no cost."""

    instructions: np.ndarray  # (B, n, F) int64, columns as above
    machine: np.ndarray  # (M,) int64, places as above


class Block(NamedTuple):
    """One block: a row of Costs."""

    instructions: np.ndarray  # (n, F) int64
    machine: np.ndarray  # (M,) int64


def pack(
    facts: Facts, groups: np.ndarray, pools: np.ndarray, buffers: np.ndarray, issue_width: int, retire_width: int
) -> Costs:
    """Costs of blocks on a processor.

    groups: (G,) int64 bit sets of units; pools: (P,), buffers: (Q,) int sizes; issue_width: micro-ops dispatched per
    cycle; retire_width: instructions retired per cycle. Raises ValueError if n > LONGEST.
    """
    n, n_units = facts.unit_cycles.shape[1:]
    if n > LONGEST:
        raise ValueError(f"blocks of {n} instructions; at most {LONGEST} fit")
    units = ((facts.unit_cycles > 0).astype(np.int64) << np.arange(n_units)).sum(2)
    occupied = np.argsort(facts.unit_cycles == 0, axis=2, kind="stable")[
        ..., : max(1, int((facts.unit_cycles > 0).sum(2).max(initial=0)))
    ]
    cycles = np.take_along_axis(facts.unit_cycles, occupied, 2).astype(np.int64)
    lists = [
        np.where(cycles > 0, occupied + 1 | cycles << BYTE, 0),
        np.where(facts.choices >= 0, facts.choices + 1 | facts.choice_cycles.astype(np.int64) << BYTE, 0),
        np.where(
            facts.sources >= 0,
            facts.sources + 1 | (facts.is_late.astype(np.int64) | facts.counts.astype(np.int64) << 1) << BYTE,
            0,
        ),
        facts.targets + 1,
    ]
    at_once = (facts.latencies == 0) & (units == 0) & (facts.choices[..., 0] < 0)
    scalars = (facts.micro_ops, facts.latencies, units, at_once, facts.memory, facts.advances)
    columns = [
        np.stack([part.astype(np.int64) for part in scalars], 2),
        facts.pool_entries,
        facts.buffer_entries,
        *lists,
    ]
    lengths = [len(pools), len(buffers), *(part.shape[2] for part in lists), len(groups)]
    return Costs(
        np.ascontiguousarray(np.concatenate([part.astype(np.int64) for part in columns], 2)),
        np.concatenate([[issue_width, retire_width, *lengths], groups, pools, buffers]).astype(np.int64),
    )
