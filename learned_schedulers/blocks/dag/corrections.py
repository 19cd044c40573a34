"""All corrections of iced-x86's instruction information, with their reasons.

A correction applies to some of iced-x86's codes; if it depends on more (a prefix, an operand), its function
examines the instruction. `effects` contains one more correction: a conditional write of a register also reads it.
The corrections follow the manuals (Intel SDM volume 2, AMD APM volumes 3 to 5). A cross-check against a second
decoder (tests/blocks/dag/crosscheck.py) found no other error.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from iced_x86 import Code_, Instruction, OpKind

from learned_schedulers.blocks.dag.draft import Draft
from learned_schedulers.blocks.dag.opcodes import Opcode, opcode
from learned_schedulers.blocks.dag.resources import (
    FLAGS,
    LANES,
    MMX_REGISTERS,
    MXCSR,
    MXCSR_STATUS,
    VECTOR_UPPER,
    X87,
    X87_CONTROL,
)


@dataclass(frozen=True)
class Correction:
    name: str
    reason: str
    applies: Callable[[Opcode], bool]
    correct: Callable[[Draft, Instruction], None]


def _named(*names: str) -> Callable[[Opcode], bool]:
    """Whether the first word of a code's text in the manual is one of the names."""
    return lambda opcode: opcode.name in names


def _barrier(draft: Draft, _: Instruction) -> None:
    draft.barrier = True


def _keeps_flags(draft: Draft) -> None:
    """The instruction may leave the flags that it may write unchanged, so it also reads them."""
    draft.reads |= draft.writes & FLAGS
    draft.kills = 0


def _count_in_register(draft: Draft, _: Instruction) -> None:
    _keeps_flags(draft)


def _repeated(draft: Draft, instruction: Instruction) -> None:
    if instruction.has_rep_prefix or instruction.has_repne_prefix:
        _keeps_flags(draft)


def _x87(draft: Draft, _: Instruction) -> None:
    draft.read_write(X87)
    draft.reads |= X87_CONTROL


def _x87_writes_control(draft: Draft, _: Instruction) -> None:
    draft.writes |= X87_CONTROL


def _stores_control_word(draft: Draft, _: Instruction) -> None:
    draft.reads |= X87_CONTROL


def _uses_mmx(draft: Draft, _: Instruction) -> None:
    if (draft.reads | draft.writes) & MMX_REGISTERS:
        draft.reads |= X87


def _empties_mmx(draft: Draft, _: Instruction) -> None:
    draft.read_write(X87)


def _uses_mxcsr(draft: Draft, _: Instruction) -> None:
    draft.reads |= MXCSR


def _loads_mxcsr(draft: Draft, _: Instruction) -> None:
    draft.writes |= MXCSR


def _stores_mxcsr(draft: Draft, _: Instruction) -> None:
    draft.writes |= MXCSR_STATUS


def _clears_upper(draft: Draft, _: Instruction) -> None:
    draft.reads, draft.writes = 0, sum(VECTOR_UPPER[:16])


def _exchanges(draft: Draft, _: Instruction) -> None:
    draft.forget_addresses()  # without effect if both operands are registers


def _bit_string(draft: Draft, _: Instruction) -> None:
    draft.forget_addresses()


def _enters(draft: Draft, _: Instruction) -> None:
    draft.accesses = [draft.accesses[0]._replace(size=0, reads=True)]


def _same_sources(draft: Draft, instruction: Instruction) -> None:
    """If both sources are the same register, the result does not depend on its value."""
    last = instruction.op_count - 1
    kinds = (instruction.op_kind(last - 1), instruction.op_kind(last))
    source = instruction.op_register(last)
    if kinds == (OpKind.REGISTER, OpKind.REGISTER) and instruction.op_register(last - 1) == source:
        draft.reads &= ~LANES[source]


SHIFTS = ("SHL", "SHR", "SAR", "SAL", "ROL", "ROR", "RCL", "RCR", "SHLD", "SHRD")
_EQUAL = tuple(f"{v}PCMPEQ{size}" for v in ("", "V") for size in "BWDQ")
_GREATER = tuple(f"{v}PCMPGT{size}" for v in ("", "V") for size in "BWDQ")

