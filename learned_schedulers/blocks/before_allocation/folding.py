"""Which instructions usually need no register of their own on x86-64."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from learned_schedulers.blocks.before_allocation.functions import Item
from learned_schedulers.blocks.before_allocation.value_types import (
    Unknown,
    operands,
    read_type,
    registers,
    result_type,
    tokens,
    type_place,
)

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
