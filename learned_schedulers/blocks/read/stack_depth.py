"""How far the address at which the caller goes on lies above the stack pointer, as far as that is certain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from iced_x86 import (
    FlowControl,
    Instruction,
    InstructionInfoFactory,
    MemorySize,
    MemorySize_,
    Mnemonic,
    OpAccess,
    OpKind,
    Register,
    RegisterExt,
)

WORD = 8  # bytes of an address
IMMEDIATES = (
    OpKind.IMMEDIATE32, OpKind.IMMEDIATE32TO64, OpKind.IMMEDIATE64, OpKind.IMMEDIATE8TO32, OpKind.IMMEDIATE8TO64,
)  # fmt: skip
_CALLS = (FlowControl.CALL, FlowControl.INDIRECT_CALL, FlowControl.INTERRUPT)
_ENDS = (FlowControl.UNCONDITIONAL_BRANCH, FlowControl.INDIRECT_BRANCH, FlowControl.RETURN, FlowControl.EXCEPTION)
WORDS = (MemorySize.UINT64, MemorySize.INT64)
HALVES = (MemorySize.UINT32, MemorySize.INT32)
_READERS = {Mnemonic.CMP, Mnemonic.TEST, Mnemonic.PUSH, Mnemonic.JMP, Mnemonic.CALL}
_WRITES = (OpAccess.WRITE, OpAccess.COND_WRITE, OpAccess.READ_WRITE, OpAccess.READ_COND_WRITE)
_info_factory = InstructionInfoFactory()


def depths(instructions: Sequence[Instruction], sources: Mapping[int, Sequence[int]]) -> list[int | None]:
    """Bytes from the stack pointer to the caller's address before each instruction of a run of code; None: unknown.

    sources: instruction -> the direct branches in the run that lead to it.
    """
    # A call that the linker completes seems to lead to the next instruction.
    calls = {i.near_branch_target for i in instructions if i.flow_control == FlowControl.CALL}
    calls -= {i.next_ip for i in instructions if i.flow_control == FlowControl.CALL}
    result: list[int | None] = []
    depth: int | None = 0
    for k, instruction in enumerate(instructions):
        if k and instructions[k - 1].flow_control in _ENDS:
            earlier = (result[source] for source in sources.get(k, ()) if source < k)
            depth = next((value for value in earlier if value is not None), None)
        if instruction.ip in calls:
            depth = 0
        result.append(depth)
        depth = None if depth is None else _after(instruction, depth)
    return result


def _after(instruction: Instruction, depth: int) -> int | None:
    """The depth after an instruction."""
    if instruction.flow_control in _CALLS:
        return depth
    used = _info_factory.info(instruction).used_registers()
    changes = any(RegisterExt.full_register(u.register) == Register.RSP and u.access in _WRITES for u in used)
    increment = instruction.stack_pointer_increment
    if increment or not changes:
        return depth - increment
    if instruction.op_count > 1 and instruction.op1_kind in IMMEDIATES:
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


def sets_frame(instruction: Instruction) -> bool:
    """Whether it makes rbp the frame pointer."""
    registers = (instruction.op0_register, instruction.op1_register)
    return instruction.mnemonic == Mnemonic.MOV and registers == (Register.RBP, Register.RSP)


def writes_word(instruction: Instruction, sizes: Sequence[MemorySize_] = WORDS) -> bool:
    """Whether an instruction writes a word of these sizes to memory, which a fence (`lock orq $0`) only seems to do."""
    if instruction.op_count == 0 or instruction.op0_kind != OpKind.MEMORY or instruction.memory_size not in sizes:
        return False
    if instruction.op_count == 2 and instruction.op1_kind in IMMEDIATES and instruction.immediate(1) == 0:
        return instruction.mnemonic not in (*_READERS, Mnemonic.OR, Mnemonic.ADD)
    return instruction.mnemonic not in _READERS
