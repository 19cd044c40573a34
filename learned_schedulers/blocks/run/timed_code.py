"""Pieces of code that time themselves: a body runs in rounds between two readings of the time-stamp counter.

The first round is not timed: it fetches code and data. The body uses all registers, so the piece stores its own values
in memory, its notes (layout.NOTES_BELOW). The flags change between rounds, in the same way in every piece.
"""

from __future__ import annotations

from collections.abc import Callable

from iced_x86 import Code, Code_, Encoder, Instruction, MemoryOperand, Register, Register_

from learned_schedulers.blocks.run import layout

_JUMP_BYTES = 6  # of `jne rel32`
_CLOCK_LENGTH = 1000  # multiplications in the clock's body; each depends on the one before
# Latency of a 32-bit `imul` between registers: Intel since Nehalem, AMD since K8 (Fog, Instruction tables; uops.info).
_MULTIPLICATION_CYCLES = 3
CLOCK_CYCLES = _CLOCK_LENGTH * _MULTIPLICATION_CYCLES  # core cycles of a round of the clock


class _Writer:
    """Encodes instructions one after the other, from an address on."""

    def __init__(self, start: int, notes: int) -> None:
        self.start, self.notes = start, notes
        self.code = bytearray()

    @property
    def address(self) -> int:
        return self.start + len(self.code)

    def add(self, instruction: Instruction) -> None:
        encoder = Encoder(64)
        encoder.encode(instruction, self.address)
        self.code += encoder.take_buffer()

    def note_operand(self, note_offset: int) -> MemoryOperand:
        return MemoryOperand(Register.RIP, displ=self.notes + note_offset, displ_size=8)

    def store(self, note_offset: int, register: Register_, code: Code_ = Code.MOV_RM64_R64) -> None:
        self.add(Instruction.create_mem_reg(code, self.note_operand(note_offset), register))

    def load(self, register: Register_, note_offset: int) -> None:
        self.add(Instruction.create_reg_mem(Code.MOV_R64_RM64, register, self.note_operand(note_offset)))

    def immediate(self, code: Code_, note_offset: int, value: int) -> None:
        self.add(Instruction.create_mem_i32(code, self.note_operand(note_offset), value))

    def fence(self) -> None:
        self.add(Instruction.create(Code.LFENCE))

    def jump_if_not_zero(self, target: int) -> None:
        self.add(Instruction.create_branch(Code.JNE_REL32_64, target))

    def stamp(self, note_offset: int) -> None:
        """Note the time-stamp counter after all previous instructions have ended and before the next ones begin."""
        self.store(layout.SAVED_RAX, Register.RAX)
        self.store(layout.SAVED_RDX, Register.RDX)
        self.fence()
        self.add(Instruction.create(Code.RDTSC))
        self.store(note_offset, Register.EAX, Code.MOV_RM32_R32)
        self.store(note_offset + 4, Register.EDX, Code.MOV_RM32_R32)
        self.load(Register.RAX, layout.SAVED_RAX)
        self.load(Register.RDX, layout.SAVED_RDX)
        self.fence()


def timed(body: Callable[[int], bytes], address: int, notes: int, rounds: int) -> tuple[bytes, int]:
    """A piece of code for `address` that notes the time-stamp counter before and after `rounds` of a body.

    body: a function from an address to the body's code there. Returns also the body's offset in the piece.
    """
    writer = _Writer(address, notes)
    writer.immediate(Code.MOV_RM32_IMM32, layout.ROUNDS_LEFT, rounds + 1)
    top = writer.address
    writer.code += body(top)
    writer.immediate(Code.CMP_RM32_IMM32, layout.ROUNDS_LEFT, rounds + 1)
    begin_writer = _Writer(writer.address + _JUMP_BYTES, notes)
    begin_writer.stamp(layout.BEGIN)
    writer.jump_if_not_zero(begin_writer.address)
    writer.code += begin_writer.code
    writer.add(Instruction.create_mem(Code.DEC_RM32, writer.note_operand(layout.ROUNDS_LEFT)))
    writer.jump_if_not_zero(top)
    writer.stamp(layout.END)
    return bytes(writer.code), top - address


def clock(address: int) -> bytes:
    """The body that measures the length of a core cycle: a chain of multiplications, CLOCK_CYCLES per round."""
    writer = _Writer(address, 0)
    writer.add(Instruction.create_reg_reg(Code.IMUL_R32_RM32, Register.EAX, Register.EAX))
    return bytes(writer.code) * _CLOCK_LENGTH
