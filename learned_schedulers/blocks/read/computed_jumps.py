"""Jumps to addresses that code computes, so that nobody can list where control may arrive.

The targets of most indirect jumps are listed: an entry of a table, loaded as an address or added as a distance to the
address of a place in data, or a pointer from elsewhere. A target is *computed* if anything else is done to it on the
way, in registers or where it lies in memory: a product of a number and a length, a constant that is added, a distance
from a place in code.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from enum import IntFlag
from functools import cached_property
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from iced_x86 import (
    FlowControl,
    Instruction,
    InstructionInfoFactory,
    Mnemonic,
    OpAccess,
    OpKind,
    Register,
    Register_,
    RegisterExt,
)

from learned_schedulers.blocks.read.stack_depth import HALVES, IMMEDIATES, WORD, WORDS, depths, sets_frame, writes_word


class Origin(IntFlag):
    """Where the value of a register may come from."""

    OUTSIDE = 1  # the caller, a called function
    LOADED = 2  # memory
    DATA = 4  # the address of a place outside of the code, or a constant
    CODE = 8  # the address of a place in the code
    COMPUTED = 16  # arithmetic
    RETURNED = 32  # the stack: perhaps the address at which the caller goes on
    CHANGED = 64  # arithmetic on a word in memory, where it lies


class Computed(NamedTuple):
    """A jump, call or return to an address that is computed."""

    instruction: int  # index
    from_return: bool  # the address may be computed from the one at which a caller goes on
    in_memory: bool = False  # it is changed where it lies in memory


_CALLS = (FlowControl.CALL, FlowControl.INDIRECT_CALL, FlowControl.INTERRUPT)
_ENDS = (FlowControl.UNCONDITIONAL_BRANCH, FlowControl.INDIRECT_BRANCH, FlowControl.RETURN, FlowControl.EXCEPTION)
_KEPT_BY_CALLS = {Register.RBX, Register.RBP, Register.R12, Register.R13, Register.R14, Register.R15, Register.RSP}
_ONLY_WRITES = (OpAccess.WRITE, OpAccess.COND_WRITE)
_GENERAL = {
    Register.RAX, Register.RCX, Register.RDX, Register.RBX, Register.RBP, Register.RSI, Register.RDI, Register.R8,
    Register.R9, Register.R10, Register.R11, Register.R12, Register.R13, Register.R14, Register.R15,
}  # fmt: skip
_STORES = {Mnemonic.MOV, Mnemonic.XCHG, Mnemonic.CMPXCHG}
_LOADS = {Mnemonic.MOV, Mnemonic.MOVSXD, Mnemonic.MOVSX, Mnemonic.MOVZX}
_WRITES = (OpAccess.WRITE, OpAccess.COND_WRITE, OpAccess.READ_WRITE, OpAccess.READ_COND_WRITE)
_SUMS = {Mnemonic.ADD, Mnemonic.SUB, Mnemonic.LEA}
_DEEPEST = 100  # moves and sums that are followed
_NAMES = {value: name for name, value in vars(Mnemonic).items() if isinstance(value, int)}
_info_factory = InstructionInfoFactory()


class _Trace:
    """The origins of registers in a run of code."""

    def __init__(
        self,
        instructions: Sequence[Instruction],
        sources: Mapping[int, Sequence[int]],
        in_code: Sequence[bool],
        linked: Mapping[int, Hashable],
    ) -> None:
        self._instructions, self._sources, self._in_code, self._linked = instructions, sources, in_code, linked
        self.depths = depths(instructions, sources)
        self._has_frame = any(map(sets_frame, instructions))
        self._open: set[tuple[Register_, int]] = set()  # questions that are being answered
        self._indirect = [k for k, i in enumerate(instructions) if i.flow_control == FlowControl.INDIRECT_BRANCH]
        self._answers: dict[tuple[Register_, int], Origin] = {}
        self._writes: dict[int, frozenset[Register_]] = {}

    def registers_written(self, k: int) -> frozenset[Register_]:
        """The registers that instruction `k` writes, whole; asked of few instructions."""
        if k not in self._writes:
            used = _info_factory.info(self._instructions[k]).used_registers()
            self._writes[k] = frozenset(RegisterExt.full_register(u.register) for u in used if u.access in _WRITES)
        return self._writes[k]

    def is_return(self, k: int) -> bool:
        """Whether instruction `k` accesses the place of the caller's address, as far as that is certain."""
        instruction = self._instructions[k]
        if instruction.memory_index != Register.NONE:
            return False
        by_frame = self._has_frame and instruction.memory_base == Register.RBP
        depth = WORD if by_frame else self.depths[k] if instruction.memory_base == Register.RSP else None
        return depth is not None and instruction.memory_displacement == depth

    def before(self, register: Register_, place: int) -> Origin:
        """Origins of a register before the instruction at `place`, over all ways that lead there."""
        if (register, place) in self._answers:
            return self._answers[register, place]
        if (register, place) in self._open:
            return Origin.COMPUTED  # a loop that changes it
        if len(self._open) > _DEEPEST:
            return Origin.COMPUTED | Origin.RETURNED
        self._open.add((register, place))
        origins, visited, waiting = Origin(0), set[int](), [place]
        while waiting:
            k = waiting.pop()
            if k in visited:
                continue
            visited.add(k)
            if k == 0:
                origins |= Origin.OUTSIDE
            for source in self._earlier(k):
                origins |= self._through(register, source, waiting)
        self._open.discard((register, place))
        self._answers[register, place] = origins
        return origins

    def _earlier(self, k: int) -> Sequence[int]:
        """The instructions from which control arrives at instruction `k`."""
        earlier = list(self._sources.get(k, ()))
        if k and self._instructions[k - 1].flow_control not in _ENDS:
            earlier.append(k - 1)
        return earlier or self._indirect  # a case of a switch

    def _word(self, k: int) -> tuple[Hashable, ...]:
        """What instruction `k` accesses in memory, as its operand names it."""
        i = self._instructions[k]
        registers = (i.memory_segment, i.memory_base, i.memory_index, i.memory_index_scale)
        return (*registers, self._linked.get(k, i.memory_displacement))

    @cached_property
    def _writers(self) -> dict[tuple[Hashable, ...], list[int]]:
        """The instructions that write each word of memory."""
        writers: dict[tuple[Hashable, ...], list[int]] = {}
        for k, instruction in enumerate(self._instructions):
            if writes_word(instruction, (*WORDS, *HALVES)):
                writers.setdefault(self._word(k), []).append(k)
        return writers

    def loaded(self, k: int) -> Origin:
        """Origins of the word that instruction `k` takes from memory, which code may have changed there."""
        instruction, word = self._instructions[k], self._word(k)
        origin = Origin.LOADED | (Origin.RETURNED if self.is_return(k) else Origin(0))
        writers = self._writers.get(word, [])
        parts = {instruction.memory_base, instruction.memory_index} - {Register.NONE, Register.RIP}
        if parts:  # the same word only while these registers stay
            writers = self._last_of(writers, {RegisterExt.full_register(register) for register in parts}, k)
        for writer in writers:
            other = self._instructions[writer]
            if other.mnemonic not in _STORES:
                origin |= Origin.COMPUTED | Origin.CHANGED
            elif other.op1_kind == OpKind.REGISTER:
                stored = self.before(RegisterExt.full_register(other.op1_register), writer)
                origin |= stored & (Origin.COMPUTED | Origin.RETURNED | Origin.CHANGED)
        return origin

    def _last_of(self, writers: Sequence[int], registers: set[Register_], place: int) -> list[int]:
        """Those of the writers of a word that control may come from without a change of the registers that name it."""
        last, visited, waiting = list[int](), set[int](), [place] if writers else []
        while waiting:
            for k in self._earlier(waiting.pop()):
                if k in visited:
                    continue
                visited.add(k)
                is_call = self._instructions[k].flow_control in _CALLS
                if k in writers:
                    last.append(k)
                elif not registers & self.registers_written(k) and not (is_call and registers - _KEPT_BY_CALLS):
                    waiting.append(k)
        return last

    def _through(self, register: Register_, k: int, waiting: list[int]) -> Origin:
        """Origins that the instruction `k` gives a register; if it gives none, those before it are `waiting`."""
        instruction = self._instructions[k]
        if instruction.flow_control in _CALLS and register not in _KEPT_BY_CALLS:
            return Origin.OUTSIDE
        if register not in self.registers_written(k):
            waiting.append(k)
            return Origin(0)
        return self._written_by(k)

    def _written_by(self, k: int) -> Origin:
        """Origins of the register that instruction `k` writes."""
        instruction = self._instructions[k]
        mnemonic, source = instruction.mnemonic, instruction.op1_kind if instruction.op_count > 1 else OpKind.REGISTER
        written = RegisterExt.full_register(instruction.op0_register)
        other = RegisterExt.full_register(instruction.op1_register) if source == OpKind.REGISTER else Register.NONE
        if instruction.op_count and RegisterExt.size(instruction.op0_register) < 4:
            return self._computed(k)
        if mnemonic == Mnemonic.POP:
            return Origin.RETURNED | Origin.LOADED
        if mnemonic in _LOADS and source == OpKind.MEMORY:
            return self.loaded(k)
        if mnemonic in _LOADS and source in IMMEDIATES:
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
        if mnemonic in (Mnemonic.XOR, Mnemonic.SUB) and other == written:
            return Origin.DATA
        if mnemonic == Mnemonic.ADD and source == OpKind.MEMORY:
            return self._sum([self.before(written, k), self.loaded(k)])
        if mnemonic == Mnemonic.ADD and source == OpKind.REGISTER:
            return self._sum([self.before(written, k), self.before(other, k)])
        if _NAMES[mnemonic].startswith("CMOV"):
            moved = self.loaded(k) if source == OpKind.MEMORY else self.before(other, k)
            return self.before(written, k) | moved
        return self._computed(k)

    def _computed(self, k: int) -> Origin:
        """Origin of a value that instruction `k` computes from the registers that it reads."""
        used = _info_factory.info(self._instructions[k]).used_registers()
        read = {RegisterExt.full_register(u.register) for u in used if u.access not in _ONLY_WRITES}
        values = (self.before(register, k) for register in sorted(read & _GENERAL))
        return Origin.COMPUTED | (Origin.RETURNED if any(value & Origin.RETURNED for value in values) else Origin(0))

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
    instructions: Sequence[Instruction],
    sources: Mapping[int, Sequence[int]],
    in_code: Sequence[bool],
    linked: Mapping[int, Hashable] = MappingProxyType({}),
) -> list[Computed]:
    """The jumps, calls and returns of a run of code whose targets are computed, and sums with an address of code.

    sources: instruction -> the direct branches in the run that lead to it. in_code: of each instruction, whether the
    place that its constant or its rip-relative operand names is in code. linked: instruction -> what the linker puts
    into the displacement of its memory operand, where that is not in its bytes.
    """
    trace = _Trace(instructions, sources, in_code, linked)
    rows: list[Computed] = []
    for k, instruction in enumerate(instructions):
        flow = instruction.flow_control
        if flow in (FlowControl.INDIRECT_BRANCH, FlowControl.INDIRECT_CALL):
            by_register = instruction.op0_kind == OpKind.REGISTER
            register = RegisterExt.full_register(instruction.op0_register) if by_register else Register.NONE
            origin = trace.before(register, k) if by_register else trace.loaded(k)
        elif flow == FlowControl.RETURN and k:
            origin = _of_return(trace, instructions[k - 1], k - 1)
        else:
            continue
        if origin & Origin.COMPUTED:
            rows.append(Computed(k, bool(origin & Origin.RETURNED), bool(origin & Origin.CHANGED)))
    rows += [Computed(k, from_return=True) for k in _changes_of_return(trace, instructions)]
    return rows + [Computed(k, from_return=False) for k in trace.changes_of_code_addresses()]


