"""Instruction forms: machine code decoded by iced-x86 once for every form, not once for every instruction.

x86 code is a prefix code: prefixes, opcode, ModRM and SIB fix an instruction's length and operands; a
displacement and an immediate may follow, whose values change nothing else. Those leading bytes are a
*form*. iced-x86 is asked about a form when it is first met; from then on a walk down a tree of the
forms finds it, thirty times as fast. Chromium's twelve million instructions have 80,000 forms.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from iced_x86 import Code, ConstantOffsets, Decoder, FlowControl, Instruction, Mnemonic, OpKind
from numba import njit

LONGEST = 15  # bytes of an instruction
_MOST_NODES = 1 << 16  # of the tree, 1 KiB each; only bytes that are no code come near it
_UNKNOWN = 0  # in the tree; a positive entry is the next node, a negative one the form -1 - entry

FACTS = np.dtype(
    [
        ("length", np.uint8),  # bytes of the whole instruction
        ("valid", np.bool_),
        ("plain", np.bool_),  # neither control transfer nor padding
        ("control", np.bool_),  # may go on elsewhere than at the next instruction, or is invalid
        ("branch_bytes", np.uint8),  # of a direct branch's distance, which is the instruction's end; 0 for others
        ("rip_relative", np.bool_),
        ("displacement_at", np.uint8),  # offset in the instruction
        ("displacement_bytes", np.uint8),  # 0 where there is none
        ("displacement_scale", np.uint8),  # bytes that a displacement of 1 stands for (EVEX's disp8*N)
        ("immediate_at", np.uint8),
        ("immediate_bytes", np.uint8),  # 0 where there is none
    ]
)


class Decoded(NamedTuple):
    """The instructions of some ranges of code, one range after the other."""

    form: np.ndarray  # int32 (N,): index into Forms.facts
    first: np.ndarray  # int64 (n + 1,): form[first[k] : first[k + 1]] are those of range k
    whole: np.ndarray  # bool (n,): the range ends where its last instruction does


@cache
def _padding_and_control() -> tuple[np.ndarray, np.ndarray]:
    """bool, indexed by iced_x86.Code: padding, or a mark that control may come to; transfers, traps and no code."""
    codes = [getattr(Code, name) for name in dir(Code) if name.isupper()]
    padding, control = np.zeros((2, max(codes) + 1), dtype=bool)
    for code in codes:
        instruction = Instruction()
        instruction.code = code
        padding[code] = instruction.mnemonic in (Mnemonic.NOP, Mnemonic.ENDBR64)
        control[code] = instruction.flow_control != FlowControl.NEXT or instruction.mnemonic == Mnemonic.INVALID
    return padding, control


# Their immediate of one byte is a number to reckon with. Elsewhere one byte can be a count that is
# nought, or a choice of elements.
_RECKONING = {
    Mnemonic.ADD, Mnemonic.OR, Mnemonic.ADC, Mnemonic.SBB, Mnemonic.AND, Mnemonic.SUB, Mnemonic.XOR, Mnemonic.CMP,
    Mnemonic.TEST, Mnemonic.MOV,
}  # fmt: skip


def _selects(instruction: Instruction) -> bool:
    """The immediate may change what the instruction reads and writes."""
    if instruction.mnemonic in _RECKONING:
        return False
    kinds = [instruction.op_kind(k) for k in range(instruction.op_count)]
    return OpKind.IMMEDIATE8 in kinds or OpKind.IMMEDIATE8_2ND in kinds


def _leading(instruction: Instruction, constants: ConstantOffsets) -> int:
    """Bytes of the instruction's form: those before its constants.

    All bytes where something else stands behind a constant (a register in place of an immediate,
    3DNow's opcode), or where the immediate selects.
    """
    length = instruction.len
    fields = [
        (constants.displacement_offset, constants.displacement_size),
        (constants.immediate_offset, constants.immediate_size),
        (constants.immediate_offset2, constants.immediate_size2),
    ]
    first = min((at for at, size in fields if size), default=length)
    only_constants = first + sum(size for _, size in fields) == length
    return first if only_constants and not _selects(instruction) else length


class Forms:
    """The forms met so far. Numbers are given in the order of meeting and mean nothing beyond this object."""

    def __init__(self) -> None:
        self._tree = np.zeros((256, 256), np.int32)
        self._nodes = 1
        self.facts = np.zeros(1024, FACTS)
        self.examples: list[bytes] = []  # of each form, the instruction with which it was met

    def _node(self) -> int:
        if self._nodes == len(self._tree):
            self._tree = np.concatenate([self._tree, np.zeros_like(self._tree)])
        self._nodes += 1
        return self._nodes - 1

    def _plant(self, leading: bytes, form: int) -> None:
        if self._nodes + LONGEST > _MOST_NODES:  # forget the way to the forms, and so meet them anew
            self._tree[:], self._nodes = _UNKNOWN, 1
        node = 0
        for byte in leading[:-1]:
            following = int(self._tree[node, byte])
            if following == _UNKNOWN:
                following = self._node()
                self._tree[node, byte] = following
            node = following
        self._tree[node, leading[-1]] = -1 - form

    def _meet(self, code: bytes) -> None:
        """Learn the form of the instruction that `code`, LONGEST bytes, begins with."""
        decoder = Decoder(64, code)
        instruction = decoder.decode()
        constants = decoder.get_constant_offsets(instruction)
        padding, control = _padding_and_control()
        branch = instruction.op_count > 0 and instruction.op0_kind == OpKind.NEAR_BRANCH64
        form = len(self.examples)
        if form == len(self.facts):
            self.facts = np.concatenate([self.facts, np.zeros_like(self.facts)])
        self.facts[form] = (
            instruction.len,
            instruction.code != Code.INVALID,
            not (padding[instruction.code] or control[instruction.code]),
            control[instruction.code],
            constants.immediate_size if branch else 0,
            instruction.is_ip_rel_memory_operand,
            constants.displacement_offset,
            constants.displacement_size,
            _scale(code, constants) if constants.displacement_size == 1 else 1,
            constants.immediate_offset,
            constants.immediate_size,
        )
        self.examples.append(code[: instruction.len])
        self._plant(code[: _leading(instruction, constants)], form)

    def decode(self, code: np.ndarray, begin: np.ndarray, end: np.ndarray) -> Decoded:
        """Decode ranges of `code`, uint8: [begin[k], end[k]), int64, inside it.

        A range's instructions end before the first that would run over its end. Invalid bytes are
        instructions of forms that are not `valid`, as long as iced-x86 takes them.
        """
        form = np.empty(int((end - begin).sum()), np.int32)  # as much as is used will be touched
        first = np.zeros(len(begin) + 1, np.int64)
        whole = np.ones(len(begin), bool)
        k, at, n = 0, int(begin[0]) if len(begin) else 0, 0
        while True:
            k, at, n = _walk(code, begin, end, self._tree, self.facts, k, at, n, form, first, whole)
            if k == len(begin):
                return Decoded(form[:n], first, whole)
            self._meet(code[at : at + LONGEST].tobytes().ljust(LONGEST, b"\0"))


def _scale(code: bytes, constants: ConstantOffsets) -> int:
    """Bytes that a displacement of 1 stands for in the instruction."""
    one = bytearray(code)
    one[constants.displacement_offset] = 1
    return Decoder(64, bytes(one)).decode().memory_displacement


@njit(cache=True, nogil=True)
def _walk(
    code: np.ndarray,
    begin: np.ndarray,
    end: np.ndarray,
    tree: np.ndarray,
    facts: np.ndarray,
    k: int,
    at: int,
    n: int,
    form: np.ndarray,
    first: np.ndarray,
    whole: np.ndarray,
) -> tuple[int, int, int]:
    """Go on at byte `at` of range k, n instructions found; returns where an unknown form stands, or k == len(begin)."""
    while k < len(begin):
        while at < end[k]:
            node, ahead = 0, at
            while ahead < end[k]:
                node = tree[node, code[ahead]]
                ahead += 1
                if node <= 0:
                    break
            if node == 0:
                return k, at, n
            if node > 0 or at + facts[-1 - node].length > end[k]:
                whole[k] = False
                break
            form[n] = -1 - node
            n += 1
            at += facts[-1 - node].length
        k += 1
        first[k] = n
        at = begin[k] if k < len(begin) else 0
    return k, at, n
