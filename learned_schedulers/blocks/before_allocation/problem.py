"""What an order of a block decides before registers are allocated: which values are alive together.

The model of registers: a value that enters is in its registers from the begin to its last reader; a result from its
instruction to its last reader; what is read behind the block, to its end. An instruction that x86 folds into its
readers (an address, a load that is read once, another name for the same register, a comparison for conditional moves)
has no register, and its readers read what it reads. Values that pass through a block unread are left out: they are the
same for every order.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

import numpy as np

from learned_schedulers.blocks.before_allocation.functions import Block, Function, Item
from learned_schedulers.blocks.before_allocation.value_types import (
    GENERAL,
    NONE,
    Unknown,
    operands,
    read_type,
    registers,
    result_type,
    tokens,
    type_place,
)


class Rows(NamedTuple):
    """Row i is items[offsets[i] : offsets[i + 1]]."""

    offsets: np.ndarray  # (rows + 1,) int64
    items: np.ndarray  # int64


def rows(lists: Sequence[Iterable[int]]) -> Rows:
    """Rows from lists."""
    each = [list(items) for items in lists]
    offsets = np.zeros(len(each) + 1, np.int64)
    offsets[1:] = np.cumsum([len(items) for items in each])
    return Rows(offsets, np.fromiter(chain.from_iterable(each), np.int64, int(offsets[-1])))


def true_columns(matrix: np.ndarray) -> Rows:
    """Of each row of a bool matrix, the columns that are true, ascending."""
    offsets = np.zeros(len(matrix) + 1, np.int64)
    offsets[1:] = np.cumsum(matrix.sum(1))
    return Rows(offsets, np.nonzero(matrix)[1].astype(np.int64))


def transposed(table: Rows, columns: int) -> Rows:
    """Row c has the numbers of the rows that contain c, ascending; columns: how many rows the result has."""
    offsets = np.zeros(columns + 1, np.int64)
    offsets[1:] = np.cumsum(np.bincount(table.items, minlength=columns))
    of_items = np.repeat(np.arange(len(table.offsets) - 1), np.diff(table.offsets))
    return Rows(offsets, of_items[np.argsort(table.items, kind="stable")])


_CYCLES = {  # Haswell, rounded (Intel optimisation manual, appendix C); what is not listed takes one
    4: "load fadd fsub fptrunc fpext fptoui fptosi uitofp sitofp",
    3: "mul extractelement insertelement",
    5: "fmul fma fmuladd",
    13: "fdiv sqrt",
    24: "udiv sdiv urem srem frem",
}
_INTRINSICS = """
    abs bswap ctlz ctpop cttz fabs fma fmuladd fshl fshr masked sadd smax smin smul sqrt ssub uadd umax umin umul usub
    vector x86
""".split()  # noqa: SIM905
_INSTRUCTIONS = """
    fneg add fadd sub fsub mul fmul udiv sdiv fdiv urem srem frem shl lshr ashr and or xor extractelement insertelement
    shufflevector extractvalue insertvalue alloca load store fence cmpxchg atomicrmw getelementptr trunc zext sext
    fptrunc fpext fptoui fptosi uitofp sitofp ptrtoint ptrtoaddr inttoptr bitcast addrspacecast icmp fcmp select freeze
    call va_arg
""".split()  # noqa: SIM905
OPCODES = ("other", *_INSTRUCTIONS, *(f"llvm.{name}" for name in _INTRINSICS))
_NUMBERS = {name: i for i, name in enumerate(OPCODES)}
_CYCLES_OF = {name: cycles for cycles, names in _CYCLES.items() for name in names.split()}
_INTRINSIC = re.compile(r" @llvm\.(\w+)[\w.]*\(")
CYCLES = np.array([_CYCLES_OF.get(name.removeprefix("llvm."), 1) for name in OPCODES])  # of each number


def number(item: Item) -> int:
    """The number of an instruction's opcode; that of an intrinsic function with a number of its own, 0 for others."""
    if item.opcode == "call" and (intrinsic := _INTRINSIC.search(item.lines[-1])):
        return _NUMBERS.get(f"llvm.{intrinsic[1]}", _NUMBERS["call"])
    return _NUMBERS.get(item.opcode, 0)