def _changes_of_return(trace: _Trace, instructions: Sequence[Instruction]) -> Iterator[int]:
    """Instructions that write another address to where the caller's lies, so that it does not go on after its call."""
    for k, instruction in enumerate(instructions):
        depth, register = trace.depths[k], Register.NONE
        if instruction.mnemonic == Mnemonic.PUSH and depth == -WORD and instruction.op0_kind == OpKind.REGISTER:
            register = instruction.op0_register
        elif instruction.mnemonic == Mnemonic.POP and depth == 0 and instruction.op0_kind == OpKind.MEMORY:
            yield k
        elif trace.is_return(k) and writes_word(instruction):
            if instruction.mnemonic != Mnemonic.MOV:
                yield k
            elif instruction.op1_kind == OpKind.REGISTER:
                register = instruction.op1_register
        if register != Register.NONE and trace.before(RegisterExt.full_register(register), k) & Origin.COMPUTED:
            yield k


def may_compute(examples: Sequence[Instruction], form: np.ndarray, owner: np.ndarray) -> np.ndarray:
    """Owners, ascending, that jump or call indirectly, may return elsewhere, or may change the caller's address.

    examples: an instruction of each form; form, owner: (N,) of the instructions in the order of the code.
    """

    def flags(condition: Callable[[Instruction], bool]) -> np.ndarray:
        return np.array([condition(example) for example in examples], bool)[form]

    returns = flags(lambda e: e.flow_control == FlowControl.RETURN)
    returns[1:] &= flags(_may_write_return)[:-1]
    pops = flags(lambda e: e.mnemonic == Mnemonic.POP)
    moves = np.flatnonzero(pops | flags(lambda e: e.mnemonic == Mnemonic.PUSH))
    owners, first = np.unique(owner[moves], return_index=True)
    popping = owners[pops[moves[first]]]  # what it pops first may be the caller's address
    return np.union1d(owner[flags(_is_indirect) | returns | flags(_may_change_return)], popping)


