"""Table `machine_instructions` -> what blocks ask of an in-order processor."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numba import njit

from pipeline.latency.in_order import Costs


@dataclass(frozen=True)
class Processor:
    """A processor with R units, and U instructions on it."""

    issue_width: int  # micro-ops per cycle
    read_advance: int  # cycles by which late reads come later
    groups: np.ndarray  # (G,) int64, bit sets of units of which an instruction takes any one
    known: np.ndarray  # (U,) bool: the model knows the instruction
    micro_ops: np.ndarray  # (U,) int32
    latencies: np.ndarray  # (U,) int32, cycles
    held: np.ndarray  # (U, R) int32, cycles
    choice: np.ndarray  # (U,) int32, group; -1: none
    choice_cycles: np.ndarray  # (U,) int32
    registers: np.ndarray  # (3, U, 3) uint64: words of what is read, read late, written

    def of(self, rows: np.ndarray) -> Processor:
        """The same processor and these of its instructions. rows: (V,) of the table."""
        per_row = ("known", "micro_ops", "latencies", "held", "choice", "choice_cycles")
        chosen = {name: getattr(self, name)[rows] for name in per_row}
        return replace(self, **chosen, registers=self.registers[:, rows])

    def costs(self, instructions: np.ndarray) -> Costs:
        """Costs of B blocks of n instructions. instructions: (B, n) int, rows of the table.

        Raises ValueError for an instruction that the model does not know.
        """
        if not self.known[instructions].all():
            unknown = instructions[~self.known[instructions]].flat[0]
            raise ValueError(f"instruction {unknown} of the table is unsupported; leave out its block")
        size, n = instructions.shape
        delays = np.zeros((size, n, n), np.int16)
        reads, late_reads, writes = self.registers
        rows = np.ascontiguousarray(instructions)
        _delay(rows, reads, late_reads, writes, self.latencies, self.read_advance, delays)
        return Costs(
            self.micro_ops[instructions],
            self.latencies[instructions],
            self.held[instructions],
            self.choice[instructions],
            self.choice_cycles[instructions],
            delays,
            self.groups,
            self.issue_width,
        )


def processor(table: pd.DataFrame) -> Processor:
    """The processor of table `machine_instructions`. Raises ValueError for a table of several or none."""
    if table[["machine", "issue_width", "read_advance"]].drop_duplicates().shape[0] != 1:
        raise ValueError(f"one machine is needed, not {sorted(set(table.machine))}")
    masks = np.array([sum(1 << int(unit) for unit in choice) for choice in table.choice], np.int64)
    groups = np.unique(masks[masks > 0])
    used = [*table.units, *table.choice]
    held = np.zeros((len(table), 1 + max((int(max(units)) for units in used if len(units)), default=-1)), np.int32)
    for row, (units, cycles) in enumerate(zip(table.units, table.unit_cycles, strict=True)):
        held[row, units] = cycles
    return Processor(
        issue_width=int(table.issue_width.iloc[0]),
        read_advance=int(table.read_advance.iloc[0]),
        groups=groups,
        known=(table.status == "ok").to_numpy(),
        micro_ops=table.micro_ops.to_numpy(np.int32),
        latencies=table.latency.to_numpy(np.int32),
        held=held,
        choice=np.where(masks > 0, np.searchsorted(groups, masks), -1).astype(np.int32),
        choice_cycles=table.choice_cycles.to_numpy(np.int32),
        registers=np.stack([np.array(list(table[name]), np.uint64) for name in ("reads", "late_reads", "writes")]),
    )


@njit(cache=True, nogil=True)
def _delay(
    instructions: np.ndarray,
    reads: np.ndarray,
    late_reads: np.ndarray,
    writes: np.ndarray,
    latencies: np.ndarray,
    read_advance: int,
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
                        delays[b, i, k] = max(delays[b, i, k], latencies[first] - read_advance)
