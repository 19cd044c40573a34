"""Jumps to addresses that code computes, so that nobody can list where control may arrive.

The targets of most indirect jumps are listed: an entry of a table, loaded as an address or added as a distance to the
address of a place in data, or a pointer from elsewhere. A target is *computed* if anything else is done to it on the
way: a product of a number and a length, a constant that is added, a distance from a place in code.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import IntFlag
from typing import NamedTuple

import numpy as np
from iced_x86 import (
    FlowControl,
    Instruction,
    InstructionInfoFactory,
    MemorySize,
    Mnemonic,
    OpAccess,
    OpKind,
    Register,
    Register_,
    RegisterExt,
)


class Origin(IntFlag):
    """Where the value of a register may come from."""

    OUTSIDE = 1  # the caller, a called function
    LOADED = 2  # memory
    DATA = 4  # the address of a place outside of the code, or a constant
    CODE = 8  # the address of a place in the code
    COMPUTED = 16  # arithmetic
    RETURNED = 32  # the stack: perhaps the address at which the caller goes on


class Computed(NamedTuple):
    """A jump, call or return to an address that is computed."""

    instruction: int  # index
    from_return: bool  # the address may be computed from the one at which a caller goes on


_CALLS = (FlowControl.CALL, FlowControl.INDIRECT_CALL, FlowControl.INTERRUPT)
_ENDS = (FlowControl.UNCONDITIONAL_BRANCH, FlowControl.INDIRECT_BRANCH, FlowControl.RETURN, FlowControl.EXCEPTION)
_KEPT_BY_CALLS = {Register.RBX, Register.RBP, Register.R12, Register.R13, Register.R14, Register.R15, Register.RSP}
_LOADS = {Mnemonic.MOV, Mnemonic.MOVSXD, Mnemonic.MOVSX, Mnemonic.MOVZX}
_WRITES = (OpAccess.WRITE, OpAccess.COND_WRITE, OpAccess.READ_WRITE, OpAccess.READ_COND_WRITE)
_IMMEDIATES = (
    OpKind.IMMEDIATE32, OpKind.IMMEDIATE32TO64, OpKind.IMMEDIATE64, OpKind.IMMEDIATE8TO32, OpKind.IMMEDIATE8TO64,
)  # fmt: skip
_WORDS = (MemorySize.UINT64, MemorySize.INT64)
_NO_CHANGES = {Mnemonic.CMP, Mnemonic.TEST, Mnemonic.PUSH, Mnemonic.JMP, Mnemonic.CALL}
_SUMS = {Mnemonic.ADD, Mnemonic.SUB, Mnemonic.LEA}
_WORD = 8  # bytes
_DEEPEST = 100  # moves and sums that are followed
_NAMES = {value: name for name, value in vars(Mnemonic).items() if isinstance(value, int)}
_info_factory = InstructionInfoFactory()


class _Trace:
    """The origins of registers in a run of code."""

    def __init__(
        self, instructions: Sequence[Instruction], sources: Mapping[int, Sequence[int]], in_code: Sequence[bool]
    ) -> None:
        self._instructions, self._sources, self._in_code = instructions, sources, in_code
        self._open: set[tuple[Register_, int]] = set()  # questions that are being answered
        self._answers: dict[tuple[Register_, int], Origin] = {}
        self._written = [self.registers_written(instruction) for instruction in instructions]

    @staticmethod
    def registers_written(instruction: Instruction) -> frozenset[Register_]:
        used = _info_factory.info(instruction).used_registers()
        return frozenset(RegisterExt.full_register(u.register) for u in used if u.access in _WRITES)

    def before(self, register: Register_, place: int) -> Origin:
        """Origins of a register before the instruction at `place`, over all ways that lead there."""
        if (register, place) in self._answers:
            return self._answers[register, place]
        if (register, place) in self._open:
            return Origin.COMPUTED  # a loop that changes it
        if len(self._open) > _DEEPEST:
            return Origin.COMPUTED | Origin.RETURNED
        self._open.add((register, place))
        origins, seen, waiting = Origin(0), set[int](), [place]
        while waiting:
            k = waiting.pop()
            if k in seen:
                continue
            seen.add(k)
            if k == 0:
                origins |= Origin.OUTSIDE
            earlier = list(self._sources.get(k, ()))
            if k and self._instructions[k - 1].flow_control not in _ENDS:
                earlier.append(k - 1)
            for source in earlier:
                origins |= self._through(register, source, waiting)
        self._open.discard((register, place))
        self._answers[register, place] = origins
        return origins

    def _through(self, register: Register_, k: int, waiting: list[int]) -> Origin:
        """Origins that the instruction `k` gives a register; if it gives none, those before it are `waiting`."""
        instruction = self._instructions[k]
        if instruction.flow_control in _CALLS and register not in _KEPT_BY_CALLS:
            return Origin.OUTSIDE
        if register not in self._written[k]:
            waiting.append(k)
            return Origin(0)
        return self._written_by(register, k)

    def _written_by(self, register: Register_, k: int) -> Origin:
        """Origins of a register after instruction `k`, which writes it."""
        instruction = self._instructions[k]
        mnemonic, source = instruction.mnemonic, instruction.op1_kind if instruction.op_count > 1 else OpKind.REGISTER
        own = RegisterExt.full_register(instruction.op0_register)
        other = RegisterExt.full_register(instruction.op1_register) if source == OpKind.REGISTER else Register.NONE
        if instruction.op_count and RegisterExt.size(instruction.op0_register) < 4:
            return Origin.COMPUTED | self.before(register, k) & Origin.RETURNED
        if mnemonic == Mnemonic.POP:
            return Origin.RETURNED | Origin.LOADED
        if mnemonic in _LOADS and source == OpKind.MEMORY:
            at_stack = instruction.memory_base == Register.RSP and instruction.memory_displacement == 0
            return Origin.LOADED | (Origin.RETURNED if at_stack else Origin(0))
        if mnemonic in _LOADS and source in _IMMEDIATES:
            return Origin.CODE if self._in_code[k] else Origin.DATA
        if mnemonic in _LOADS:
            return self.before(other, k)
        if mnemonic == Mnemonic.CDQE:
            return self.before(Register.RAX, k)
        if mnemonic == Mnemonic.LEA and instruction.is_ip_rel_memory_operand:
            return Origin.CODE if self._in_code[k] else Origin.DATA
        if mnemonic == Mnemonic.LEA and instruction.memory_displacement == 0 and instruction.memory_index_scale == 1:
            parts = [r for r in (instruction.memory_base, instruction.memory_index) if r != Register.NONE]
            return self._sum([self.before(RegisterExt.full_register(r), k) for r in parts])
        if mnemonic in (Mnemonic.XOR, Mnemonic.SUB) and other == own:
            return Origin.DATA
        if mnemonic == Mnemonic.ADD and source == OpKind.MEMORY:
            return self._sum([self.before(own, k), Origin.LOADED])
        if mnemonic == Mnemonic.ADD and source == OpKind.REGISTER:
            return self._sum([self.before(own, k), self.before(other, k)])
        if _NAMES[mnemonic].startswith("CMOV"):
            moved = Origin.LOADED if source == OpKind.MEMORY else self.before(other, k)
            return self.before(own, k) | moved
        return Origin.COMPUTED | self.before(register, k) & Origin.RETURNED

    def changes_of_code_addresses(self) -> Iterator[int]:
        """Instructions that add to the address of a place in code, for a jump that may be elsewhere."""
        holding: set[Register_] = set()  # registers that such an address may reach
        holders = (i for i, in_code in zip(self._instructions, self._in_code, strict=True) if in_code)
        holding |= {RegisterExt.full_register(i.op0_register) for i in holders if i.op0_kind == OpKind.REGISTER}
        size = 0
        while len(holding) > size:
            size = len(holding)
            moves = (i for i in self._instructions if i.mnemonic == Mnemonic.MOV and i.op1_kind == OpKind.REGISTER)
            for move in moves:
                if RegisterExt.full_register(move.op1_register) in holding and move.op0_kind == OpKind.REGISTER:
                    holding.add(RegisterExt.full_register(move.op0_register))
        for k, instruction in enumerate(self._instructions if holding else ()):
            registers = _summed(instruction)
            if any(r in holding and self.before(r, k) & Origin.CODE for r in registers):
                yield k

    @staticmethod
    def _sum(parts: Sequence[Origin]) -> Origin:
        """Of a sum: an entry of a table of distances and the place in data that they count from, or computed."""
        if len(parts) == 1:
            return parts[0]
        loaded = [part for part in parts if part & Origin.LOADED and not part & ~(Origin.LOADED | Origin.RETURNED)]
        bases = [part for part in parts if part == Origin.DATA]
        returned = (parts[0] | parts[1]) & Origin.RETURNED
        return Origin.LOADED if loaded and bases and not returned else Origin.COMPUTED | returned


def _summed(instruction: Instruction) -> list[Register_]:
    """Registers that an instruction adds something to, for an address."""
    if instruction.mnemonic not in _SUMS or instruction.op0_kind != OpKind.REGISTER:
        return []
    if RegisterExt.size(instruction.op0_register) < 8 or instruction.op0_register == Register.RSP:
        return []
    if instruction.mnemonic == Mnemonic.LEA:
        is_move = instruction.memory_index == Register.NONE and instruction.memory_displacement == 0
        registers = [] if is_move else [instruction.memory_base, instruction.memory_index]
    else:
        registers = [instruction.op0_register]
        registers += [instruction.op1_register] if instruction.op1_kind == OpKind.REGISTER else []
    return [RegisterExt.full_register(r) for r in registers if r not in (Register.NONE, Register.RIP)]


def computed_jumps(
    instructions: Sequence[Instruction], sources: Mapping[int, Sequence[int]], in_code: Sequence[bool]
) -> list[Computed]:
    """The jumps, calls and returns of a run of code whose targets are computed, and sums with an address of code.

    sources: instruction -> the direct branches in the run that lead to it. in_code: of each instruction, whether the
    place that its constant or its rip-relative operand names is in code.
    """
    trace = _Trace(instructions, sources, in_code)
    rows: list[Computed] = []
    for k, instruction in enumerate(instructions):
        flow = instruction.flow_control
        if flow in (FlowControl.INDIRECT_BRANCH, FlowControl.INDIRECT_CALL):
            if instruction.op0_kind != OpKind.REGISTER:
                continue
            origin = trace.before(RegisterExt.full_register(instruction.op0_register), k)
        elif flow == FlowControl.RETURN and k:
            origin = _of_return(trace, instructions[k - 1], k - 1)
        else:
            continue
        if origin & Origin.COMPUTED:
            rows.append(Computed(k, bool(origin & Origin.RETURNED)))
    rows += [Computed(k, from_return=True) for k in _changes_of_return(trace, instructions, sources)]
    return rows + [Computed(k, from_return=False) for k in trace.changes_of_code_addresses()]


def _changes_of_return(
    trace: _Trace, instructions: Sequence[Instruction], sources: Mapping[int, Sequence[int]]
) -> Iterator[int]:
    """Instructions that write another address to where the caller's lies, so that it does not go on after its call.

    Only as far as the depth of the stack is certain.
    """
    has_frame = any(
        i.mnemonic == Mnemonic.MOV and (i.op0_register, i.op1_register) == (Register.RBP, Register.RSP)
        for i in instructions
    )
    depths: dict[int, int] = {}  # bytes from the top of the stack to the caller's address, before each instruction
    depth: int | None = 0
    for k, instruction in enumerate(instructions):
        if k and instructions[k - 1].flow_control in _ENDS:
            depth = next((depths[source] for source in sources.get(k, ()) if source in depths), None)
        if depth is None:
            continue
        depths[k] = depth
        register = Register.NONE
        if instruction.mnemonic == Mnemonic.PUSH and depth == -_WORD and instruction.op0_kind == OpKind.REGISTER:
            register = instruction.op0_register
        elif _is_at(instruction, Register.RSP, depth) or (has_frame and _is_at(instruction, Register.RBP, _WORD)):
            if instruction.mnemonic != Mnemonic.MOV:
                yield k
            elif instruction.op1_kind == OpKind.REGISTER and instruction.memory_base == Register.RSP:
                register = instruction.op1_register
        if register != Register.NONE and trace.before(RegisterExt.full_register(register), k) & Origin.COMPUTED:
            yield k
        depth = _depth_after(instruction, depth)


def _is_at(instruction: Instruction, base: Register_, displacement: int) -> bool:
    """Whether an instruction writes a word at a distance from a register."""
    by_base = instruction.memory_base == base and instruction.memory_index == Register.NONE
    into_memory = instruction.op_count > 0 and instruction.op0_kind == OpKind.MEMORY
    writes = instruction.memory_size in _WORDS and instruction.mnemonic not in _NO_CHANGES
    if instruction.op_count == 2 and instruction.op1_kind in _IMMEDIATES and instruction.immediate(1) == 0:
        writes &= instruction.mnemonic not in (Mnemonic.OR, Mnemonic.ADD)  # with `lock`, a fence
    return by_base and into_memory and writes and instruction.memory_displacement == displacement


def _depth_after(instruction: Instruction, depth: int) -> int | None:
    """The depth of the stack after an instruction; None if it is not certain."""
    if instruction.flow_control in _CALLS:
        return depth
    change = instruction.stack_pointer_increment
    if change or Register.RSP not in _Trace.registers_written(instruction):
        return depth - change
    if instruction.op_count > 1 and instruction.op1_kind in _IMMEDIATES:
        if instruction.mnemonic == Mnemonic.SUB:
            return depth + _signed(instruction.immediate(1))
        if instruction.mnemonic == Mnemonic.ADD:
            return depth - _signed(instruction.immediate(1))
    if instruction.mnemonic == Mnemonic.LEA and instruction.memory_base == Register.RSP:
        return depth - _signed(instruction.memory_displacement)
    return None


def _signed(number: int) -> int:
    """A number of 64 bits with its sign."""
    return (number & (1 << 64) - 1 ^ 1 << 63) - (1 << 63)


def may_change_return(instruction: Instruction) -> bool:
    """Whether an instruction may change the caller's address on the stack: it reads and writes a word by rsp or rbp."""
    at_frame = _is_at(instruction, Register.RBP, _WORD)
    at_stack = _is_at(instruction, Register.RSP, instruction.memory_displacement)
    return (at_frame or at_stack) and instruction.mnemonic != Mnemonic.MOV


