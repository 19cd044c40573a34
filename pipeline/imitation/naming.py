"""Shapes of instructions up to renamed registers, or up to renamed registers and constants.

A *name* is a register or a constant; an instruction uses it in a *role* (operand 0, base, ...). A *shape* is the rest:
opcode, operand sizes, scale, prefixes. The stack pointer, and registers that are neither general nor vector registers,
are never renamed. An implicit register of an opcode (`mul`, `cqo`) is a name in a role of that opcode, so that no
renaming moves it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

import numpy as np
from iced_x86 import Decoder, Instruction, InstructionInfoFactory, OpKind, Register, Register_, RegisterExt

NOTIONS = ("exact", "registers", "constants")  # nothing renamed; registers; registers and constants
_DISPLACEMENT, _IMMEDIATE, _REGISTER = 1, 2, 3  # classes of names; registers: _REGISTER + whether of vectors
_ROLES = {"base": 16, "index": 17, "displacement": 18, "implicit": 32}  # operands: their number; immediates: 8 more
_HIGH = (Register.AH, Register.BH, Register.CH, Register.DH)
IMMEDIATE_KINDS = {value for name, value in vars(OpKind).items() if name.startswith("IMMEDIATE")}
_ACCESSES = InstructionInfoFactory()


class Shapes(NamedTuple):
    """U distinct instructions under one notion of renaming."""

    shape: np.ndarray  # (U,) int64: equal for instructions that differ only in names
    bounds: np.ndarray  # (U + 1,) int64: names of instruction u are bounds[u] : bounds[u + 1]
    role: np.ndarray  # int64
    name: np.ndarray  # int64: equal for the same register or constant, across instructions
    kind: np.ndarray  # int64: class of the name; names of two classes are never exchanged


_Name = tuple[int, int]  # class, value
_Use = tuple[int, _Name]  # role, name


@cache
def _register(register: Register_) -> tuple[object, int, int]:
    """The part of a register that belongs to the shape, its class (0: never renamed), and the whole register."""
    whole = RegisterExt.full_register(register)
    vector = RegisterExt.is_vector_register(register)
    if not vector and (not RegisterExt.is_gpr(register) or whole == Register.RSP):
        return register, 0, whole
    return (RegisterExt.size(register), register in _HIGH), _REGISTER + vector, whole


def _uses(instruction: Instruction) -> Iterator[tuple[int, _Name | None, object]]:
    """(role, name or None, part of the shape) of all operands, and of implicit registers."""
    named: set[int] = set()

    def register(role: int, used_register: Register_) -> tuple[int, _Name | None, object]:
        rest, kind, whole = _register(used_register)
        named.add(whole)
        return role, ((kind, whole) if kind else None), rest

    for k in range(instruction.op_count):
        operand = instruction.op_kind(k)
        if operand == OpKind.REGISTER:
            yield register(k, instruction.op_register(k))
        elif operand in IMMEDIATE_KINDS:
            yield k + 8, (_IMMEDIATE, instruction.immediate(k)), operand
        elif operand == OpKind.MEMORY:
            rip = instruction.is_ip_rel_memory_operand
            yield k, None, (instruction.memory_index_scale, instruction.segment_prefix, instruction.memory_size, rip)
            if not rip:
                yield register(_ROLES["base"], instruction.memory_base)
                yield register(_ROLES["index"], instruction.memory_index)
                yield _ROLES["displacement"], (_DISPLACEMENT, instruction.memory_displacement), None
        else:
            yield k, None, operand
    for k, used in enumerate(_ACCESSES.info(instruction).used_registers()):
        if RegisterExt.full_register(used.register) not in named:
            yield register(_ROLES["implicit"] + k, used.register)


def _described(code: bytes) -> dict[str, tuple[object, list[_Use]]]:
    """Notion -> shape of an instruction, and its names."""
    instruction = Decoder(64, code).decode()
    prefixes = (instruction.has_lock_prefix, instruction.has_rep_prefix, instruction.has_repne_prefix)
    uses = list(_uses(instruction))
    shape = (instruction.code, prefixes, *((role, rest, name and name[0]) for role, name, rest in uses))
    registers = [(role, name) for role, name, _ in uses if name and name[0] >= _REGISTER]
    constants = [(role, name) for role, name, _ in uses if name and name[0] < _REGISTER]
    return {
        "exact": (code, []),
        "registers": ((shape, *constants), registers),
        "constants": (shape, registers + constants),
    }


def shapes(encodings: list[bytes]) -> dict[str, Shapes]:
    """NOTIONS -> shapes and names of U distinct masked instructions."""
    numbers: dict[str, dict[object, int]] = {notion: {} for notion in NOTIONS}
    described: dict[str, list[tuple[int, list[_Use]]]] = {notion: [] for notion in NOTIONS}
    for code in encodings:
        for notion, (shape, uses) in _described(code).items():
            described[notion].append((numbers[notion].setdefault(shape, len(numbers[notion])), uses))
    return {notion: _arrays(of) for notion, of in described.items()}


def _arrays(described: list[tuple[int, list[_Use]]]) -> Shapes:
    names: dict[_Name, int] = {}
    uses = [use for _, of in described for use in of]
    return Shapes(
        shape=np.array([shape for shape, _ in described], np.int64),
        bounds=np.r_[0, np.cumsum([len(of) for _, of in described])].astype(np.int64),
        role=np.array([role for role, _ in uses], np.int64),
        name=np.array([names.setdefault(name, len(names)) for _, name in uses], np.int64),
        kind=np.array([name[0] for _, name in uses], np.int64),
    )
