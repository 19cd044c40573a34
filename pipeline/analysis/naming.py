"""Instructions without their names: what is left of one when registers, or constants too, may be called otherwise.

A *name* is a register or a constant; an instruction uses it in a *role* (operand 0, base, ...). A *shape* is all the
rest: opcode, operand sizes, scale, prefixes. The stack pointer and what is no general or vector register keep their
names. A register that an opcode uses without naming it (`mul`, `cqo`) is a name in a role of that opcode, so that no
renaming can take it from there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
from iced_x86 import (
    Decoder,
    Instruction,
    InstructionInfoFactory,
    OpKind,
    Register,
    Register_,
    RegisterExt,
)

NOTIONS = ("exact", "registers", "constants")  # nothing renamed; registers; registers and constants
_DISPLACEMENT, _IMMEDIATE, _REGISTER = 1, 2, 3  # classes of names; registers: _REGISTER + whether of vectors
_ROLES = {"base": 16, "index": 17, "displacement": 18, "implicit": 32}  # operands: their number; immediates: 8 more
_HIGH = (Register.AH, Register.BH, Register.CH, Register.DH)
IMMEDIATE_KINDS = {value for name, value in vars(OpKind).items() if name.startswith("IMMEDIATE")}
_info = InstructionInfoFactory()


@dataclass(frozen=True)
class Shapes:
    """U distinct instructions under one notion of renaming."""

    shape: np.ndarray  # (U,) int64: equal for instructions that differ in names alone
    bounds: np.ndarray  # (U + 1,) int64: names of instruction u are bounds[u] : bounds[u + 1]
    role: np.ndarray  # int64
    name: np.ndarray  # int64: equal for the same register or constant, across instructions
    kind: np.ndarray  # int64: class of the name; names of two classes are never exchanged


_Use = tuple[int, tuple[int, int]]  # role, (class, value)


@cache
def _register(register: Register_) -> tuple[object, int, int]:
    """What of a register belongs to the shape, its class (0: keeps its name), and the whole register."""
    whole = RegisterExt.full_register(register)
    vector = RegisterExt.is_vector_register(register)
    if not vector and (not RegisterExt.is_gpr(register) or whole == Register.RSP):
        return register, 0, whole
    return (RegisterExt.size(register), register in _HIGH), _REGISTER + vector, whole


def _uses(instruction: Instruction) -> Iterator[tuple[int, tuple[int, int] | None, object]]:
    """(role, name or none, what belongs to the shape) of all operands, and of registers used without being named."""
    said: set[int] = set()

    def register(role: int, one: Register_) -> tuple[int, tuple[int, int] | None, object]:
        rest, kind, whole = _register(one)
        said.add(whole)
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
    for k, used in enumerate(_info.info(instruction).used_registers()):
        if RegisterExt.full_register(used.register) not in said:
            yield register(_ROLES["implicit"] + k, used.register)


def _describe(instruction: Instruction) -> tuple[object, list[_Use], list[_Use]]:
    """Shape, registers and constants of an instruction."""
    prefixes = (instruction.has_lock_prefix, instruction.has_rep_prefix, instruction.has_repne_prefix)
    shape: list[object] = [instruction.code, prefixes]
    registers: list[_Use] = []
    constants: list[_Use] = []
    for role, name, rest in _uses(instruction):
        shape.append((role, rest, name and name[0]))
        if name is not None:
            (registers if name[0] >= _REGISTER else constants).append((role, name))
    return tuple(shape), registers, constants


def shapes(encodings: list[bytes]) -> dict[str, Shapes]:
    """NOTIONS -> what is left of U distinct masked instructions."""
    numbers: dict[str, dict[object, int]] = {notion: {} for notion in NOTIONS}
    names: dict[tuple[int, int], int] = {}
    shape = {notion: np.empty(len(encodings), np.int64) for notion in NOTIONS}
    used: dict[str, list[list[_Use]]] = {notion: [] for notion in NOTIONS}
    for row, code in enumerate(encodings):
        described, registers, constants = _describe(Decoder(64, code).decode())
        left: dict[str, object] = {
            "exact": code,
            "registers": (described, tuple(constants)),
            "constants": described,
        }
        for notion in NOTIONS:
            shape[notion][row] = numbers[notion].setdefault(left[notion], len(numbers[notion]))
        used["exact"].append([])
        used["registers"].append(registers)
        used["constants"].append(registers + constants)
        for _, name in registers + constants:
            names.setdefault(name, len(names))
    return {notion: _arrays(shape[notion], used[notion], names) for notion in NOTIONS}


def _arrays(shape: np.ndarray, used: list[list[_Use]], names: dict[tuple[int, int], int]) -> Shapes:
    flat = [use for uses in used for use in uses]
    return Shapes(
        shape=shape,
        bounds=np.r_[0, np.cumsum([len(uses) for uses in used])].astype(np.int64),
        role=np.array([role for role, _ in flat], np.int64),
        name=np.array([names[name] for _, name in flat], np.int64),
        kind=np.array([name[0] for _, name in flat], np.int64),
    )