def pops_first(instructions: Sequence[Instruction], form: np.ndarray, owner: np.ndarray) -> np.ndarray:
    """Owners, ascending, whose first instruction that pushes or pops is a pop: perhaps of the caller's address.

    instructions: an example of each form; form, owner: (N,) of the instructions in the order of the code.
    """
    pops = np.array([i.mnemonic == Mnemonic.POP for i in instructions], bool)
    moves = pops | np.array([i.mnemonic == Mnemonic.PUSH for i in instructions], bool)
    rows = np.flatnonzero(moves[form])
    owners, first = np.unique(owner[rows], return_index=True)
    chosen: np.ndarray = owners[pops[form[rows[first]]]]
    return chosen


def may_write_return(instruction: Instruction) -> bool:
    """Whether an instruction may write the word at the top of the stack, to which a return after it leads."""
    at_top = instruction.memory_base == Register.RSP and instruction.memory_displacement == 0
    into_memory = instruction.op_count > 0 and instruction.op0_kind == OpKind.MEMORY
    return instruction.mnemonic == Mnemonic.PUSH or (into_memory and at_top)


def _of_return(trace: _Trace, last: Instruction, k: int) -> Origin:
    """Origin of the address that a return takes, if the instruction before it, the k-th, writes it."""
    if last.mnemonic == Mnemonic.PUSH and last.op0_kind == OpKind.REGISTER:
        return trace.before(RegisterExt.full_register(last.op0_register), k)
    if _is_at(last, Register.RSP, 0):
        if last.mnemonic == Mnemonic.MOV and last.op1_kind == OpKind.REGISTER:
            return trace.before(RegisterExt.full_register(last.op1_register), k)
        return Origin.COMPUTED | Origin.RETURNED
    return Origin.OUTSIDE
