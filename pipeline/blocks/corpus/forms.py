"""Instruction forms: machine code decoded by iced-x86 once for every form, not once for every instruction.

x86 code is a prefix code: prefixes, opcode, ModRM and SIB fix an instruction's length and operands; a
displacement and an immediate may follow, whose values change nothing else. Those leading bytes are a
*form*. iced-x86 is asked about a form when it is first met; from then on a walk down a tree of the
forms finds it, thirty times as fast. Chromium's twelve million instructions have 80,000 forms.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from iced_x86 import Code, Code_, ConstantOffsets, Decoder, FlowControl, Instruction, Mnemonic, OpKind
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


# Their immediate of one byte is a number to reckon with. Elsewhere one byte can be a count that is
# nought, or a choice of elements.
_RECKONING = {
    Mnemonic.ADD, Mnemonic.OR, Mnemonic.ADC, Mnemonic.SBB, Mnemonic.AND, Mnemonic.SUB, Mnemonic.XOR, Mnemonic.CMP,
    Mnemonic.TEST, Mnemonic.MOV,
}  # fmt: skip


class _Kind(NamedTuple):
    """What iced-x86's code, an opcode with its operand sizes, says of an instruction."""

    valid: bool
    padding: bool  # or a mark that control may come to
    control: bool  # transfer, trap or no code
    branch: bool  # to a distance that the instruction holds
    selects: bool  # the immediate may change what it reads and writes


def _kind(instruction: Instruction) -> _Kind:
    operands = [instruction.op_kind(k) for k in range(instruction.op_count)]
    mnemonic = instruction.mnemonic
    return _Kind(
        valid=instruction.code != Code.INVALID,
        padding=mnemonic in (Mnemonic.NOP, Mnemonic.ENDBR64),
        control=instruction.flow_control != FlowControl.NEXT or mnemonic == Mnemonic.INVALID,
        branch=operands[:1] == [OpKind.NEAR_BRANCH64],
        selects=mnemonic not in _RECKONING and (OpKind.IMMEDIATE8 in operands or OpKind.IMMEDIATE8_2ND in operands),
    )


def _leading(length: int, constants: ConstantOffsets, displacement_bytes: int, immediate_bytes: int) -> int:
    """Bytes of an instruction before its constants; all where something else stands behind one of them.

    That is a register in place of an immediate, or 3DNow's opcode.
    """
    rest = displacement_bytes + immediate_bytes + constants.immediate_size2
    if displacement_bytes:
        first = constants.displacement_offset
    elif immediate_bytes:
        first = constants.immediate_offset
    else:
        return length
    return first if first + rest == length else length


class Forms:
    """The forms met so far. Numbers are given in the order of meeting and mean nothing beyond this object."""

    def __init__(self) -> None:
        self._tree = np.zeros((256, 256), np.int32)
        self._nodes = 1
        self.facts = np.zeros(1024, FACTS)
        self._kinds: dict[Code_, _Kind] = {}
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
        kind = self._kinds.get(instruction.code)
        if kind is None:
            kind = self._kinds[instruction.code] = _kind(instruction)
        length, displacement_bytes = instruction.len, constants.displacement_size
        immediate_bytes = constants.immediate_size
        form = len(self.examples)
        if form == len(self.facts):
            self.facts = np.concatenate([self.facts, np.zeros_like(self.facts)])
        self.facts[form] = (
            length,
            kind.valid,
            not (kind.padding or kind.control),
            kind.control,
            immediate_bytes if kind.branch else 0,
            instruction.is_ip_rel_memory_operand,
            constants.displacement_offset,
            displacement_bytes,
            _scale(code, constants) if displacement_bytes == 1 else 1,
            constants.immediate_offset,
            immediate_bytes,
        )
        self.examples.append(code[:length])
        leading = length if kind.selects else _leading(length, constants, displacement_bytes, immediate_bytes)
        self._plant(code[:leading], form)

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
