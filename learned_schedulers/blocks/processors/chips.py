"""Costs of any instructions on a processor, within microseconds: most are of classes whose costs are shipped.

llvm-mca describes some hundred instructions a second. Here an instruction is decoded, its class looked up, and the
class's registers renamed: the row is the one that `machine.read` makes for the instruction itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from iced_x86 import Code, Decoder, Instruction, Register_

from learned_schedulers.blocks.dag.resources import LANES, WORD_BITS
from learned_schedulers.blocks.processors.class_table import ClassTable
from learned_schedulers.blocks.processors.costs import Processor
from learned_schedulers.blocks.processors.instruction_classes import (
    MOST_REGISTERS,
    InstructionClass,
    Shape,
    class_of,
    shape,
)
from learned_schedulers.blocks.processors.prefixes import without_hints
from learned_schedulers.blocks.processors.renaming import RegisterWords

_COSTS = (
    *("is_supported", "micro_ops", "latencies", "unit_cycles", "choices", "choice_cycles"),
    *("read_advance", "memory", "pool_entries", "buffer_entries"),
)
_SETS, _WORDS = len(RegisterWords._fields), 3
# Of each whole register: its word among those of its resources, its lowest bit there, and its bits from that one on.
_WORD = np.zeros(len(LANES), np.int64)
_SHIFT = np.zeros(len(LANES), np.uint64)
_BITS = np.zeros(len(LANES), np.uint64)
for _register, _lanes in enumerate(LANES):
    if _lanes:
        _WORD[_register], _SHIFT[_register] = divmod((_lanes & -_lanes).bit_length() - 1, WORD_BITS)
        _BITS[_register] = _lanes // (_lanes & -_lanes)


class Chip:
    """A processor and its instructions so far. Not safe for threads."""

    def __init__(self, name: str, binary: str | None = None) -> None:
        """name: of `class_table.shipped_processors`; binary: llvm-mca for classes that are not shipped.

        Without it (None) these are unsupported. Raises ValueError for a name of no processor.
        """
        self._table = ClassTable(name, binary)
        self._numbers: dict[Shape | bytes, int] = {}  # of the classes so far
        self._rows = _Growing(np.zeros(0, np.int64))  # of each class, in the table
        self._unchanged = _Growing(np.zeros((0, _SETS, _WORDS), np.uint64))  # resources that are not renamed
        self._renamed = _Growing(np.zeros((0, MOST_REGISTERS, _SETS), np.uint64))  # of each register, from bit 0 on
        self._classes = _Growing(np.zeros(0, np.int64))  # of each instruction
        self._costs = self._table.costs  # to which the numbers of groups in `_columns` refer
        self._columns = [_Growing(column[:0]) for column in _columns(self._costs)]

    @property
    def chip(self) -> Processor:
        """The processor with all instructions so far; further ones do not change it."""
        return _with_columns(self._costs, [column.array for column in self._columns])

    def extend(self, codes: Sequence[bytes]) -> None:
        """Append instructions, in order. Raises LlvmMcaError if llvm-mca fails."""
        appended, classes = self._described(codes)
        if self._costs is not self._table.costs:  # llvm-mca was asked: there may be more units, and groups renumbered
            self._costs = self._table.costs
            renumbered = _rows_of(self._costs, self._rows.array[self._classes.array])
            self._columns[:-_SETS] = map(_Growing, _columns(renumbered)[:-_SETS])
        self._classes.append(classes)
        for column, rows in zip(self._columns, _columns(appended), strict=True):
            column.append(rows)

    def processor(self, codes: Sequence[bytes]) -> Processor:
        """The processor with these instructions alone. Raises LlvmMcaError if llvm-mca fails."""
        return self._described(codes)[0]

    def reason(self, code: bytes) -> str:
        """Why an instruction is unsupported; empty if it is supported. Raises LlvmMcaError if llvm-mca fails."""
        return self._table.reason(_class_code(code))

    def missing(self, code: bytes) -> str:
        """What to install so that the costs of an unsupported instruction are measured; empty if nothing helps."""
        return self._table.missing(_class_code(code))

    def _described(self, codes: Sequence[bytes]) -> tuple[Processor, np.ndarray]:
        """The processor with these U instructions alone, and their classes, (U,)."""
        classes = np.empty(len(codes), np.int64)
        registers = np.zeros((len(codes), MOST_REGISTERS), np.int64)
        new_classes: dict[Shape | bytes, InstructionClass] = {}
        for row, code in enumerate(map(without_hints, codes)):
            instruction = Decoder(64, code).decode()
            key, names = shape(instruction)
            number = self._numbers.get(key)
            if number is None or instruction.len != len(code):
                number, names = self._numbered(code, instruction, new_classes)
            classes[row] = number
            if names:
                registers[row, : len(names)] = names
        try:
            self._learn(list(new_classes.values()))
        except ValueError:  # the numbers would have no rows
            self._numbers = {key: number for key, number in self._numbers.items() if key not in new_classes}
            raise
        costs = _rows_of(self._table.costs, self._rows.array[classes])
        words = _words(self._unchanged.array[classes], self._renamed.array[classes], registers)
        return replace(costs, registers=RegisterWords(*words)), classes

    def _numbered(
        self, code: bytes, instruction: Instruction, new_classes: dict[Shape | bytes, InstructionClass]
    ) -> tuple[int, tuple[Register_, ...]]:
        """Number and registers of a class that may be new; code that has no class is a class of its own."""
        described = _class(code, instruction)
        key: Shape | bytes = shape(instruction)[0]
        if described is None:
            key, described = code, InstructionClass(code, (), ())
        if key not in self._numbers:
            self._numbers[key] = len(self._numbers)
            new_classes[key] = described
        return self._numbers[key], described.registers

    def _learn(self, classes: Sequence[InstructionClass]) -> None:
        if not classes:
            return
        rows = np.array(self._table.rows([each.code for each in classes]), np.int64)
        names = np.zeros((len(classes), MOST_REGISTERS), np.int64)
        for row, each in enumerate(classes):
            names[row, : len(each.renamed)] = each.renamed
        unchanged = np.stack([words[rows] for words in self._table.costs.registers], 1)
        renamed = np.zeros((len(classes), MOST_REGISTERS, _SETS), np.uint64)
        every = np.arange(len(classes))
        for place, register in enumerate(names.T):
            word, shift, bits = _WORD[register], _SHIFT[register][:, None], _BITS[register][:, None]
            renamed[:, place] = unchanged[every, :, word] >> shift & bits
            unchanged[every, :, word] &= ~(bits << shift)
        self._rows.append(rows)
        self._unchanged.append(unchanged)
        self._renamed.append(renamed)


class _Growing:
    """An array that grows by rows. Parts that were handed out stay as they are."""

    def __init__(self, rows: np.ndarray) -> None:
        self._memory, self._size = rows, len(rows)

    @property
    def array(self) -> np.ndarray:
        return self._memory[: self._size]

    def append(self, rows: np.ndarray) -> None:
        size = self._size + len(rows)
        if size > len(self._memory):
            memory = np.empty((max(size, 2 * len(self._memory)), *rows.shape[1:]), rows.dtype)
            memory[: self._size] = self.array
            self._memory = memory
        self._memory[self._size : size] = rows
        self._size = size


def _class(code: bytes, instruction: Instruction) -> InstructionClass | None:
    """The class of an instruction; None of code that is not one instruction, or that iced-x86 cannot encode anew."""
    if instruction.code == Code.INVALID or instruction.len != len(code):
        return None
    try:
        return class_of(instruction)
    except ValueError:
        return None


def _class_code(code: bytes) -> bytes:
    """The code of an instruction's class; that of the instruction if it has none."""
    code = without_hints(code)
    described = _class(code, Decoder(64, code).decode())
    return code if described is None else described.code


