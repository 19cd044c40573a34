"""The roles of a block's registers at the start, from which start states are drawn that run, or whose pointers alias.

The roles are a guess. An error in them makes a state fault, so that it is replaced; it never makes an outcome wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, cast

from iced_x86 import Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register, Register_, RegisterExt

from learned_schedulers.blocks.dag.draft import Access
from learned_schedulers.blocks.dag.effects import effects, explicit_displacement
from learned_schedulers.blocks.run.executable import Program
from learned_schedulers.blocks.run.states import FS_BASE, GS_BASE

_WRITES = (OpAccess.WRITE, OpAccess.COND_WRITE, OpAccess.READ_WRITE, OpAccess.READ_COND_WRITE)
_COPIES = {Mnemonic.MOV, Mnemonic.MOVSXD, Mnemonic.MOVSX, Mnemonic.MOVZX, Mnemonic.CMOVE, Mnemonic.CMOVNE}
_STEPS = {
    Mnemonic.ADD, Mnemonic.SUB, Mnemonic.INC, Mnemonic.DEC, Mnemonic.AND, Mnemonic.OR, Mnemonic.PUSH, Mnemonic.POP,
    Mnemonic.STOSB, Mnemonic.STOSD, Mnemonic.STOSQ, Mnemonic.MOVSB, Mnemonic.MOVSD, Mnemonic.MOVSQ, Mnemonic.LEAVE,
}  # fmt: skip
_BIT_TESTS = {Mnemonic.BT, Mnemonic.BTS, Mnemonic.BTR, Mnemonic.BTC}
_info_factory = InstructionInfoFactory()


class _Origin(NamedTuple):
    """A register's value in terms of the start: that of `register`, plus `offset`."""

    register: int
    offset: int


@dataclass(frozen=True)
class Operand:
    """A memory access whose address is known at the start, as far as the tracking goes."""

    at: int  # instruction
    base: int | None  # number of the register that holds, at the start, the address without `offset` and index
    offset: int  # bytes; the address itself if there is no base
    index: int | None  # register number
    scale: int
    size: int  # bytes; 0: unknown
    writes: bool


@dataclass(frozen=True)
class Roles:
    """Roles of registers, by number, and properties of the block that matter for its start states."""

    bases: set[int]  # registers that hold addresses at the start
    indices: set[int]
    counts: set[int]  # rcx, if shifts or `rep` use it
    divides: bool
    operands: list[Operand]
    chases: bool  # an address comes from memory or from arithmetic
    floating: bool  # x87 or vector instructions


def _number(register: int) -> int | None:
    full = RegisterExt.full_register(cast(Register_, register))
    return RegisterExt.number(full) if RegisterExt.is_gpr(full) else None


