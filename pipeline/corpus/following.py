"""The instructions that follow a block in its program, without any address in them.

GCC does not end its blocks at calls, and it knows which values the code after a block's end uses; our blocks end at
calls. The first instruction is the one that ends the block: a call, a jump, a return, or the target of a branch.
Padding is skipped, because its length would tell an address. The width of a jump is removed as well: a short jump is
written as a near one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
from iced_x86 import Decoder, FlowControl
from numba import njit

from learned_schedulers.blocks.read.cut import decoded_section, masked_section
from learned_schedulers.blocks.read.elf import Image
from learned_schedulers.blocks.read.forms import LONGEST, Forms
from learned_schedulers.blocks.read.leaks import MOST_FOLLOWING as MOST

_FINAL = {
    FlowControl.UNCONDITIONAL_BRANCH,
    FlowControl.INDIRECT_BRANCH,
    FlowControl.RETURN,
    FlowControl.EXCEPTION,  # ud2
}
_SHORT_JUMP, _NEAR_JUMP = 0xEB, 0xE9  # opcodes
_SHORT_CONDITIONS, _NEAR_CONDITIONS, _TWO_BYTES = 0x70, 0x80, 0x0F  # sixteen opcodes each; the near ones come after 0F
_NEAR_BYTES = 4  # of a near jump's distance


class Following(NamedTuple):
    """The instructions that follow B blocks, the nearest first."""

    lengths: np.ndarray  # (B, MOST) uint8, bytes; 0 for none
    code: np.ndarray  # (B, MOST, LONGEST) uint8, zeros after an instruction's end

    @staticmethod
    def none(size: int) -> Following:
        return Following(np.zeros((size, MOST), np.uint8), np.zeros((size, MOST, LONGEST), np.uint8))

    def lists(self) -> pa.ListArray:
        """The bytes of each block's following instructions, as in table `following`."""
        exists = self.lengths > 0
        lengths = self.lengths[exists].astype(np.int64)
        code_bytes = self.code[exists][np.arange(LONGEST) < lengths[:, None]]
        offsets = np.r_[0, np.cumsum(lengths)].astype(np.int32)
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(code_bytes)]
        values = pa.Array.from_buffers(pa.binary(), len(lengths), buffers)
        return pa.ListArray.from_arrays(pa.array(np.r_[0, np.cumsum(exists.sum(1))], pa.int32()), values)


def of_blocks(image: Image, sections: np.ndarray, addresses: np.ndarray, codes: list[bytes], forms: Forms) -> Following:
    """The instructions that follow B blocks of one program, up to the end of their function.

    sections: (B,) names; addresses: (B,) int64; codes: the blocks' bytes in the program. In an object file several
    sections may have the same name: a block belongs to the one that has its bytes at its address.
    Raises ValueError for a section or a block that the program does not contain.
    """
    if unknown := sorted(set(sections) - {section.name for section in image.sections}):
        raise ValueError(f"no code in section {unknown[0]}")
    following, is_placed = Following.none(len(codes)), np.zeros(len(codes), bool)
    for section in image.sections:
        rows = np.flatnonzero((sections == section.name) & ~is_placed)
        offsets = (addresses[rows] - section.address).tolist()
        matches = [
            offset >= 0 and section.code[offset : offset + len(codes[row])] == codes[row]
            for offset, row in zip(offsets, rows, strict=True)
        ]
        rows = rows[np.array(matches, bool)]
        end = addresses[rows] - section.address + np.array([len(codes[row]) for row in rows], np.int64)
        by_end = np.argsort(end, kind="stable")
        rows, end = rows[by_end], end[by_end]
        code, function_begins, decoded = decoded_section(section, forms)
        hidden = masked_section(section, image, code, function_begins, decoded, forms)
        _follow(
            *(hidden, function_begins, decoded.form, decoded.first, forms.facts, _final(forms)),
            *(rows, end, is_placed, following.lengths, following.code),
        )
    if not is_placed.all():
        missing = int(np.flatnonzero(~is_placed)[0])
        raise ValueError(f"block {codes[missing].hex()} is not at {sections[missing]} {addresses[missing]:#x}")
    return following


def _final(forms: Forms) -> np.ndarray:
    """Whether control never continues after an instruction of each form, bool."""
    final = np.zeros(len(forms.facts), bool)
    for form in np.flatnonzero(forms.facts["control"] & forms.facts["valid"]).tolist():
        final[form] = Decoder(64, forms.examples[form]).decode().flow_control in _FINAL
    return final


@njit(cache=True, nogil=True)
def _follow(
    code: np.ndarray,
    begin: np.ndarray,
    form: np.ndarray,
    first: np.ndarray,
    facts: np.ndarray,
    final: np.ndarray,
    rows: np.ndarray,
    end: np.ndarray,
    is_placed: np.ndarray,
    lengths: np.ndarray,
    following_code: np.ndarray,
) -> None:
    """Fill `is_placed`, `lengths` and `following_code` in one pass over a section's functions and the blocks' ends.

    The offsets of both ascend.
    """
    block = 0
    for function in range(len(begin)):
        offset = begin[function]
        for index in range(first[function], first[function + 1]):
            offset += facts[form[index]].length
            # A block whose end is not the end of an instruction is never placed.
            while block < len(end) and end[block] < offset:
                block += 1
            while block < len(end) and end[block] == offset:
                is_placed[rows[block]] = True
                n, next_offset, next_index = 0, offset, index + 1
                while next_index < first[function + 1] and n < MOST and facts[form[next_index]].valid:
                    fact = facts[form[next_index]]
                    if fact.plain or fact.control:
                        lengths[rows[block], n] = _copy(
                            code, next_offset, fact.length, fact.branch_bytes, following_code[rows[block], n]
                        )
                        n += 1
                        if final[form[next_index]]:
                            break
                    next_offset += fact.length
                    next_index += 1
                block += 1


@njit(cache=True, nogil=True)
def _copy(code: np.ndarray, offset: int, length: int, branch_bytes: int, out: np.ndarray) -> int:
    """Write an instruction with a branch distance of zero, a short jump as a near one; return its length in bytes."""
    out[:length] = code[offset : offset + length]
    out[length - branch_bytes : length] = 0
    opcode = out[length - 2] if branch_bytes == 1 else 0
    if opcode == _SHORT_JUMP and length + 3 <= LONGEST:
        out[length - 2] = _NEAR_JUMP
        return length - 1 + _NEAR_BYTES
    if opcode & 0xF0 == _SHORT_CONDITIONS and length + 4 <= LONGEST:
        out[length - 2] = _TWO_BYTES
        out[length - 1] = opcode - _SHORT_CONDITIONS + _NEAR_CONDITIONS
        return length + _NEAR_BYTES
    return length