def _columns(costs: Processor) -> list[np.ndarray]:
    """What a processor knows of each instruction: arrays of equal length; the last ones are its registers."""
    return [*(getattr(costs, name) for name in _COSTS), *costs.registers]


def _with_columns(costs: Processor, columns: Sequence[np.ndarray]) -> Processor:
    changed: dict[str, Any] = dict(zip(_COSTS, columns[:-_SETS], strict=True))
    return replace(costs, registers=RegisterWords(*columns[-_SETS:]), **changed)


def _rows_of(costs: Processor, rows: np.ndarray) -> Processor:
    return _with_columns(costs, [column[rows] for column in _columns(costs)])


def _words(unchanged: np.ndarray, renamed: np.ndarray, registers: np.ndarray) -> np.ndarray:
    """Resources of U instructions, (4, U, 3) uint64, in the order of RegisterWords.

    unchanged: (U, 4, 3) uint64; renamed: (U, MOST_REGISTERS, 4) uint64; registers: (U, MOST_REGISTERS), 0 for none.
    """
    words = unchanged.copy()
    every = np.arange(len(words))
    for place, register in enumerate(registers.T):
        if register.any():
            bits = renamed[:, place] & _BITS[register][:, None]  # none of a register that is none
            words[every, :, _WORD[register]] |= bits << _SHIFT[register][:, None]
    return np.ascontiguousarray(words.transpose(1, 0, 2))