class _Tracker:
    """The origin of each register's present value, as long as it is known."""

    def __init__(self) -> None:
        self.origins: dict[int, _Origin] = {i: _Origin(i, 0) for i in range(16)}
        self.bases: set[int] = set()
        self.indices: set[int] = set()
        self.operands: list[Operand] = []
        self.chases = False

    def address(self, at: int, access: Access, displacement: int) -> None:
        offset = access.displacement + (displacement if access.explicit else 0)
        base, index = _number(access.base_register), _number(access.index_register)
        origin = None if base is None else self.origins.get(base)
        index_origin = None if index is None else self.origins.get(index)
        self.chases |= (base is not None and origin is None) or (index is not None and index_origin is None)
        if index_origin is not None:
            self.indices.add(index_origin.register)
            offset += index_origin.offset * access.scale
        if origin is not None:
            self.bases.add(origin.register)
        if (base is None or origin is not None) and (index is None or index_origin is not None):
            offset += FS_BASE if access.segment == Register.FS else GS_BASE if access.segment == Register.GS else 0
            self.operands.append(
                Operand(
                    at,
                    None if origin is None else origin.register,
                    offset + (origin.offset if origin else 0),
                    None if index_origin is None else index_origin.register,
                    access.scale,
                    access.size,
                    access.writes,
                )
            )

    def _follow_lea(self, instruction: Instruction) -> None:
        base, index = _number(instruction.memory_base), _number(instruction.memory_index)
        target = _number(instruction.op0_register)
        origin = self.origins.get(base) if base is not None else None
        if index is not None and index in self.origins:
            self.indices.add(self.origins[index].register)
        self._set(
            target, None if origin is None else origin._replace(offset=origin.offset + instruction.memory_displacement)
        )

    def _set(self, register: int | None, origin: _Origin | None) -> None:
        if register is not None:
            if origin is None:
                self.origins.pop(register, None)
            else:
                self.origins[register] = origin

    def writes(self, instruction: Instruction) -> None:
        mnemonic = instruction.mnemonic
        if mnemonic == Mnemonic.LEA:
            self._follow_lea(instruction)
            return
        written_numbers = {
            _number(used.register)
            for used in _info_factory.info(instruction).used_registers()
            if used.access in _WRITES
        }
        for register in written_numbers - {None}:
            assert register is not None
            origin = None
            first = instruction.op0_kind == OpKind.REGISTER and _number(instruction.op0_register) == register
            if mnemonic in _COPIES and first and instruction.op1_kind == OpKind.REGISTER:
                source = _number(instruction.op1_register)
                origin = self.origins.get(source) if source is not None else None
            elif register == 4 and instruction.is_stack_instruction and register in self.origins:
                stack = self.origins[4]
                origin = stack._replace(offset=stack.offset + instruction.stack_pointer_increment)
            elif mnemonic in _STEPS and (first or mnemonic not in (Mnemonic.POP, Mnemonic.LEAVE)):
                origin = self._stepped(instruction, register)
            self._set(register, origin)

    def _stepped(self, instruction: Instruction, register: int) -> _Origin | None:
        origin = self.origins.get(register)
        if origin is None or instruction.mnemonic == Mnemonic.POP:
            return None
        constant = instruction.op_count == 2 and instruction.op1_kind not in (OpKind.REGISTER, OpKind.MEMORY)
        if constant and instruction.mnemonic in (Mnemonic.ADD, Mnemonic.SUB):
            step = instruction.immediate(1)
            return origin._replace(offset=origin.offset + (step if instruction.mnemonic == Mnemonic.ADD else -step))
        return origin


def roles(program: Program) -> Roles:
    """The roles of a block's registers at the start."""
    tracker = _Tracker()
    counts: set[int] = set()
    divides = floating = False
    for at, instruction in enumerate(program.instructions):
        displacement = explicit_displacement(instruction)
        for access in effects(instruction).accesses:
            tracker.address(at, access, displacement)
        mnemonic = instruction.mnemonic
        divides |= mnemonic in (Mnemonic.DIV, Mnemonic.IDIV)
        last = instruction.op_count - 1
        by_cl = last == 1 and instruction.op1_kind == OpKind.REGISTER and instruction.op1_register == Register.CL
        if by_cl or instruction.has_rep_prefix or instruction.has_repne_prefix:
            counts |= {tracker.origins[1].register} if 1 in tracker.origins else set()
        if mnemonic in _BIT_TESTS and instruction.op0_kind == OpKind.MEMORY and instruction.op1_kind == OpKind.REGISTER:
            bit_offset_register = _number(instruction.op1_register)
            if bit_offset_register in tracker.origins:
                tracker.indices.add(tracker.origins[bit_offset_register].register)
        floating |= any(
            RegisterExt.is_vector_register(used.register)
            or RegisterExt.is_st(used.register)
            or RegisterExt.is_mm(used.register)
            for used in _info_factory.info(instruction).used_registers()
        )
        tracker.writes(instruction)
    return Roles(
        tracker.bases, tracker.indices - tracker.bases, counts, divides, tracker.operands, tracker.chases, floating
    )
