"""Pieces of code that time themselves: a body run in rounds between two readings of the time-stamp counter.

The first round is not timed: it fetches code and data. What the piece itself keeps stands in notes
(layout.NOTES_BELOW) and not in registers, which are all the body's; its flags change between rounds, in every piece
alike.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

from iced_x86 import Code, Code_, Encoder, Instruction, MemoryOperand, Register, Register_

from pipeline.blocks.execution import layout
from pipeline.blocks.execution.executable import Program, assemble

_REGISTERS = (  # by number
    *(Register.RAX, Register.RCX, Register.RDX, Register.RBX, Register.RSP, Register.RBP, Register.RSI, Register.RDI),
    *(Register.R8, Register.R9, Register.R10, Register.R11, Register.R12, Register.R13, Register.R14, Register.R15),
)
_JUMP_BYTES = 6  # of `jne rel32`
_CLOCK_LENGTH = 1000  # multiplications of the clock's body, each of which waits for the one before
# Of a 32-bit `imul` between registers: Intel since Nehalem, AMD since K8 (Fog, Instruction tables; uops.info).
_MULTIPLICATION_CYCLES = 3
CLOCK_CYCLES = _CLOCK_LENGTH * _MULTIPLICATION_CYCLES  # core cycles of a round of the clock


class _Writer:
    """Instructions one behind the other from an address on."""

    def __init__(self, at: int, notes: int) -> None:
        self.start, self.notes = at, notes
        self.made = bytearray()

    @property
    def at(self) -> int:
        return self.start + len(self.made)

    def add(self, instruction: Instruction) -> None:
        encoder = Encoder(64)
        encoder.encode(instruction, self.at)
        self.made += encoder.take_buffer()

    def note(self, place: int) -> MemoryOperand:
        return MemoryOperand(Register.RIP, displ=self.notes + place, displ_size=8)

    def store(self, place: int, register: Register_, code: Code_ = Code.MOV_RM64_R64) -> None:
        self.add(Instruction.create_mem_reg(code, self.note(place), register))

    def load(self, register: Register_, place: int) -> None:
        self.add(Instruction.create_reg_mem(Code.MOV_R64_RM64, register, self.note(place)))

    def immediate(self, code: Code_, place: int, value: int) -> None:
        self.add(Instruction.create_mem_i32(code, self.note(place), value))

    def fence(self) -> None:
        self.add(Instruction.create(Code.LFENCE))

    def jump_if_not_zero(self, target: int) -> None:
        self.add(Instruction.create_branch(Code.JNE_REL32_64, target))

    def stamp(self, place: int) -> None:
        """Note the time-stamp counter: not before what stands in front has ended, and before the rest begins."""
        self.store(layout.KEPT_RAX, Register.RAX)
        self.store(layout.KEPT_RDX, Register.RDX)
        self.fence()
        self.add(Instruction.create(Code.RDTSC))
        self.store(place, Register.EAX, Code.MOV_RM32_R32)
        self.store(place + 4, Register.EDX, Code.MOV_RM32_R32)
        self.load(Register.RAX, layout.KEPT_RAX)
        self.load(Register.RDX, layout.KEPT_RDX)
        self.fence()


def timed(body: Callable[[int], bytes], at: int, notes: int, rounds: int) -> tuple[bytes, int]:
    """A piece of code for the address `at` that notes the time-stamp counter before and after `rounds` of a body.

    body: the body's code for the address that it is given. Returns also the body's offset in the piece.
    """
    code = _Writer(at, notes)
    code.immediate(Code.MOV_RM32_IMM32, layout.ROUNDS_LEFT, rounds + 1)
    top = code.at
    code.made += body(top)
    code.immediate(Code.CMP_RM32_IMM32, layout.ROUNDS_LEFT, rounds + 1)
    begin = _Writer(code.at + _JUMP_BYTES, notes)
    begin.stamp(layout.BEGIN)
    code.jump_if_not_zero(begin.at)
    code.made += begin.made
    code.add(Instruction.create_mem(Code.DEC_RM32, code.note(layout.ROUNDS_LEFT)))
    code.jump_if_not_zero(top)
    code.stamp(layout.END)
    return bytes(code.made), top - at


@cache
def fence() -> bytes:
    """The instruction that waits until all before it have ended."""
    code = _Writer(0, 0)
    code.fence()
    return bytes(code.made)


def fenced(
    program: Program, order: Sequence[int], copies: int, notes: int, renewed: Sequence[int]
) -> Callable[[int], bytes]:
    """A body: `copies` of a block in an order (some of its instructions), each waited for before the next begins.

    renewed: numbers of registers that get their first value again behind each copy; these loads overlap with the block.
    """
    loads = [(_load(number), notes + layout.FIRST_REGISTERS + 8 * number) for number in renewed]

    def body(at: int) -> bytes:
        made = bytearray()
        for _ in range(copies):
            made += assemble(program, order, at + len(made))
            for load, place in loads:
                end = at + len(made) + len(load) + 4
                made += load + (place - end).to_bytes(4, "little", signed=True)
            made += fence()
        return bytes(made)

    return body


@cache
def _load(register: int) -> bytes:
    """`mov displacement(%rip), %register`, without its last four bytes: the displacement."""
    code = _Writer(0, 0)
    code.load(_REGISTERS[register], 0)
    return bytes(code.made[:-4])


def clock(at: int) -> bytes:
    """The body that tells how many ticks a core cycle has: a chain of multiplications, CLOCK_CYCLES a round."""
    code = _Writer(at, 0)
    code.add(Instruction.create_reg_reg(Code.IMUL_R32_RM32, Register.EAX, Register.EAX))
    return bytes(code.made) * _CLOCK_LENGTH
