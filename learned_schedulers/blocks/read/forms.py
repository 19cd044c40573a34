"""Instruction forms: iced-x86 decodes machine code once for every form, not once for every instruction.

x86 code is a prefix code: prefixes, opcode, ModRM and SIB determine an instruction's length and operands. A
displacement and an immediate may follow, and their values change nothing else. Those leading bytes are a *form*.
iced-x86 decodes a form when it occurs for the first time; from then on a walk down a tree of the forms finds it, which
is thirty times as fast. Chromium's twelve million instructions have 80,000 forms.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from iced_x86 import Code, Code_, ConstantOffsets, Decoder, FlowControl, Instruction, Mnemonic, OpKind
from numba import njit

from learned_schedulers.kernel_arrays import read_only

LONGEST = 15  # bytes of an instruction
_MOST_NODES = 1 << 16  # of the tree, 1 KiB each; only bytes that are not code need so many
_UNKNOWN = 0  # in the tree; a positive entry is the next node, a negative one the form -1 - entry

FACTS = np.dtype(
    [
        ("length", np.uint8),  # bytes of the whole instruction
        ("valid", np.bool_),
        ("plain", np.bool_),  # neither control transfer nor padding
        ("control", np.bool_),  # it may not continue at the next instruction, or it is invalid
        ("branch_bytes", np.uint8),  # of a direct branch's distance, at the instruction's end; 0 if it is none
        ("rip_relative", np.bool_),
        ("displacement_at", np.uint8),  # offset in the instruction
        ("displacement_bytes", np.uint8),  # 0 if it has none
        ("displacement_scale", np.uint8),  # bytes that a displacement of 1 stands for (EVEX's disp8*N)
        ("immediate_at", np.uint8),
        ("immediate_bytes", np.uint8),  # 0 if it has none
    ]
)


class Decoded(NamedTuple):
    """The instructions of some ranges of code, one range after the other."""

    form: np.ndarray  # int32 (N,): index into Forms.facts
    first: np.ndarray  # int64 (n + 1,): form[first[k] : first[k + 1]] are those of range k
    whole: np.ndarray  # bool (n,): the range ends where its last instruction ends


class Codes(NamedTuple):
    """B pieces of machine code, one after the other, and their instructions."""

    code: np.ndarray  # uint8
    bounds: np.ndarray  # int64 (B + 1,): offsets of the pieces
    decoded: Decoded
    whole: np.ndarray  # bool (B,): the piece consists of whole, valid instructions
    straight: np.ndarray  # bool (B,): none of them transfers control

    @property
    def begin(self) -> np.ndarray:
        """Offset of each piece, (B,) int64."""
        return self.bounds[:-1]


# The one-byte immediate of these instructions is an ordinary operand. In other instructions it can be a count, which
# may be zero, or a selection of elements.
_ARITHMETIC = {
    Mnemonic.ADD, Mnemonic.OR, Mnemonic.ADC, Mnemonic.SBB, Mnemonic.AND, Mnemonic.SUB, Mnemonic.XOR, Mnemonic.CMP,
    Mnemonic.TEST, Mnemonic.MOV,
}  # fmt: skip


class _Kind(NamedTuple):
    """Properties of iced-x86's code, which is an opcode with its operand sizes."""

    valid: bool
    padding: bool  # or a mark for a target of indirect branches
    control: bool  # a control transfer, a trap or not an instruction
    branch: bool  # to a distance that the instruction contains
    selects: bool  # the immediate may change what it reads and writes


def _kind(instruction: Instruction) -> _Kind:
    operands = [instruction.op_kind(k) for k in range(instruction.op_count)]
    mnemonic = instruction.mnemonic
    return _Kind(
        valid=instruction.code != Code.INVALID,
        padding=mnemonic in (Mnemonic.NOP, Mnemonic.ENDBR64),
        control=instruction.flow_control != FlowControl.NEXT or mnemonic == Mnemonic.INVALID,
        branch=operands[:1] == [OpKind.NEAR_BRANCH64],
        selects=mnemonic not in _ARITHMETIC and (OpKind.IMMEDIATE8 in operands or OpKind.IMMEDIATE8_2ND in operands),
    )


def _leading(length: int, constants: ConstantOffsets, displacement_bytes: int, immediate_bytes: int) -> int:
    """Bytes of an instruction before its constants; all its bytes if something else follows one of the constants.

    That is a register in place of an immediate, or 3DNow's opcode.
    """
    constant_bytes = displacement_bytes + immediate_bytes + constants.immediate_size2
    if displacement_bytes:
        first = constants.displacement_offset
    elif immediate_bytes:
        first = constants.immediate_offset
    else:
        return length
    return first if first + constant_bytes == length else length