_RENAMES = frozenset(["bitcast", "freeze", "ptrtoint", "ptrtoaddr", "inttoptr", "trunc", "extractvalue"])
# Instructions that can read an operand from memory: any, or the second alone.
_EITHER = frozenset("add mul and or xor fadd fmul icmp zext sext fpext sitofp select".split())  # noqa: SIM905
_SECOND = frozenset(["sub", "fsub", "fdiv"])
_SCALES = frozenset(["i8", "i16", "i32", "i64", "float", "double", "ptr"])


def folded(items: Sequence[Item], reads: Sequence[Sequence[int]], leaves: np.ndarray) -> np.ndarray:
    """(n,) bool: an address that loads and stores compute, a part or another name of a register, flags, a stack slot,
    a load for the only instruction that reads it.

    reads: of each instruction the instructions whose results it reads; leaves: (n,) bool, read behind the block.
    """
    readers: list[list[int]] = [[] for _ in items]
    for i, each in enumerate(reads):
        for k in each:
            readers[k].append(i)
    words = [tokens(item.lines[-1]) for item in items]

    def inside(i: int) -> bool:
        """Whether its readers, all of this block, can do its work."""
        if leaves[i]:
            return False
        if items[i].opcode == "getelementptr":
            return _is_address(words[i]) and all(_addresses(items[k], words[k], items[i].result) for k in readers[i])
        return bool(readers[i]) and all(items[k].opcode == "select" for k in readers[i])

    result = np.zeros(len(items), bool)
    for i, item in enumerate(items):
        if item.opcode in ("getelementptr", "icmp", "fcmp"):
            result[i] = inside(i)
        elif item.opcode == "alloca":
            result[i] = not any(word[0] == "%" for word in words[i][2:])
        elif item.opcode in _RENAMES:
            result[i] = _same_class(words[i])
    loading: set[int] = set()  # readers that read memory themselves
    for i, item in enumerate(items):
        if item.opcode == "load" and len(readers[i]) == 1 and not leaves[i] and readers[i][0] not in loading:
            (reader,) = readers[i]
            if not result[reader] and _loads(items[reader], words[reader], item.result):
                loading.add(reader)
                result[i] = True
    return result


def _loads(item: Item, words: list[str], name: str) -> bool:
    """Whether an instruction can read this operand, which it reads once, from memory."""
    if item.opcode in _SECOND:
        parts = operands(words)
        return parts[1][-1] == name != parts[0][-1]
    return item.opcode in _EITHER and words.count(name) == 1


def _same_class(words: list[str]) -> bool:
    """Whether result and operand are as many registers of a class, and the operation leaves the bits alone."""
    try:
        parts = operands(words)
        operand, result = read_type(parts[0], type_place(parts[0], 3))[0], result_type(" ".join(words))
    except Unknown:
        return False
    return registers(operand) == registers(result) and not (words[2] == "trunc" and operand.vector)


def _is_address(words: list[str]) -> bool:
    """Whether the result is base + constant, or base + index * 1, 2, 4 or 8 + constant."""
    parts = operands(words)
    variable = [any(word[0] == "%" for word in part) for part in parts[2:]]
    if "<" in parts[1]:
        return False
    if not any(variable):
        return True
    element = read_type(parts[0], type_place(parts[0], 3))[0]
    if len(variable) == 2 and len(element.parts) == 1:
        element = element.parts[0]
    elif len(variable) > 1:
        return False
    return not any(variable[:-1]) and element.text in _SCALES


