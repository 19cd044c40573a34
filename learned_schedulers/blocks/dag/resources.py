"""The processor's state as bits: the reads and writes of an instruction are sets of these resources.

192 bits in three words of 64, one Python int (`words` splits it):

- word 0: general registers, three lanes each: bits 0..7, bits 8..15 (`ah`), bits 16..63. An 8- or 16-bit
  write touches its own lanes only; a 32-bit write clears the upper half and so writes all three.
- word 1: vector registers 0..31, two lanes each: bits 0..127, and all bits above. A legacy SSE write
  leaves the upper lane unchanged, a VEX or EVEX write clears it.
- word 2: status flags one by one, mask registers, MMX registers, the x87 stack with its status and tag
  words as one, the x87 control word, MXCSR's control and status bits, and SYSTEM (all other state).

Memory is not a resource: see `draft.Access`. Neither are the instruction pointer (rip-relative targets do not
depend on the order) and the segment registers (an instruction that writes one is a barrier).
"""

from __future__ import annotations

from iced_x86 import Register, Register_, RegisterExt, RflagsBits

WORD_BITS = 64
GENERAL_LANES = 3
VECTOR_LANES = 2
N_GENERAL = 16
N_VECTOR = 32

_LOW, _HIGH, _REST = 1, 2, 4  # lanes of a general register
_VECTOR = WORD_BITS  # first bit of word 1
_FLAG = 2 * WORD_BITS  # first bit of word 2

FLAG_NAMES = ("OF", "SF", "ZF", "AF", "CF", "PF", "DF")
_RFLAGS = sum(getattr(RflagsBits, name) for name in FLAG_NAMES)  # iced's seven lowest bits, in this order
FLAGS = _RFLAGS << _FLAG

_MASK = _FLAG + 8
_MMX = _MASK + 8
X87 = 1 << (_MMX + 8)
X87_CONTROL = X87 << 1
MXCSR_CONTROL = X87 << 2
MXCSR_STATUS = X87 << 3
SYSTEM = X87 << 4
MXCSR = MXCSR_CONTROL | MXCSR_STATUS

VECTOR_UPPER = tuple(2 << (_VECTOR + VECTOR_LANES * i) for i in range(N_VECTOR))  # lane above bit 127 of each
MMX_REGISTERS = 0xFF << _MMX


def flags(rflags: int) -> int:
    """Resources of iced-x86's RflagsBits; flags of x87 (part of X87) and of the system are ignored."""
    return (rflags & _RFLAGS) << _FLAG


def _lanes(register: Register_) -> int:
    """Resources of one of iced-x86's registers; 0 for a register that is not a resource."""
    if RegisterExt.is_gpr(register):
        first = GENERAL_LANES * RegisterExt.number(RegisterExt.full_register(register))
        if RegisterExt.is_gpr8(register):
            lanes = _HIGH if register in (Register.AH, Register.CH, Register.DH, Register.BH) else _LOW
        else:
            lanes = _LOW | _HIGH if RegisterExt.is_gpr16(register) else _LOW | _HIGH | _REST
        return lanes << first
    if RegisterExt.is_vector_register(register):
        lanes = 1 if RegisterExt.is_xmm(register) else 3
        return lanes << (_VECTOR + VECTOR_LANES * RegisterExt.number(register))
    if RegisterExt.is_k(register):
        return 1 << (_MASK + RegisterExt.number(register))
    if RegisterExt.is_mm(register):
        return 1 << (_MMX + RegisterExt.number(register))
    return X87 if RegisterExt.is_st(register) else 0


_REGISTERS: list[Register_] = [value for name, value in vars(Register).items() if name.isupper()]
LANES = [0] * (max(_REGISTERS) + 1)  # resources, indexed by iced-x86's register
for _register in _REGISTERS:
    LANES[_register] = _lanes(_register)


def words(resources: int) -> tuple[int, int, int]:
    """The three words of a bit set of resources, lowest first."""
    word = (1 << WORD_BITS) - 1
    return resources & word, resources >> WORD_BITS & word, resources >> 2 * WORD_BITS
