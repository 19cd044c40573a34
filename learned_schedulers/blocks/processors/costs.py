"""Table `machine_instructions` -> what blocks need of a processor."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit

from learned_schedulers.blocks.processors import in_order, packing
from learned_schedulers.blocks.processors.renaming import RegisterWords, renamed

if TYPE_CHECKING:  # `order` starts without them, for it reads shipped costs alone
    import pandas as pd
    import pyarrow as pa

_MEMORY = {"none": 0, "": 0, "load": packing.LOAD, "store": packing.STORE}
PER_INSTRUCTION = (
    *("is_supported", "micro_ops", "latencies", "unit_cycles", "choices", "choice_cycles"),
    *("read_advance", "memory", "pool_entries", "buffer_entries"),
)


@dataclass(frozen=True)
class Processor:
    """A processor with R units, P pools and Q buffers, and U instructions on it with at most C choices each."""

    issue_width: int  # micro-ops per cycle
    retire_width: int  # instructions per cycle; 0: the processor issues in order
    pools: np.ndarray  # (P,) int32 sizes
    buffers: np.ndarray  # (Q,) int32 sizes
    groups: np.ndarray  # (G,) int64, bit sets of units: an instruction with this choice occupies any one of them
    is_supported: np.ndarray  # (U,) bool: the processor's model supports the instruction
    micro_ops: np.ndarray  # (U,) int32
    latencies: np.ndarray  # (U,) int32, cycles
    unit_cycles: np.ndarray  # (U, R) int32, cycles for which it occupies each unit
    choices: np.ndarray  # (U, C) int32, groups; -1: no more
    choice_cycles: np.ndarray  # (U, C) int32
    registers: RegisterWords  # (U, 3) each
    read_advance: np.ndarray  # (U,) int32 cycles by which late reads come later
    memory: np.ndarray  # (U,) int8, as packing.Facts.memory
    pool_entries: np.ndarray  # (U, P) int32
    buffer_entries: np.ndarray  # (U, Q) int32

    @property
    def issues_in_order(self) -> bool:
        """Whether the processor issues in order."""
        return self.retire_width == 0

    def restricted_to(self, rows: np.ndarray) -> Processor:
        """The same processor with these instructions alone. rows: (V,) of the table."""
        chosen = {name: getattr(self, name)[rows] for name in PER_INSTRUCTION}
        return replace(self, **chosen, registers=self._registers(rows))

    def _registers(self, rows: np.ndarray) -> RegisterWords:
        return RegisterWords(*(words[rows] for words in self.registers))

    def costs(self, instructions: np.ndarray) -> in_order.Costs:
        """Costs of B blocks of n instructions on an in-order processor. instructions: (B, n) int, rows of the table.

        An out-of-order processor is treated as if it issued in order, for rules of thumb: of several groups, an
        instruction occupies a unit of the first one alone, which is the smallest.

        Raises ValueError for an instruction that the model does not support.
        """
        self._raise_if_unsupported(instructions)
        size, n = instructions.shape
        delays = np.zeros((size, n, n), np.int16)
        _delay(np.ascontiguousarray(instructions), self.registers, self.latencies, self.read_advance, delays)
        return in_order.Costs(
            micro_ops=self.micro_ops[instructions],
            latencies=self.latencies[instructions],
            unit_cycles=self.unit_cycles[instructions],
            choice=self.choices[instructions, 0],
            choice_cycles=self.choice_cycles[instructions, 0],
            delays=delays,
            groups=self.groups,
            issue_width=self.issue_width,
        )

    def out_of_order_costs(self, instructions: np.ndarray) -> packing.Costs:
        """As `costs`, on an out-of-order processor."""
        self._raise_if_unsupported(instructions)
        registers = renamed(self._registers(instructions))
        facts = packing.Facts(
            micro_ops=self.micro_ops[instructions],
            latencies=self.latencies[instructions],
            unit_cycles=self.unit_cycles[instructions],
            choices=self.choices[instructions],
            choice_cycles=self.choice_cycles[instructions],
            sources=registers.sources,
            is_late=registers.is_late,
            counts=registers.counts,
            targets=registers.targets,
            advances=self.read_advance[instructions],
            memory=self.memory[instructions],
            pool_entries=self.pool_entries[instructions],
            buffer_entries=self.buffer_entries[instructions],
        )
        return packing.pack(facts, self.groups, self.pools, self.buffers, self.issue_width, self.retire_width)

    def _raise_if_unsupported(self, instructions: np.ndarray) -> None:
        if not self.is_supported[instructions].all():
            unknown = instructions[~self.is_supported[instructions]].flat[0]
            raise ValueError(f"instruction {unknown} of the table is unsupported; leave out its block")


def processor(table: pa.Table) -> Processor:
    """The processor of table `machine_instructions`. Raises ValueError if the table has several processors or none."""
    import pyarrow as pa
    import pyarrow.compute as pc

    machines = table.group_by(["machine", "issue_width", "retire_width"]).aggregate([]).to_pylist()
    if len(machines) != 1:
        raise ValueError(f"one machine is needed, not {sorted({row['machine'] for row in machines})}")
    (machine,), size = machines, len(table)
    unit_rows, units = _flat(table["units"])
    choice_rows, members = _flat(table["choices"])
    masks = np.zeros(len(choice_rows), np.int64)
    mask_rows, mask_units = _flat(pa.chunked_array([members]))
    np.bitwise_or.at(masks, mask_rows, 1 << mask_units.astype(np.int64))
    unit_cycles = np.zeros((size, 1 + int(np.r_[units, mask_units, -1].max())), np.int32)
    unit_cycles[unit_rows, units] = _flat(table["unit_cycles"])[1]
    groups, choice_groups = np.unique(masks, return_inverse=True)
    column = np.arange(len(choice_rows)) - np.searchsorted(choice_rows, choice_rows)
    choices = np.full((size, 1 + int(column.max(initial=0))), -1, np.int32)
    choices[choice_rows, column] = choice_groups
    choice_cycles = np.zeros(choices.shape, np.int32)
    choice_cycles[choice_rows, column] = _flat(table["choice_cycles"])[1]
    pools, buffers = (np.array(table[name][0].as_py(), np.int32) for name in ("pools", "buffers"))
    numbers = {name: table[name].to_numpy() for name in ("micro_ops", "latency", "read_advance")}
    memory = table["memory"].combine_chunks().dictionary_encode()
    return Processor(
        issue_width=int(machine["issue_width"]),
        retire_width=int(machine["retire_width"]),
        pools=pools,
        buffers=buffers,
        groups=groups,
        is_supported=pc.equal(table["status"], "ok").to_numpy() & _can_issue(unit_cycles, choices, groups),
        micro_ops=numbers["micro_ops"].astype(np.int32),
        latencies=numbers["latency"].astype(np.int32),
        unit_cycles=unit_cycles,
        choices=choices,
        choice_cycles=choice_cycles,
        registers=RegisterWords(*(_padded(table[name], 3, np.uint64) for name in RegisterWords._fields)),
        read_advance=numbers["read_advance"].astype(np.int32),
        memory=np.array([_MEMORY[kind] for kind in memory.dictionary.to_pylist()], np.int8)[memory.indices.to_numpy()],
        pool_entries=_padded(table["kept"], len(pools), np.int32),
        buffer_entries=_padded(table["queued"], len(buffers), np.int32),
    )


def processor_of(frame: pd.DataFrame) -> Processor:
    """As `processor`, of a data frame with the columns of table `machine_instructions`."""
    import pyarrow as pa

    from learned_schedulers.blocks.processors.columns import MACHINE_INSTRUCTIONS

    return processor(pa.Table.from_pandas(frame, MACHINE_INSTRUCTIONS, preserve_index=False))


def joined(first: Processor, second: Processor) -> Processor:
    """One processor with the U instructions of the first, then the V of the second description of it."""
    groups = np.unique(np.r_[first.groups, second.groups])

    def both(name: str, missing: int = 0) -> np.ndarray:
        parts = [getattr(first, name), getattr(second, name)]
        if name == "choices":
            numbers = [np.r_[np.searchsorted(groups, each.groups), -1] for each in (first, second)]
            parts = [number[part].astype(np.int32) for number, part in zip(numbers, parts, strict=True)]
        if parts[0].ndim == 2:
            width = max(part.shape[1] for part in parts)
            parts = [np.pad(part, ((0, 0), (0, width - part.shape[1])), constant_values=missing) for part in parts]
        return np.concatenate(parts)

    rows: dict[str, Any] = {name: both(name, -1 if name == "choices" else 0) for name in PER_INSTRUCTION}
    registers = RegisterWords(*map(np.concatenate, zip(first.registers, second.registers, strict=True)))
    return replace(first, groups=groups, registers=registers, **rows)


def _flat(column: pa.ChunkedArray) -> tuple[np.ndarray, Any]:
    """The row of each entry of a column of lists, and the entries; entries that are lists stay an Arrow array."""
    import pyarrow as pa

    lists = column.combine_chunks()
    entries = lists.flatten()
    rows = np.repeat(np.arange(len(lists)), np.diff(lists.offsets.to_numpy()))
    return rows, entries if pa.types.is_list(entries.type) else entries.to_numpy()


def _padded(column: pa.ChunkedArray, size: int, dtype: type) -> np.ndarray:
    """Lists of `size` entries as rows, (U, size); an empty list becomes zeros."""
    rows, entries = _flat(column)
    filled: np.ndarray = np.zeros((len(column), size), dtype)
    if size:
        filled[rows[::size]] = entries.reshape(-1, size)
    return filled


def _can_issue(unit_cycles: np.ndarray, choices: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Whether idle units suffice for all that each instruction occupies at once, by the rules of `out_of_order`.

    An instruction for which they do not suffice never issues. unit_cycles: (U, R); choices: (U, C). Returns (U,) bool.
    """
    occupied = (unit_cycles > 0) @ (1 << np.arange(unit_cycles.shape[1]))
    fits = np.ones(len(unit_cycles), bool)
    for chosen in choices.T:
        free = np.r_[groups, 0][chosen] & ~occupied  # index -1 reads the appended 0
        fits &= (free > 0) | (chosen < 0)
        occupied |= _highest(free)
    return fits


def _highest(words: np.ndarray) -> np.ndarray:
    """The highest bit of each word; 0 for a word of 0."""
    filled = words.copy()
    for shift in (1, 2, 4, 8, 16, 32):
        filled |= filled >> shift
    return filled ^ (filled >> 1)


@njit(cache=True, nogil=True)
def _delay(
    instructions: np.ndarray,
    registers: RegisterWords,
    latencies: np.ndarray,
    read_advance: np.ndarray,
    delays: np.ndarray,
) -> None:
    """Fill delays[b, i, k] of every pair, in either order: RAW dependencies through registers."""
    reads, late_reads, writes = registers.reads, registers.late_reads, registers.writes
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