def _addresses(item: Item, words: list[str], name: str) -> bool:
    """Whether a load or store reads the name as its address, and as nothing else."""
    parts = operands(words)
    return item.opcode in ("load", "store") and parts[1][-1] == name and parts[0][-1] != name


AVX2 = (15, 16)  # general registers without the stack pointer, and vector registers, of x86-64


class Values(NamedTuple):
    """The model of registers. Values 0 to n - 1 are results of instructions, n to n + m - 1 enter."""

    reads: Rows  # of each of n instructions: the values that are in registers when it runs, distinct
    classes: np.ndarray  # (n + m,) int64: NONE, GENERAL, VECTOR
    registers: np.ndarray  # (n + m,) int64; 0 for folded instructions
    stays: np.ndarray  # (n + m,) bool: read behind the block


class Problem(NamedTuple):
    """A block of n instructions that stand in a legal order, which read m values from outside."""

    precedes: np.ndarray  # (n, n) bool: [i, k] if i must come before k, so i < k; not transitively closed
    operands: tuple[tuple[int, ...], ...]  # of each instruction: instructions of the block whose results it reads
    entering: tuple[tuple[int, ...], ...]  # of each instruction: numbers (0 to m - 1) of values from outside
    register_class: np.ndarray  # (n,) int8, of the result: NONE, GENERAL, VECTOR
    registers: np.ndarray  # (n,) int16: machine registers that the result needs
    entering_class: np.ndarray  # (m,) int8
    entering_registers: np.ndarray  # (m,) int16
    entering_stays: np.ndarray  # (m,) bool: read by another block, or by the terminator
    leaves: np.ndarray  # (n,) bool: the result is read behind the block, or by its terminator
    folded: np.ndarray  # (n,) bool: needs no register of its own
    opcode: np.ndarray  # (n,) int16: numbers of opcodes.OPCODES
    values: Values
    limits: tuple[int, int] = AVX2  # general and vector registers that the processor has

    @classmethod
    def of(
        cls,
        precedes: np.ndarray,
        operands: Sequence[Sequence[int]],
        entering: Sequence[Sequence[int]],
        results: Sequence[tuple[int, int]],
        entries: Sequence[tuple[int, int]],
        entering_stays: np.ndarray,
        leaves: np.ndarray,
        folded: np.ndarray,
        opcode: np.ndarray,
    ) -> Problem:
        """A problem from its parts; results (n) and entries (m): class and number of registers of each value.

        Raises ValueError if an instruction stands before what it needs.
        """
        if np.tril(precedes).any():
            raise ValueError("the instructions do not stand in a legal order")
        result, entry = (np.array(pairs, np.int16).reshape(-1, 2) for pairs in (results, entries))
        parts = (
            precedes,
            tuple(map(tuple, operands)),
            tuple(map(tuple, entering)),
            result[:, 0].astype(np.int8),
            result[:, 1],
            entry[:, 0].astype(np.int8),
            entry[:, 1],
            entering_stays,
            leaves,
            folded,
            opcode.astype(np.int16),
        )
        return cls(*parts, _values(parts[1], parts[2], np.r_[result, entry], leaves, entering_stays, folded))


def problem(function: Function, block: Block, precedes: np.ndarray, limits: tuple[int, int] = AVX2) -> Problem:
    """The problem of a block of a function.

    precedes: (n, n) bool, as `dependencies.precedes` gives it; limits: general and vector registers for which the code
    will be compiled, by the function's attribute `target-features` or, without it, the processor of `llvm.Emitter`.

    A value whose type the text does not say counts as one general register. A value counts as read behind the block if
    any other block, a PHI node or the block's terminator names it, also where it is dead: control flow is not followed.
    """
    items = block.items
    index = next(b for b, each in enumerate(function.blocks) if each is block)
    names = _names(function)
    place = {item.result: i for i, item in enumerate(items) if item.result}
    numbers: dict[str, int] = {}
    reads: list[list[int]] = []
    entering: list[list[int]] = []
    for item in items:
        read = [name for name in _read(item.lines[-1]) if name in names.registers]  # others are types and labels
        reads.append([place[name] for name in read if name in place])
        entering.append([numbers.setdefault(name, len(numbers)) for name in read if name not in place])
    leaves = np.array([names.elsewhere(item.result, index) for item in items], bool)
    return Problem.of(
        precedes,
        reads,
        entering,
        [names.registers.get(item.result, (NONE, 0)) for item in items],
        [names.registers[name] for name in numbers],
        np.array([names.elsewhere(name, index) for name in numbers], bool),
        leaves,
        folded(items, reads, leaves),
        np.array([number(item) for item in items]),
    )._replace(limits=limits)


