"""Table `machine_instructions` -> what blocks ask of a processor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numba import njit

from pipeline.latency import in_order, packing
from pipeline.latency.renaming import renamed

_MEMORY = {"none": 0, "": 0, "load": packing.LOAD, "store": packing.STORE}

_PER_ROW = (
    *("known", "micro_ops", "latencies", "held", "choices", "choice_cycles"),
    *("read_advance", "memory", "kept", "queued"),
)


@dataclass(frozen=True)
class Processor:
    """A processor with R units, P pools and Q buffers, and U instructions on it, of at most C choices each."""

    issue_width: int  # micro-ops per cycle
    retire_width: int  # instructions per cycle; 0: it issues in order
    pools: np.ndarray  # (P,) int32 sizes
    buffers: np.ndarray  # (Q,) int32 sizes
    groups: np.ndarray  # (G,) int64, bit sets of units of which an instruction takes any one
    known: np.ndarray  # (U,) bool: the model knows the instruction
    micro_ops: np.ndarray  # (U,) int32
    latencies: np.ndarray  # (U,) int32, cycles
    held: np.ndarray  # (U, R) int32, cycles
    choices: np.ndarray  # (U, C) int32, groups; -1: no more
    choice_cycles: np.ndarray  # (U, C) int32
    registers: np.ndarray  # (4, U, 3) uint64: words of what is read, read late, written, read by two operands
    read_advance: np.ndarray  # (U,) int32 cycles by which late reads come later
    memory: np.ndarray  # (U,) int8 of packing.Facts
    kept: np.ndarray  # (U, P) int32
    queued: np.ndarray  # (U, Q) int32

    @property
    def issues_in_order(self) -> bool:
        """Whether it issues in order."""
        return self.retire_width == 0

    def of(self, rows: np.ndarray) -> Processor:
        """The same processor and these of its instructions. rows: (V,) of the table."""
        chosen = {name: getattr(self, name)[rows] for name in _PER_ROW}
        return replace(self, **chosen, registers=self.registers[:, rows])

    def costs(self, instructions: np.ndarray) -> in_order.Costs:
        """Costs of B blocks of n instructions on an in-order processor. instructions: (B, n) int, rows of the table.

        Those of an out-of-order processor are what it would be if it issued in order, for rules of thumb: of several
        groups an instruction holds a unit of the first, the smallest one, alone.

        Raises ValueError for an instruction that the model does not know.
        """
        self._check(instructions)
        size, n = instructions.shape
        delays = np.zeros((size, n, n), np.int16)
        reads, late_reads, writes, _ = self.registers
        rows = np.ascontiguousarray(instructions)
        _delay(rows, reads, late_reads, writes, self.latencies, self.read_advance, delays)
        return in_order.Costs(
            self.micro_ops[instructions],
            self.latencies[instructions],
            self.held[instructions],
            self.choices[instructions, 0],
            self.choice_cycles[instructions, 0],
            delays,
            self.groups,
            self.issue_width,
        )

    def out_of_order_costs(self, instructions: np.ndarray) -> packing.Costs:
        """The same on an out-of-order processor."""
        self._check(instructions)
        sources, is_late, counts, targets = renamed(*self.registers[:, instructions])
        facts = packing.Facts(
            micro_ops=self.micro_ops[instructions],
            latencies=self.latencies[instructions],
            held=self.held[instructions],
            choices=self.choices[instructions],
            choice_cycles=self.choice_cycles[instructions],
            sources=sources,
            is_late=is_late,
            counts=counts,
            targets=targets,
            advances=self.read_advance[instructions],
            memory=self.memory[instructions],
            kept=self.kept[instructions],
            queued=self.queued[instructions],
        )
        return packing.pack(facts, self.groups, self.pools, self.buffers, self.issue_width, self.retire_width)

    def _check(self, instructions: np.ndarray) -> None:
        if not self.known[instructions].all():
            unknown = instructions[~self.known[instructions]].flat[0]
            raise ValueError(f"instruction {unknown} of the table is unsupported; leave out its block")


def processor(table: pd.DataFrame) -> Processor:
    """The processor of table `machine_instructions`. Raises ValueError for a table of several or none."""
    if table[["machine", "issue_width", "retire_width"]].drop_duplicates().shape[0] != 1:
        raise ValueError(f"one machine is needed, not {sorted(set(table.machine))}")
    masks = [[sum(1 << int(unit) for unit in choice) for choice in choices] for choices in table.choices]
    groups = np.unique(np.array([mask for row in masks for mask in row], np.int64))
    used = [*table.units, *(choice for choices in table.choices for choice in choices)]
    held = np.zeros((len(table), 1 + max((int(max(units)) for units in used if len(units)), default=-1)), np.int32)
    for row, (units, cycles) in enumerate(zip(table.units, table.unit_cycles, strict=True)):
        held[row, units] = cycles
    choices = np.full((len(table), max(1, *map(len, masks))), -1, np.int32)
    choice_cycles = np.zeros(choices.shape, np.int32)
    for row, (chosen, cycles) in enumerate(zip(masks, table.choice_cycles, strict=True)):
        choices[row, : len(chosen)] = np.searchsorted(groups, chosen)
        choice_cycles[row, : len(chosen)] = cycles
    possible = np.array([_possible(units, chosen) for units, chosen in zip(table.units, masks, strict=True)], bool)
    pools, buffers = (np.array(table[name].iloc[0], np.int32) for name in ("pools", "buffers"))
    return Processor(
        issue_width=int(table.issue_width.iloc[0]),
        retire_width=int(table.retire_width.iloc[0]),
        pools=pools,
        buffers=buffers,
        groups=groups,
        known=(table.status == "ok").to_numpy() & possible,
        micro_ops=table.micro_ops.to_numpy(np.int32),
        latencies=table.latency.to_numpy(np.int32),
        held=held,
        choices=choices,
        choice_cycles=choice_cycles,
        registers=np.stack(
            [np.array(list(table[name]), np.uint64) for name in ("reads", "late_reads", "writes", "double_reads")]
        ),
        read_advance=table.read_advance.to_numpy(np.int32),
        memory=table.memory.map(_MEMORY).to_numpy(np.int8),
        kept=_entries(table.kept, len(pools)),
        queued=_entries(table.queued, len(buffers)),
    )


def _possible(units: Sequence[int], choices: Sequence[int]) -> bool:
    """Whether idle units have all that an instruction holds at once, as `out_of_order` looks; else it never issues."""
    taken = sum(1 << int(unit) for unit in units)
    for members in choices:
        if not members & ~taken:
            return False
        taken |= 1 << ((members & ~taken).bit_length() - 1)
    return True


def _entries(lists: pd.Series, size: int) -> np.ndarray:
    """(U, size) int32; zeros for what is unsupported."""
    found = [entries if len(entries) else [0] * size for entries in lists]
    return np.array(found, np.int32).reshape(len(found), size)


@njit(cache=True, nogil=True)
def _delay(
    instructions: np.ndarray,
    reads: np.ndarray,
    late_reads: np.ndarray,
    writes: np.ndarray,
    latencies: np.ndarray,
    read_advance: np.ndarray,
    delays: np.ndarray,
) -> None:
    """delays[b, i, k] of every pair, in whatever order it may come: read after write."""
    size, n = instructions.shape
    for b in range(size):
        for i in range(n):
            first = instructions[b, i]
            for k in range(n):
                second = instructions[b, k]
                for word in range(writes.shape[1]):
                    if i != k and writes[first, word] & reads[second, word]:
                        delays[b, i, k] = latencies[first]
                    elif i != k and writes[first, word] & late_reads[second, word]:
                        delays[b, i, k] = max(delays[b, i, k], latencies[first] - read_advance[second])
