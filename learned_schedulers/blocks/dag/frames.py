"""Frames that provably do not escape: functions that never take the address of their frame on the stack.

The analysis reads all instructions of a function, in any order of execution. The frame is *closed* if rsp, and rbp
where it is copied from rsp, are used for nothing but addresses of memory operands, pushes and pops, calls and returns,
and their own adjustment. Then no pointer leads into the frame, and no other thread and no signal handler knows one. A
slot is accessed by rsp or by the frame pointer, without an index.

Arguments on the stack count as slots of the frame: by the System V ABI the called function owns them.
"""

from __future__ import annotations

from collections.abc import Sequence

from iced_x86 import Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register, Register_, RegisterExt

from learned_schedulers.blocks.dag.memory_order import Mark

_ADJUSTMENTS = (Mnemonic.ADD, Mnemonic.SUB, Mnemonic.AND)
_IMMEDIATES = (OpKind.IMMEDIATE8, OpKind.IMMEDIATE8TO64, OpKind.IMMEDIATE32TO64, OpKind.IMMEDIATE32)
_WRITES = (OpAccess.WRITE, OpAccess.COND_WRITE, OpAccess.READ_WRITE, OpAccess.READ_COND_WRITE)
_BY_THE_STACK = (
    Mnemonic.PUSH,
    Mnemonic.POP,
    Mnemonic.CALL,
    Mnemonic.RET,
    Mnemonic.LEAVE,
    Mnemonic.PUSHFQ,
    Mnemonic.POPFQ,
)
_info_factory = InstructionInfoFactory()


def frame_marks(instructions: Sequence[Instruction], leaves: bool) -> bytes:
    """`Mark.CLOSED` for each instruction of a whole function if its frame is closed, and PRIVATE for its slots.

    instructions: all of the function, control transfers included. leaves: some code of the function is elsewhere or
    unreadable; then nothing is proven and all marks are zero, as they are for a frame that may escape.
    """
    open_frame = bytes(len(instructions))
    if leaves:
        return open_frame
    pointers = _frame_pointers(instructions)
    if pointers is None or any(_escapes(instruction, pointers) for instruction in instructions):
        return open_frame
    return bytes(int(Mark.CLOSED) | int(Mark.PRIVATE) * _is_slot(instruction, pointers) for instruction in instructions)


def _full(register: Register_) -> Register_:
    return RegisterExt.full_register(register)


def _operand_registers(instruction: Instruction) -> list[Register_]:
    """Full registers that are operands themselves, in sequence; NONE for other operands."""
    return [
        _full(instruction.op_register(k)) if instruction.op_kind(k) == OpKind.REGISTER else Register.NONE
        for k in range(instruction.op_count)
    ]


def _copies_stack_pointer(instruction: Instruction) -> bool:
    """Whether it sets rbp from rsp."""
    registers = _operand_registers(instruction)
    if instruction.mnemonic == Mnemonic.MOV:
        return registers == [Register.RBP, Register.RSP]
    return (
        instruction.mnemonic == Mnemonic.LEA
        and registers[0] == Register.RBP
        and instruction.memory_base == Register.RSP
        and instruction.memory_index == Register.NONE
    )


def _frame_pointers(instructions: Sequence[Instruction]) -> tuple[Register_, ...] | None:
    """Registers that lead into the frame: rsp, and rbp if it is copied from rsp. None if rbp is that and more."""
    copies = [k for k, instruction in enumerate(instructions) if _copies_stack_pointer(instruction)]
    if not copies:
        return (Register.RSP,)
    for k, instruction in enumerate(instructions):
        if _copies_stack_pointer(instruction) or instruction.mnemonic == Mnemonic.LEAVE:
            continue
        pops = instruction.mnemonic == Mnemonic.POP and _operand_registers(instruction) == [Register.RBP]
        # The caller's rbp is saved once, before the copy.
        saves = instruction.mnemonic == Mnemonic.PUSH and _operand_registers(instruction) == [Register.RBP]
        if saves and k > copies[0]:
            return None
        changed = any(
            _full(used.register) == Register.RBP and used.access in _WRITES
            for used in _info_factory.info(instruction).used_registers()
        )
        if changed and not pops:
            return None
    return (Register.RSP, Register.RBP)


def _escapes(instruction: Instruction, pointers: tuple[Register_, ...]) -> bool:
    """Whether it may put an address of the frame elsewhere than into `pointers`, or uses rsp in an unknown way."""
    mnemonic, registers = instruction.mnemonic, _operand_registers(instruction)
    if mnemonic == Mnemonic.LEA and {_full(instruction.memory_base), _full(instruction.memory_index)} & set(pointers):
        return not (registers[0] in pointers and instruction.memory_index == Register.NONE)
    if not set(registers) & set(pointers):
        implied = any(_full(used.register) == Register.RSP for used in _info_factory.info(instruction).used_registers())
        by_address = Register.RSP in (_full(instruction.memory_base), _full(instruction.memory_index))
        return implied and not by_address and mnemonic not in _BY_THE_STACK
    if mnemonic == Mnemonic.MOV:
        return not set(registers) <= set(pointers)  # a move of one pointer to the other
    if mnemonic in _ADJUSTMENTS and registers[0] == Register.RSP:
        return (
            registers[1] in pointers
            if instruction.op_kind(1) == OpKind.REGISTER
            else (instruction.op_kind(1) not in _IMMEDIATES)
        )
    saved = mnemonic in (Mnemonic.PUSH, Mnemonic.POP) and registers == [Register.RBP]
    return not saved


def _is_slot(instruction: Instruction, pointers: tuple[Register_, ...]) -> bool:
    """Whether it accesses memory, and only slots of the frame."""
    accesses = [used for used in _info_factory.info(instruction).used_memory() if used.access != OpAccess.NO_MEM_ACCESS]
    return bool(accesses) and all(
        used.base in pointers and used.index == Register.NONE and used.segment not in (Register.FS, Register.GS)
        for used in accesses
    )