def _is_indirect(instruction: Instruction) -> bool:
    """Whether it jumps to, or calls, an address in a register or in memory."""
    return instruction.flow_control in (FlowControl.INDIRECT_BRANCH, FlowControl.INDIRECT_CALL)


def _may_change_return(instruction: Instruction) -> bool:
    """Whether it may change the caller's address on the stack: it writes a word there."""
    by_stack = instruction.memory_base == Register.RSP and instruction.memory_index == Register.NONE
    by_frame = instruction.memory_base == Register.RBP and instruction.memory_displacement == WORD
    return writes_word(instruction) and (by_stack or by_frame)


def _may_write_return(instruction: Instruction) -> bool:
    """Whether it may write the word at the top of the stack, to which a return after it leads."""
    at_top = instruction.memory_base == Register.RSP and instruction.memory_displacement == 0
    into_memory = instruction.op_count > 0 and instruction.op0_kind == OpKind.MEMORY
    return instruction.mnemonic == Mnemonic.PUSH or (into_memory and at_top)


def _of_return(trace: _Trace, last: Instruction, k: int) -> Origin:
    """Origin of the address that a return takes, if the instruction before it, the k-th, writes it."""
    if last.mnemonic == Mnemonic.PUSH and last.op0_kind == OpKind.REGISTER:
        return trace.before(RegisterExt.full_register(last.op0_register), k)
    if last.mnemonic == Mnemonic.PUSH and last.op0_kind == OpKind.MEMORY:
        return trace.loaded(k)
    if last.memory_base == Register.RSP and last.memory_displacement == 0 and writes_word(last):
        if last.mnemonic == Mnemonic.MOV and last.op1_kind == OpKind.REGISTER:
            return trace.before(RegisterExt.full_register(last.op1_register), k)
        return Origin.COMPUTED | Origin.RETURNED
    return Origin.OUTSIDE
