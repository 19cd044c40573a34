"""Blocks prepared for execution: whether they may run, where their code lies, and their bytes in any order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from iced_x86 import (
    Code,
    Decoder,
    FlowControl,
    Formatter,
    FormatterSyntax,
    Instruction,
    Mnemonic,
    OpKind,
    Register,
    RegisterExt,
    RflagsBits,
)

from learned_schedulers.blocks.run import layout

# The page to which code is moved, together with all addresses to which it points.
HOME = 0x8_0000_0000
_REACH = (1 << 31) - (1 << 22)  # bytes that a rip-relative displacement can span, less some for the pieces of code
_ROOM = 1 << 20  # free bytes around data from which the code has to move away

_RANDOM = {
    Mnemonic.CPUID, Mnemonic.RDTSC, Mnemonic.RDTSCP, Mnemonic.RDRAND, Mnemonic.RDSEED, Mnemonic.XGETBV, Mnemonic.RDPMC,
    Mnemonic.RDPID, Mnemonic.SGDT, Mnemonic.SIDT, Mnemonic.SLDT, Mnemonic.STR, Mnemonic.SMSW, Mnemonic.RDPKRU,
    Mnemonic.LSL, Mnemonic.LAR, Mnemonic.VERR, Mnemonic.VERW,
}  # fmt: skip
_CONTROL = {  # these could stop the host, or change how it runs
    Mnemonic.POPF, Mnemonic.POPFQ, Mnemonic.WRFSBASE, Mnemonic.WRGSBASE, Mnemonic.RDFSBASE, Mnemonic.RDGSBASE,
    Mnemonic.WRPKRU, Mnemonic.MONITOR, Mnemonic.MWAIT, Mnemonic.UMONITOR, Mnemonic.UMWAIT, Mnemonic.TPAUSE,
    Mnemonic.XRSTOR, Mnemonic.XRSTOR64, Mnemonic.STAC, Mnemonic.CLAC, Mnemonic.ENQCMD, Mnemonic.CLZERO,
    Mnemonic.MONITORX, Mnemonic.MWAITX, Mnemonic.CLUI, Mnemonic.STUI, Mnemonic.SENDUIPI, Mnemonic.LDTILECFG,
}  # fmt: skip
_STORES_X87_POINTERS = {
    Mnemonic.FNSTENV, Mnemonic.FSTENV, Mnemonic.FNSAVE, Mnemonic.FSAVE, Mnemonic.FXSAVE, Mnemonic.FXSAVE64,
    Mnemonic.XSAVE, Mnemonic.XSAVE64, Mnemonic.XSAVEC, Mnemonic.XSAVEC64, Mnemonic.XSAVEOPT, Mnemonic.XSAVEOPT64,
}  # fmt: skip
_SEGMENT_LOADS = {Mnemonic.LDS, Mnemonic.LES, Mnemonic.LFS, Mnemonic.LGS, Mnemonic.LSS}
_FLAG_BITS = {
    RflagsBits.CF: 0x1, RflagsBits.PF: 0x4, RflagsBits.AF: 0x10, RflagsBits.ZF: 0x40, RflagsBits.SF: 0x80,
    RflagsBits.DF: 0x400, RflagsBits.OF: 0x800,
}  # fmt: skip
_MASKED_SHIFTS = {
    Mnemonic.SHL, Mnemonic.SHR, Mnemonic.SAR, Mnemonic.SAL, Mnemonic.ROL, Mnemonic.ROR,
    Mnemonic.RCL, Mnemonic.RCR, Mnemonic.SHLD, Mnemonic.SHRD,
}  # fmt: skip
_IMMEDIATES = {value for name, value in vars(OpKind).items() if name.startswith("IMMEDIATE")}
_formatter = Formatter(FormatterSyntax.INTEL)


class NotRunnable(ValueError):
    """A block cannot be executed; `reason` says why, and `example` is the instruction to blame, if there is one."""

    def __init__(self, reason: str, instruction: Instruction | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.example = "" if instruction is None else _formatter.format(instruction)


@dataclass(frozen=True)
class Program:
    """A block's instructions, decoded near `HOME`, and the data that reordering them needs."""

    instructions: list[Instruction]  # with addresses relative to `HOME`, in the original order
    pieces: list[bytes]  # the bytes of each instruction
    displacement_at: list[int]  # offset of the rip-relative displacement in each instruction, or -1
    start: int  # address of the code of all orders
    segments: bool  # the code uses FS or GS
    constants: frozenset[int]  # displacements and immediates that may be absolute addresses
    undefined_flags: int  # bits of rflags that the block may leave undefined at its end

    @property
    def length(self) -> int:
        return sum(map(len, self.pieces))