class _Names(NamedTuple):
    """Values of a function, by their names."""

    registers: dict[str, tuple[int, int]]  # class and number of registers
    readers: dict[str, set[int]]  # blocks whose items read it
    stays: dict[str, set[int]]  # blocks whose PHI nodes, pads or terminator read it

    def elsewhere(self, name: str, block: int) -> bool:
        """Whether anything but the items of a block reads it."""
        return bool(self.stays.get(name) or self.readers.get(name, set()) - {block})


@lru_cache(maxsize=1)  # for block after block of a function
def _names(function: Function) -> _Names:
    values = _Names(_arguments(function.head), {}, {})
    for b, block in enumerate(function.blocks):
        items = [item.lines[-1] for item in block.items]
        for lines, by_name in ((items, values.readers), (block.rest, values.stays)):
            for line in lines:
                for name in _read(line):
                    by_name.setdefault(name, set()).add(b)
                words = tokens(line)
                if words[1:2] == ["="]:
                    values.registers[words[0]] = _registers_of(line)
    return values


def _read(line: str) -> list[str]:
    """Names in a line but that of its result, each once: values, labels and types."""
    words = tokens(line)
    return list(dict.fromkeys(word for word in words[2 if words[1:2] == ["="] else 0 :] if word[0] == "%"))


def _arguments(head: str) -> dict[str, tuple[int, int]]:
    """Class and number of registers of the arguments.

    A copy on the stack (byval) needs no register: its address is the stack pointer's.
    """
    words = tokens(head)
    begin = next(i for i, word in enumerate(words) if word[0] == "@") + 2
    depth, end = 1, begin
    while depth:
        depth += (words[end] == "(") - (words[end] == ")")
        end += 1
    values = {}
    for part in operands(words[begin : end - 1]):
        if part and part[-1][0] == "%":
            on_stack = "byval" in part or "inalloca" in part
            values[part[-1]] = (NONE, 0) if on_stack else registers(read_type(part)[0])
    return values


def _registers_of(line: str) -> tuple[int, int]:
    try:
        return registers(result_type(line))
    except Unknown:
        return GENERAL, 1


def _values(
    operands: Sequence[Sequence[int]],
    entering: Sequence[Sequence[int]],
    registers: np.ndarray,
    leaves: np.ndarray,
    entering_stays: np.ndarray,
    folded: np.ndarray,
) -> Values:
    """The model of registers; registers: (n + m, 2), class and number of each value."""
    n = len(operands)
    reads: list[dict[int, None]] = []
    for i in range(n):
        needs: dict[int, None] = {}
        for k in operands[i]:
            needs.update(reads[k] if folded[k] else {k: None})
        needs.update((n + k, None) for k in entering[i])
        reads.append(needs)
    stays = np.r_[leaves, entering_stays]
    for i in np.flatnonzero(folded & leaves).tolist():
        stays[list(reads[i])] = True
    counts = registers[:, 1].astype(np.int64)
    counts[:n][folded] = 0
    return Values(
        rows([() if folded[i] else reads[i] for i in range(n)]), registers[:, 0].astype(np.int64), counts, stays
    )
