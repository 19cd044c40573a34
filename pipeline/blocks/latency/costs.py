"""Table `machine_instructions` -> what blocks ask of a processor."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numba import njit

from pipeline.blocks.latency import in_order, packing
from pipeline.blocks.latency.renaming import renamed
from pipeline.tables import SCHEMAS

_MEMORY = {"none": 0, "": 0, "load": packing.LOAD, "store": packing.STORE}
_REGISTERS = ("reads", "late_reads", "writes", "double_reads")
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


def processor(table: pa.Table) -> Processor:
    """The processor of table `machine_instructions`. Raises ValueError for a table of several or none."""
    machines = table.group_by(["machine", "issue_width", "retire_width"]).aggregate([]).to_pylist()
    if len(machines) != 1:
        raise ValueError(f"one machine is needed, not {sorted({one['machine'] for one in machines})}")
    (machine,), size = machines, len(table)
    unit_rows, units = _flat(table["units"])
    choice_rows, members = _flat(table["choices"])
    masks = np.zeros(len(choice_rows), np.int64)
    of_choice, member = _flat(pa.chunked_array([members]))
    np.bitwise_or.at(masks, of_choice, 1 << member.astype(np.int64))
    held = np.zeros((size, 1 + int(np.r_[units, member, -1].max())), np.int32)
    held[unit_rows, units] = _flat(table["unit_cycles"])[1]
    groups, group = np.unique(masks, return_inverse=True)
    place = np.arange(len(choice_rows)) - np.searchsorted(choice_rows, choice_rows)
    choices = np.full((size, 1 + int(place.max(initial=0))), -1, np.int32)
    choices[choice_rows, place] = group
    choice_cycles = np.zeros(choices.shape, np.int32)
    choice_cycles[choice_rows, place] = _flat(table["choice_cycles"])[1]
    pools, buffers = (np.array(table[name][0].as_py(), np.int32) for name in ("pools", "buffers"))
    numbers = {name: table[name].to_numpy() for name in ("micro_ops", "latency", "read_advance")}
    memory = table["memory"].combine_chunks().dictionary_encode()
    return Processor(
        issue_width=int(machine["issue_width"]),
        retire_width=int(machine["retire_width"]),
        pools=pools,
        buffers=buffers,
        groups=groups,
        known=pc.equal(table["status"], "ok").to_numpy() & _possible(held, choices, groups),
        micro_ops=numbers["micro_ops"].astype(np.int32),
        latencies=numbers["latency"].astype(np.int32),
        held=held,
        choices=choices,
        choice_cycles=choice_cycles,
        registers=np.stack([_padded(table[name], 3, np.uint64) for name in _REGISTERS]),
        read_advance=numbers["read_advance"].astype(np.int32),
        memory=np.array([_MEMORY[kind] for kind in memory.dictionary.to_pylist()], np.int8)[memory.indices.to_numpy()],
        kept=_padded(table["kept"], len(pools), np.int32),
        queued=_padded(table["queued"], len(buffers), np.int32),
    )


def processor_of(frame: pd.DataFrame) -> Processor:
    """The same of a table that is no file."""
    return processor(pa.Table.from_pandas(frame, SCHEMAS["machine_instructions"], preserve_index=False))


def _flat(column: pa.ChunkedArray) -> tuple[np.ndarray, Any]:
    """Of a column of lists: the row of each entry, and the entries; entries that are lists stay an Arrow array."""
    lists = column.combine_chunks()
    entries = lists.flatten()
    rows = np.repeat(np.arange(len(lists)), np.diff(lists.offsets.to_numpy()))
    return rows, entries if pa.types.is_list(entries.type) else entries.to_numpy()


def _padded(column: pa.ChunkedArray, size: int, dtype: type) -> np.ndarray:
    """Lists of `size` entries, (U, size); zeros where there are none."""
    rows, entries = _flat(column)
    filled: np.ndarray = np.zeros((len(column), size), dtype)
    if size:
        filled[rows[::size]] = entries.reshape(-1, size)
    return filled


def _possible(held: np.ndarray, choices: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Whether idle units have all that an instruction holds at once, as `out_of_order` looks; else it never issues.

    held: (U, R); choices: (U, C). Returns (U,) bool.
    """
    taken = (held > 0) @ (1 << np.arange(held.shape[1]))
    fits = np.ones(len(held), bool)
    for chosen in choices.T:
        free = np.r_[groups, 0][chosen] & ~taken  # none of the last, which -1 takes
        fits &= (free > 0) | (chosen < 0)
        taken |= _highest(free)
    return fits


def _highest(words: np.ndarray) -> np.ndarray:
    """The highest bit of each word; 0 of 0."""
    filled = words.copy()
    for shift in (1, 2, 4, 8, 16, 32):
        filled |= filled >> shift
    return filled ^ (filled >> 1)


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
