"""The control transfer behind a block: what it costs, whether it repeats the block, and which pairs fuse with it.

Processors decode some pairs of an instruction that sets flags and the conditional jump right behind it as one micro-op
("macro-fusion"; Intel's optimisation manual, 3.4.2.2; AMD's for family 19h, 2.9.3). An order that separates such a pair
costs a micro-op, which no model of llvm-mca shows. Here a pair counts as fusing if processors of either maker fuse it.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from iced_x86 import ConditionCode, Decoder, FlowControl, Mnemonic, OpKind

from learned_schedulers.blocks.read.forms import Forms

_OVERFLOW_SIGN_PARITY = {
    ConditionCode.O, ConditionCode.NO, ConditionCode.S, ConditionCode.NS, ConditionCode.P, ConditionCode.NP,
}  # fmt: skip
_CARRY = {ConditionCode.B, ConditionCode.AE, ConditionCode.BE, ConditionCode.A}
_COMPARES = {Mnemonic.CMP, Mnemonic.TEST}
_FUSING = {
    **dict.fromkeys((Mnemonic.CMP, Mnemonic.TEST, Mnemonic.AND, Mnemonic.OR, Mnemonic.XOR), frozenset()),
    **dict.fromkeys((Mnemonic.ADD, Mnemonic.SUB), frozenset(_OVERFLOW_SIGN_PARITY)),
    **dict.fromkeys((Mnemonic.INC, Mnemonic.DEC), frozenset(_OVERFLOW_SIGN_PARITY | _CARRY)),
}  # mnemonic -> conditions with which it does not fuse
_IMMEDIATES = {OpKind.IMMEDIATE8, OpKind.IMMEDIATE16, OpKind.IMMEDIATE32, OpKind.IMMEDIATE8TO16} | {
    OpKind.IMMEDIATE8TO32, OpKind.IMMEDIATE8TO64, OpKind.IMMEDIATE32TO64,
}  # fmt: skip


class Terminator(NamedTuple):
    """What ends a block."""

    code: bytes = b""  # a conditional or an indirect jump, to wherever; empty for anything else
    repeats: bool = False  # it leads to the first instruction of its block: a loop


@cache
def fuses(instruction: bytes, jump: bytes) -> bool:
    """Whether an instruction and the conditional jump right behind it become one micro-op."""
    last, branch = Decoder(64, instruction).decode(), Decoder(64, jump).decode()
    if branch.flow_control != FlowControl.CONDITIONAL_BRANCH or branch.condition_code == ConditionCode.NONE:
        return False
    if last.mnemonic not in _FUSING or branch.condition_code in _FUSING[last.mnemonic]:
        return False
    kinds = [last.op_kind(k) for k in range(last.op_count)]
    if OpKind.MEMORY not in kinds:
        return True
    return (last.mnemonic in _COMPARES or kinds[0] != OpKind.MEMORY) and not _IMMEDIATES.intersection(kinds)


@cache
def jump_of(instruction: bytes) -> bytes:
    """The instruction, if it is a jump whose operands a block may compute; else nothing."""
    flow = Decoder(64, instruction).decode().flow_control
    return instruction if flow in (FlowControl.CONDITIONAL_BRANCH, FlowControl.INDIRECT_BRANCH) else b""


def terminators(
    forms: Forms, form: np.ndarray, last: np.ndarray, behind: np.ndarray, repeats: np.ndarray
) -> tuple[list[Terminator], np.ndarray]:
    """What ends each of B blocks, and whether its last instruction fuses with that, (B,) bool.

    form: (N,) rows of `forms.facts`, of all instructions; last, behind: (B,) indices of the last instruction of a block
    and of the one behind it, -1 for none; repeats: (B,) bool, a branch behind it leads to its begin.
    """
    ends: list[Terminator] = []
    fused = np.zeros(len(last), bool)
    rows = zip(form[last].tolist(), np.where(behind < 0, -1, form[behind]).tolist(), repeats.tolist(), strict=True)
    for block, (mine, next_form, again) in enumerate(rows):
        jump = jump_of(forms.examples[next_form]) if next_form >= 0 else b""
        ends.append(Terminator(jump, again and bool(jump)))
        fused[block] = bool(jump) and fuses(forms.examples[mine], jump)
    return ends, fused
