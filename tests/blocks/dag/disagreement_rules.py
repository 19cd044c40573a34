"""Named rules that explain why our effects and those of capstone differ, based on the manual.

No rule says that capstone is right: such a difference would be a missing correction in `dag/corrections.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from iced_x86 import Instruction, OpKind

from learned_schedulers.blocks.dag.corrections import SHIFTS
from learned_schedulers.blocks.dag.effects import effects
from learned_schedulers.blocks.dag.opcodes import opcode
from learned_schedulers.blocks.dag.resources import FLAG_NAMES, X87
from tests.blocks.dag.disagreements import Disagreement
from tests.blocks.dag.named import bits


@dataclass(frozen=True)
class Rule:
    name: str
    right: str  # ours: capstone is wrong; both: the same facts in another representation
    reason: str
    holds: Callable[
        [Instruction, str, Disagreement], bool
    ]  # arguments: the instruction, its mnemonic and the disagreement


def _about(d: Disagreement, fields: str, side: str, kinds: str) -> bool:
    return d.field in fields.split() and d.side == side and d.kind in kinds.split()


_STATUS = " ".join(FLAG_NAMES[:6])
_UPPER = (1 << 64) - 1 - sum(bits(register) for register in ("AX", "CX", "DX", "BX", "SP", "BP", "SI", "DI"))
_STORES = frozenset(
    {
        *("FIST", "FISTP", "FISTTP", "FST", "FSTP", "FNSTCW", "STMXCSR", "VSTMXCSR", "CMPXCHG", "ROL", "ROR"),
        *("MOVD", "MOVQ", "MOVNTQ", "MOVNTDQ", "MOVHPD", "MOVHPS", "MOVLPD", "MOVLPS", "MOVUPD", "MOVUPS"),
        *("VEXTRACTF128", "VEXTRACTI128", "VMOVAPD", "VMOVAPS", "VMOVD", "VMOVDQA", "VMOVDQU", "VMOVQ"),
        *("VMOVSD", "VMOVSS", "VMOVUPD", "VMOVUPS", "VMOVLPS", "VMOVHPS", "VMOVNTDQ"),
    }
)
_MERGING = (
    "CVTSD2SS",
    "CVTSS2SD",
    "CVTSI2SD",
    "CVTSI2SS",
    "SQRTSD",
    "SQRTSS",
    "RSQRTSS",
    "RCPSS",
    "ROUNDSD",
    "ROUNDSS",
)
_ZEROING = ("XOR", "SUB", "SBB", "PXOR", "XORPS", "XORPD", "PCMPEQ", "PCMPGT", "PSUB")


def _same_sources(instruction: Instruction) -> bool:
    last = instruction.op_count - 1
    kinds = {instruction.op_kind(last), instruction.op_kind(last - 1)}
    return kinds == {OpKind.REGISTER} and instruction.op_register(last) == instruction.op_register(last - 1)


def _may_keep_flag(instruction: Instruction, name: str, d: Disagreement) -> bool:
    effect = effects(instruction)
    conditional = name in SHIFTS or instruction.has_rep_prefix or instruction.has_repne_prefix
    return _about(d, "reads", "ours", _STATUS) and conditional and not d.resources & ~(effect.writes & ~effect.kills)


RULES = (
    Rule(
        "unknown to capstone",
        "ours",
        "Capstone decodes nothing, or an instruction of another length.",
        lambda i, name, d: d.field == "decodes",
    ),
    Rule(
        "flags that may stay",
        "both",
        "A shift by 0 and a repeated comparison with rcx = 0 leave the flags unchanged: we count that as reading them.",
        _may_keep_flag,
    ),
    Rule(
        "direction flag of string instructions",
        "ours",
        "DF gives the direction of `cmps` and `scas`; capstone omits it for the repeated ones.",
        lambda i, name, d: _about(d, "reads", "ours", "DF") and i.is_string_instruction,
    ),
    Rule(
        "destination that may stay",
        "both",
        "`cmov`, `bsf` and `bsr` may leave the destination unchanged, so they read it.",
        lambda i, name, d: _about(d, "reads", "ours", "general") and name.startswith(("CMOV", "BSF", "BSR")),
    ),
    Rule(
        "test with memory",
        "ours",
        "For `test [memory], register` capstone reports neither the second operand nor the load nor the flags.",
        lambda i, name, d: name == "TEST" and i.op0_kind == OpKind.MEMORY and d.side == "ours",
    ),
    Rule(
        "test with an immediate",
        "ours",
        "`test` writes no register; according to capstone it writes the accumulator.",
        lambda i, name, d: name == "TEST" and _about(d, "writes", "theirs", "general"),
    ),
    Rule(
        "scalar that merges",
        "ours",
        "Legacy scalar conversions and square roots leave the upper part of the destination unchanged.",
        lambda i, name, d: _about(d, "reads", "ours", "vector") and name in _MERGING,
    ),
    Rule(
        "vector instruction taken for a string instruction",
        "ours",
        "`movss` and `movsd` of SSE do not read DF; `cmpss`, `cmpsd`, `cmpps` and `cmppd` write no flags.",
        lambda i, name, d: (
            opcode(i.code).is_vector
            and (
                (name in ("MOVSS", "MOVSD") and _about(d, "reads", "theirs", "DF"))
                or (name in ("CMPSS", "CMPSD", "CMPPS", "CMPPD") and _about(d, "writes", "theirs", _STATUS))
            )
        ),
    ),
    Rule(
        "result that does not depend on the operand",
        "both",
        "The result of `xor x, x`, `pcmpeq x, x`, `sbb x, x` and similar instructions does not depend on x.",
        lambda i, name, d: (
            _about(d, "reads", "theirs", "general vector MMX")
            and name.removeprefix("V").startswith(_ZEROING)
            and _same_sources(i)
        ),
    ),
    Rule(
        "x87 stack as one",
        "both",
        "Every x87 instruction, and `emms`, reads and writes our one resource for stack, tags and status.",
        lambda i, name, d: (
            d.side == "ours" and d.resources == X87 and (opcode(i.code).is_x87 or name in ("EMMS", "FEMMS"))
        ),
    ),
    Rule(
        "MMX tags",
        "both",
        "An MMX instruction switches to MMX state, which counts as reading the x87 stack.",
        lambda i, name, d: d.field == "reads" and d.side == "ours" and d.resources == X87 and not opcode(i.code).is_x87,
    ),
    Rule(
        "x87 comparison that sets rflags",
        "ours",
        "`fcomi`, `fucomi` and their popping forms set ZF, PF, CF and clear OF, SF, AF; capstone reports x87 flags.",
        lambda i, name, d: _about(d, "writes", "ours", _STATUS) and name in ("FCOMI", "FCOMIP", "FUCOMI", "FUCOMIP"),
    ),
    Rule(
        "x87 flags taken for rflags",
        "ours",
        "`fstp` writes no rflags; capstone reports x87 flags.",
        lambda i, name, d: name == "FSTP" and _about(d, "writes", "theirs", "CF"),
    ),
    Rule(
        "flags left out",
        "ours",
        "`vucomisd`, `vcomiss` and similar instructions set flags as their SSE forms do.",
        lambda i, name, d: _about(d, "writes", "ours", _STATUS) and name.startswith(("VUCOMIS", "VCOMIS")),
    ),
    Rule(
        "count of a shift",
        "ours",
        "Capstone does not examine an immediate count: 0 writes no flags, and 1 defines OF. A count in cl may leave OF "
        "undefined.",
        lambda i, name, d: name in SHIFTS and _about(d, "writes undefined", d.side, _STATUS),
    ),
    Rule(
        "sign flag of imul",
        "ours",
        "The manual leaves SF undefined.",
        lambda i, name, d: name == "IMUL" and _about(d, "undefined", "ours", "SF"),
    ),
    Rule(
        "accumulator of cmpxchg",
        "ours",
        "The accumulator is compared and, if unequal, loaded; according to capstone it is not written.",
        lambda i, name, d: name == "CMPXCHG" and _about(d, "reads writes", "ours", "general"),
    ),
    Rule(
        "sign extension of the accumulator",
        "ours",
        "`cbw` leaves al unchanged, `cdq` and `cqo` leave the accumulator unchanged.",
        lambda i, name, d: name in ("CBW", "CWD", "CDQ", "CQO") and _about(d, "writes", "theirs", "general"),
    ),
    Rule(
        "leave sets the stack pointer",
        "ours",
        "`leave` reads rbp and not rsp.",
        lambda i, name, d: name == "LEAVE" and _about(d, "reads", "theirs", "general"),
    ),
    Rule(
        "low word of a register",
        "ours",
        "`pinsrw` reads 16 bits of the register.",
        lambda i, name, d: name in ("PINSRW", "VPINSRW") and d.side == "theirs" and not d.resources & ~_UPPER,
    ),
    Rule(
        "vzeroupper",
        "ours",
        "`vzeroupper` leaves the lower 128 bits unchanged.",
        lambda i, name, d: name == "VZEROUPPER" and _about(d, "writes", "theirs", "vector"),
    ),
    Rule(
        "no access",
        "both",
        "`lea` only computes an address, a prefetch has no visible effect, and `nop` has no effect at all.",
        lambda i, name, d: (
            (_about(d, "loads", "theirs", "memory") and name.startswith(("LEA", "PREFETCH", "NOP")))
            or (_about(d, "reads", "theirs", "general") and name == "NOP")
        ),
    ),
    Rule(
        "direction of a memory operand",
        "ours",
        "Capstone calls a store a load, or omits the store of a read-modify-write.",
        lambda i, name, d: (
            (name in _STORES or name.startswith("SET"))
            and (_about(d, "loads", "theirs", "memory") or _about(d, "stores", "ours", "memory"))
        ),
    ),
    Rule(
        "implied memory operand",
        "ours",
        "`push`, `pop`, `leave` and `maskmov` access memory that they do not name.",
        lambda i, name, d: (
            _about(d, "loads stores", "ours", "memory") and name in ("PUSH", "POP", "LEAVE", "MASKMOVDQU", "MASKMOVQ")
        ),
    ),
    Rule(
        "size left open",
        "both",
        "We do not follow the memory operand of a locked instruction or with a 32-bit address.",
        lambda i, name, d: d.field == "size" and d.side == "theirs",
    ),
    Rule(
        "size of a scalar",
        "ours",
        "`comisd` reads 8 bytes.",
        lambda i, name, d: d.field == "size" and name in ("COMISD", "VCOMISD"),
    ),
)


def rule_of(instruction: Instruction, disagreement: Disagreement) -> Rule | None:
    """The first rule that holds, or None."""
    name = opcode(instruction.code).name
    return next((rule for rule in RULES if rule.holds(instruction, name, disagreement)), None)