def _forbidden(instruction: Instruction) -> str:
    mnemonic = instruction.mnemonic
    if instruction.code == Code.INVALID:
        return "not an instruction"
    if mnemonic in (Mnemonic.SYSCALL, Mnemonic.SYSENTER) or instruction.flow_control == FlowControl.INTERRUPT:
        return "system call or interrupt"
    if instruction.flow_control == FlowControl.EXCEPTION:
        return "undefined by design (ud2)"
    if instruction.flow_control != FlowControl.NEXT:
        return "branch"
    if instruction.is_privileged or mnemonic in (Mnemonic.IN, Mnemonic.OUT):
        return "privileged"
    if mnemonic in _RANDOM:
        return "result differs from run to run"
    if mnemonic in _CONTROL:
        return "changes how the processor runs"
    if mnemonic in _STORES_X87_POINTERS:
        return "stores the address of an x87 instruction"
    segment = instruction.op0_kind == OpKind.REGISTER and RegisterExt.is_segment_register(instruction.op0_register)
    if (segment and mnemonic in (Mnemonic.MOV, Mnemonic.POP)) or mnemonic in _SEGMENT_LOADS:
        return "loads a segment register"
    if instruction.memory_base == Register.EIP:
        return "32-bit address relative to the instruction"
    return ""


def flag_bits(flags: int) -> int:
    """iced's RflagsBits as bits of rflags."""
    return sum(bit for flag, bit in _FLAG_BITS.items() if flags & flag)


def _constants(instruction: Instruction) -> list[int]:
    """Displacement and immediates that may be addresses."""
    immediates = [
        instruction.immediate(operand)
        for operand in range(instruction.op_count)
        if instruction.op_kind(operand) in _IMMEDIATES
    ]
    return [
        value for value in (instruction.memory_displacement, *immediates) if layout.LOWEST <= value < layout.HIGHEST
    ]


def _undefined_at_end(instructions: list[Instruction]) -> int:
    """Flags that their last writer, or a possible last writer, leaves undefined."""
    not_yet_written, undefined = ~0, 0
    for instruction in reversed(instructions):
        undefined |= instruction.rflags_undefined & not_yet_written
        may_not_write = instruction.mnemonic in _MASKED_SHIFTS or instruction.has_rep_prefix
        not_yet_written &= ~0 if may_not_write else ~instruction.rflags_modified
    return flag_bits(undefined)


def _place(targets: list[int], size: int) -> int:
    """An address for `size` bytes of code: near HOME, within reach of the targets and at a distance from them."""
    for step in range(1000):
        start = HOME + (step + 1) // 2 * _ROOM * (-1 if step % 2 else 1)
        if all(
            (target < start - _ROOM // 2 or target >= start + size + _ROOM // 2) and abs(target - start) < _REACH
            for target in targets
        ):
            return start
    raise NotRunnable("no place for the code within reach of what it refers to")


def prepare(code: bytes, address: int, room: int = 1 << 18) -> Program:
    """A block's code, which the program has at `address`, prepared for other orders of at most `room` bytes in total.

    Raises NotRunnable, with the reason, for code that must not or cannot run.
    """
    decoder = Decoder(64, code, ip=HOME + (address & 0xFFF))
    instructions, pieces, displacement_at, targets = [], [], [], []
    for instruction in decoder:
        reason = _forbidden(instruction)
        if reason:
            raise NotRunnable(reason, instruction)
        begin = instruction.ip - HOME - (address & 0xFFF)
        instructions.append(instruction)
        pieces.append(code[begin : begin + instruction.len])
        relative = instruction.is_ip_rel_memory_operand
        displacement_at.append(decoder.get_constant_offsets(instruction).displacement_offset if relative else -1)
        if relative:
            targets.append(instruction.ip_rel_memory_address)
    segments = any(i.segment_prefix in (Register.FS, Register.GS) for i in instructions)
    start = _place(targets, room)
    constants = frozenset(constant for instruction in instructions for constant in _constants(instruction))
    return Program(instructions, pieces, displacement_at, start, segments, constants, _undefined_at_end(instructions))


def assemble(program: Program, order: Sequence[int], address: int) -> bytes:
    """The instructions in `order` (all of them or some), encoded for the address `address`."""
    code = bytearray()
    for i in order:
        piece, offset = program.pieces[i], program.displacement_at[i]
        end = address + len(code) + len(piece)
        if offset >= 0:
            displacement = program.instructions[i].ip_rel_memory_address - end
            piece = piece[:offset] + displacement.to_bytes(4, "little", signed=True) + piece[offset + 4 :]
        code += piece
    return bytes(code)


def assemble_all(program: Program, orders: Sequence[Sequence[int]]) -> list[bytes]:
    """The pieces of code of a Task at program.start, one per order."""
    slot = layout.slot_bytes(program.length)
    return [assemble(program, order, program.start + i * slot) for i, order in enumerate(orders)]


def text(program: Program, i: int) -> str:
    """The text of instruction i, in Intel syntax."""
    return _formatter.format(program.instructions[i])
