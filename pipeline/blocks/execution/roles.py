"""What a block uses its registers for at the start: what makes a start state likely to run, and pointers to alias.

A guess, not a proof: whatever it misses makes a state fault and be replaced, never an outcome wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from iced_x86 import Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register, Register_, RegisterExt

from pipeline.blocks.dag.draft import Access
from pipeline.blocks.dag.effects import effects, explicit_displacement
from pipeline.blocks.execution.executable import Program
from pipeline.blocks.execution.states import FS_BASE, GS_BASE

_WRITES = (OpAccess.WRITE, OpAccess.COND_WRITE, OpAccess.READ_WRITE, OpAccess.READ_COND_WRITE)
_COPIES = {Mnemonic.MOV, Mnemonic.MOVSXD, Mnemonic.MOVSX, Mnemonic.MOVZX, Mnemonic.CMOVE, Mnemonic.CMOVNE}
_STEPS = {
    Mnemonic.ADD, Mnemonic.SUB, Mnemonic.INC, Mnemonic.DEC, Mnemonic.AND, Mnemonic.OR, Mnemonic.PUSH, Mnemonic.POP,
    Mnemonic.STOSB, Mnemonic.STOSD, Mnemonic.STOSQ, Mnemonic.MOVSB, Mnemonic.MOVSD, Mnemonic.MOVSQ, Mnemonic.LEAVE,
}  # fmt: skip
_BIT_TESTS = {Mnemonic.BT, Mnemonic.BTS, Mnemonic.BTR, Mnemonic.BTC}
_info = InstructionInfoFactory()


@dataclass(frozen=True)
class Operand:
    """A memory access whose address is known at the start, up to what the tracking misses."""

    at: int  # instruction
    base: int | None  # number of the register that holds, at the start, the address less `offset` and the index
    offset: int  # bytes; the address itself where there is no base
    index: int | None  # register number
    scale: int
    size: int  # bytes; 0: unknown
    writes: bool


@dataclass(frozen=True)
class Roles:
    bases: set[int]  # registers, by number, that hold addresses at the start
    indices: set[int]
    counts: set[int]  # rcx where shifts or `rep` use it
    divides: bool
    operands: list[Operand]
    chases: bool  # an address comes out of memory or of arithmetic
    floating: bool  # x87 or vector instructions


def _number(register: int) -> int | None:
    full = RegisterExt.full_register(cast(Register_, register))
    return RegisterExt.number(full) if RegisterExt.is_gpr(full) else None


class _Tracker:
    """Which start register each register still derives from, and by what constant offset."""

    def __init__(self) -> None:
        self.root: dict[int, tuple[int, int]] = {i: (i, 0) for i in range(16)}
        self.bases: set[int] = set()
        self.indices: set[int] = set()
        self.operands: list[Operand] = []
        self.chases = False

    def address(self, at: int, access: Access, displacement: int) -> None:
        offset = access.displacement + (displacement if access.explicit else 0)
        base, index = _number(access.base_register), _number(access.index_register)
        root = None if base is None else self.root.get(base)
        index_root = None if index is None else self.root.get(index)
        self.chases |= (base is not None and root is None) or (index is not None and index_root is None)
        if index_root is not None:
            self.indices.add(index_root[0])
            offset += index_root[1] * access.scale
        if root is not None:
            self.bases.add(root[0])
        if (base is None or root is not None) and (index is None or index_root is not None):
            offset += FS_BASE if access.segment == Register.FS else GS_BASE if access.segment == Register.GS else 0
            self.operands.append(
                Operand(
                    at,
                    None if root is None else root[0],
                    offset + (root[1] if root else 0),
                    None if index_root is None else index_root[0],
                    access.scale,
                    access.size,
                    access.writes,
                )
            )

    def lea(self, instruction: Instruction) -> None:
        base, index = _number(instruction.memory_base), _number(instruction.memory_index)
        target = _number(instruction.op0_register)
        root = self.root.get(base) if base is not None else None
        if index is not None and index in self.root:
            self.indices.add(self.root[index][0])
        self._set(target, None if root is None else (root[0], root[1] + instruction.memory_displacement))

    def _set(self, register: int | None, root: tuple[int, int] | None) -> None:
        if register is not None:
            if root is None:
                self.root.pop(register, None)
            else:
                self.root[register] = root

    def writes(self, instruction: Instruction) -> None:
        mnemonic = instruction.mnemonic
        if mnemonic == Mnemonic.LEA:
            self.lea(instruction)
            return
        written = {_number(r.register) for r in _info.info(instruction).used_registers() if r.access in _WRITES}
        for register in written - {None}:
            assert register is not None
            root = None
            first = instruction.op0_kind == OpKind.REGISTER and _number(instruction.op0_register) == register
            if mnemonic in _COPIES and first and instruction.op1_kind == OpKind.REGISTER:
                source = _number(instruction.op1_register)
                root = self.root.get(source) if source is not None else None
            elif register == 4 and instruction.is_stack_instruction and register in self.root:
                root = (self.root[4][0], self.root[4][1] + instruction.stack_pointer_increment)
            elif mnemonic in _STEPS and (first or mnemonic not in (Mnemonic.POP, Mnemonic.LEAVE)):
                root = self._stepped(instruction, register)
            self._set(register, root)

    def _stepped(self, instruction: Instruction, register: int) -> tuple[int, int] | None:
        root = self.root.get(register)
        if root is None or instruction.mnemonic == Mnemonic.POP:
            return None
        constant = instruction.op_count == 2 and instruction.op1_kind not in (OpKind.REGISTER, OpKind.MEMORY)
        if constant and instruction.mnemonic in (Mnemonic.ADD, Mnemonic.SUB):
            step = instruction.immediate(1)
            return root[0], root[1] + (step if instruction.mnemonic == Mnemonic.ADD else -step)
        return root


def written(program: Program) -> set[int]:
    """Numbers of the general registers that a block writes."""
    return {
        number
        for instruction in program.instructions
        for used in _info.info(instruction).used_registers()
        if used.access in _WRITES and (number := _number(used.register)) is not None
    }


def roles(program: Program) -> Roles:
    """Roles of the start's registers in a block."""
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
            counts |= {tracker.root[1][0]} if 1 in tracker.root else set()
        if mnemonic in _BIT_TESTS and instruction.op0_kind == OpKind.MEMORY and instruction.op1_kind == OpKind.REGISTER:
            offset = _number(instruction.op1_register)
            if offset in tracker.root:
                tracker.indices.add(tracker.root[offset][0])
        floating |= any(
            RegisterExt.is_vector_register(r.register) or RegisterExt.is_st(r.register) or RegisterExt.is_mm(r.register)
            for r in _info.info(instruction).used_registers()
        )
        tracker.writes(instruction)
    return Roles(
        tracker.bases, tracker.indices - tracker.bases, counts, divides, tracker.operands, tracker.chases, floating
    )