class Forms:
    """The forms so far, numbered in the order of their first occurrence. The numbers are valid for this object only."""

    def __init__(self) -> None:
        self._tree = np.zeros((256, 256), np.int32)
        self._nodes = 1
        self.facts = np.zeros(1024, FACTS)
        self._kinds: dict[Code_, _Kind] = {}
        self.examples: list[bytes] = []  # of each form, the instruction of its first occurrence

    def _new_node(self) -> int:
        if self._nodes == len(self._tree):
            self._tree = np.concatenate([self._tree, np.zeros_like(self._tree)])
        self._nodes += 1
        return self._nodes - 1

    def _insert(self, leading: bytes, form: int) -> None:
        if self._nodes + LONGEST > _MOST_NODES:  # empty the tree; the forms are learnt again under new numbers
            self._tree[:], self._nodes = _UNKNOWN, 1
        node = 0
        for byte in leading[:-1]:
            child = int(self._tree[node, byte])
            if child == _UNKNOWN:
                child = self._new_node()
                self._tree[node, byte] = child
            node = child
        self._tree[node, leading[-1]] = -1 - form

    def _learn(self, code: bytes) -> None:
        """Add the form of the first instruction in `code`, LONGEST bytes."""
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
        self._insert(code[:leading], form)

    def decode(self, code: np.ndarray, begin: np.ndarray, end: np.ndarray) -> Decoded:
        """Decode ranges of `code`, uint8: [begin[k], end[k]), int64, inside it.

        A range's instructions end before the first one that would extend beyond the range. Invalid bytes are
        instructions of forms that are not `valid`; iced-x86 determines their length.
        """
        form = np.empty(int((end - begin).sum()), np.int32)  # memory is touched only as far as it is filled
        first = np.zeros(len(begin) + 1, np.int64)
        whole = np.ones(len(begin), bool)
        range_index, offset, count = 0, int(begin[0]) if len(begin) else 0, 0
        ranges = read_only((code, begin, end))
        while True:
            range_index, offset, count = _walk(
                *ranges, self._tree, self.facts, range_index, offset, count, form, first, whole
            )
            if range_index == len(begin):
                return Decoded(form[:count], first, whole)
            self._learn(code[offset : offset + LONGEST].tobytes().ljust(LONGEST, b"\0"))

    def read(self, codes: Sequence[bytes]) -> Codes:
        """Decode pieces of code, each by itself."""
        bounds = np.cumsum([0, *map(len, codes)], dtype=np.int64)
        code = np.frombuffer(b"".join(codes), np.uint8)
        decoded = self.decode(code, bounds[:-1], bounds[1:])
        facts = self.facts[decoded.form]
        has_invalid, has_control = (
            np.diff(np.r_[0, np.cumsum(flags)][decoded.first]) > 0 for flags in (~facts["valid"], facts["control"])
        )
        return Codes(code, bounds, decoded, decoded.whole & ~has_invalid, ~has_control)


def _scale(code: bytes, constants: ConstantOffsets) -> int:
    """Bytes that a displacement of 1 means in the instruction."""
    with_unit_displacement = bytearray(code)
    with_unit_displacement[constants.displacement_offset] = 1
    return Decoder(64, bytes(with_unit_displacement)).decode().memory_displacement


@njit(cache=True, nogil=True)
def _walk(
    code: np.ndarray,
    begin: np.ndarray,
    end: np.ndarray,
    tree: np.ndarray,
    facts: np.ndarray,
    range_index: int,
    offset: int,
    count: int,
    form: np.ndarray,
    first: np.ndarray,
    whole: np.ndarray,
) -> tuple[int, int, int]:
    """Continue at byte `offset` of range `range_index`, after `count` instructions.

    Returns the same three numbers at the first unknown form; range_index == len(begin) if there is none.
    """
    while range_index < len(begin):
        while offset < end[range_index]:
            node, next_offset = 0, offset
            while next_offset < end[range_index]:
                node = tree[node, code[next_offset]]
                next_offset += 1
                if node <= 0:
                    break
            if node == 0:
                return range_index, offset, count
            if node > 0 or offset + facts[-1 - node].length > end[range_index]:
                whole[range_index] = False
                break
            form[count] = -1 - node
            count += 1
            offset += facts[-1 - node].length
        range_index += 1
        first[range_index] = count
        offset = begin[range_index] if range_index < len(begin) else 0
    return range_index, offset, count