CORRECTIONS = (
    Correction(
        "barrier",
        "Fences, control transfers, system and privileged instructions, and every extension that the resources do "
        "not model, have effects beyond the registers, flags and memory that iced-x86 reports.",
        lambda opcode: opcode.is_barrier,
        _barrier,
    ),
    Correction(
        "shift by cl",
        "A count of 0 leaves the flags unchanged. So the instruction also reads the flags that it may write, and "
        "overwrites none of them with certainty. (iced-x86 itself examines counts that are immediates.)",
        lambda opcode: opcode.name in SHIFTS and opcode.text.endswith("CL"),
        _count_in_register,
    ),
    Correction(
        "repeated comparison",
        "`rep cmps` and `rep scas` leave the flags unchanged if rcx is 0.",
        lambda opcode: opcode.name.startswith(("CMPS", "SCAS")) and not opcode.is_vector,
        _repeated,
    ),
    Correction(
        "x87 stack",
        "Every x87 instruction may move the top of the stack, and sets tags and status. One resource stands for all of "
        "these, and every x87 instruction reads and writes it. iced-x86 names registers relative to the top.",
        lambda opcode: opcode.is_x87 and opcode.name not in ("FNSTCW", "FSTCW"),
        _x87,
    ),
    Correction(
        "x87 control word",
        "iced-x86 has no register for it. `fnstenv` and `fnsave` change it after they have stored it.",
        _named("FLDCW", "FLDENV", "FNSTENV", "FSTENV", "FNSAVE", "FSAVE", "FRSTOR", "FNINIT", "FINIT"),
        _x87_writes_control,
    ),
    Correction(
        "store of the x87 control word",
        "`fnstcw` reads the control word and nothing else. (The manual calls the condition codes C0 to C3 undefined "
        "after it; processors leave them unchanged.)",
        _named("FNSTCW", "FSTCW"),
        _stores_control_word,
    ),
    Correction(
        "MMX tags",
        "An MMX instruction sets the x87 top to 0 and all tags to valid, whatever they were. So MMX instructions "
        "commute with each other and not with x87 instructions: they count as reading the x87 stack.",
        lambda opcode: not opcode.is_x87,
        _uses_mmx,
    ),
    Correction(
        "emms",
        "It empties the x87 tags; iced-x86 reports nothing.",
        _named("EMMS", "FEMMS"),
        _empties_mmx,
    ),
    Correction(
        "MXCSR",
        "iced-x86 has no register for it. Vector instructions read its control bits; its status bits are sticky, so "
        "instructions that raise them commute: raising counts as reading, and looking at the bits counts as writing. "
        "Integer vector instructions are treated in the same way, because instructions that write MXCSR are rare.",
        lambda opcode: opcode.is_vector,
        _uses_mxcsr,
    ),
    Correction("load of MXCSR", "It writes MXCSR.", _named("LDMXCSR", "VLDMXCSR"), _loads_mxcsr),
    Correction(
        "store of MXCSR",
        "It reads MXCSR; status bits count as written (see MXCSR).",
        _named("STMXCSR", "VSTMXCSR"),
        _stores_mxcsr,
    ),
    Correction(
        "vzeroupper",
        "It clears the bits from 128 on in registers 0 to 15 and reads nothing; according to iced-x86 it "
        "reads and writes the whole registers.",
        _named("VZEROUPPER"),
        _clears_upper,
    ),
    Correction(
        "exchange with memory",
        "`xchg` with memory is locked even without a prefix: like every locked instruction it is ordered with all "
        "memory accesses.",
        _named("XCHG"),
        _exchanges,
    ),
    Correction(
        "bit string",
        "`bt`, `bts`, `btr` and `btc` with a bit offset in a register access memory up to 2**60 bytes "
        "away from their operand.",
        lambda opcode: opcode.name in ("BT", "BTS", "BTR", "BTC") and not opcode.text.endswith("imm8"),
        _bit_string,
    ),
    Correction(
        "enter",
        "With nesting it copies frame pointers. An immediate gives their number, which the effects do not examine.",
        _named("ENTER"),
        _enters,
    ),
    Correction(
        "comparison with itself",
        "`pcmpeq x, x` is all ones and `pcmpgt x, x` zero whatever x holds (Intel optimisation manual, 3.5.1.7).",
        _named(*_EQUAL, *_GREATER),
        _same_sources,
    ),
    Correction(
        "subtraction with borrow from itself",
        "`sbb x, x` is 0 or -1 by the carry alone.",
        _named("SBB"),
        _same_sources,
    ),
)


@cache
def corrections_of(code: Code_) -> tuple[Correction, ...]:
    """The corrections that apply to one of iced-x86's codes."""
    return tuple(correction for correction in CORRECTIONS if correction.applies(opcode(code)))
