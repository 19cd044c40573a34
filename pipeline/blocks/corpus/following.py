"""What follows a block in its program: the next instructions behind its end, with no address left in them.

GCC does not end its blocks at calls, and it knows what a block's end goes on to use; our blocks end there. The first
instruction is what ended the block: a call, a jump, a return, or what stands where a branch leads to. Padding is
passed over (its length tells an address), and so is the width of a jump: a short one is written as a near one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
from iced_x86 import Decoder, FlowControl
from numba import njit

from pipeline.blocks.corpus.cut import decoded_section, masked_section
from pipeline.blocks.corpus.elf import Image
from pipeline.blocks.corpus.forms import LONGEST, Forms
from pipeline.schemas.following import MOST_FOLLOWING as MOST

_FINAL = {
    FlowControl.UNCONDITIONAL_BRANCH,
    FlowControl.INDIRECT_BRANCH,
    FlowControl.RETURN,
    FlowControl.EXCEPTION,  # ud2
}
_SHORT_JUMP, _NEAR_JUMP = 0xEB, 0xE9  # opcodes
_SHORT_CONDITIONS, _NEAR_CONDITIONS, _TWO_BYTES = 0x70, 0x80, 0x0F  # sixteen opcodes each; the near ones behind 0F
_NEAR_BYTES = 4  # of a near jump's distance


class Following(NamedTuple):
    """What follows B blocks, nearest first."""

    lengths: np.ndarray  # (B, MOST) uint8, bytes; 0 for none
    code: np.ndarray  # (B, MOST, LONGEST) uint8, zeros behind an instruction's end

    @staticmethod
    def none(size: int) -> Following:
        return Following(np.zeros((size, MOST), np.uint8), np.zeros((size, MOST, LONGEST), np.uint8))

    def lists(self) -> pa.ListArray:
        """Of each block the instructions' bytes, as table `following` has them."""
        there = self.lengths > 0
        lengths = self.lengths[there].astype(np.int64)
        data = self.code[there][np.arange(LONGEST) < lengths[:, None]]
        offsets = np.r_[0, np.cumsum(lengths)].astype(np.int32)
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(data)]
        values = pa.Array.from_buffers(pa.binary(), len(lengths), buffers)
        return pa.ListArray.from_arrays(pa.array(np.r_[0, np.cumsum(there.sum(1))], pa.int32()), values)


def of_blocks(image: Image, sections: np.ndarray, addresses: np.ndarray, codes: list[bytes], forms: Forms) -> Following:
    """What follows B blocks of one program, up to the end of their function.

    sections: (B,) names; addresses: (B,) int64; codes: the blocks' bytes as found. In an object file several sections
    may have one name: a block stands where its bytes do.
    Raises ValueError for a section or a block that the program does not hold.
    """
    if unknown := sorted(set(sections) - {section.name for section in image.sections}):
        raise ValueError(f"no code in section {unknown[0]}")
    found, placed = Following.none(len(codes)), np.zeros(len(codes), bool)
    for section in image.sections:
        rows = np.flatnonzero((sections == section.name) & ~placed)
        begin = (addresses[rows] - section.address).tolist()
        there = [
            at >= 0 and section.code[at : at + len(codes[k])] == codes[k] for at, k in zip(begin, rows, strict=True)
        ]
        rows = rows[np.array(there, bool)]
        end = addresses[rows] - section.address + np.array([len(codes[k]) for k in rows], np.int64)
        order = np.argsort(end, kind="stable")
        rows, end = rows[order], end[order]
        code, starts, decoded = decoded_section(section, forms)
        hidden = masked_section(section, image, code, starts, decoded, forms)
        _follow(
            *(hidden, starts, decoded.form, decoded.first, forms.facts, _final(forms)),
            *(rows, end, placed, found.lengths, found.code),
        )
    if not placed.all():
        lost = int(np.flatnonzero(~placed)[0])
        raise ValueError(f"block {codes[lost].hex()} is not at {sections[lost]} {addresses[lost]:#x}")
    return found


def _final(forms: Forms) -> np.ndarray:
    """Forms behind which control never goes on, bool."""
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
    placed: np.ndarray,
    lengths: np.ndarray,
    out: np.ndarray,
) -> None:
    """One pass over a section's functions and over the blocks' ends, offsets in ascending order."""
    b = 0
    for k in range(len(begin)):
        at = begin[k]
        for i in range(first[k], first[k + 1]):
            at += facts[form[i]].length
            while b < len(end) and end[b] < at:  # where no instruction ends: never placed
                b += 1
            while b < len(end) and end[b] == at:
                placed[rows[b]] = True
                n, place, j = 0, at, i + 1
                while j < first[k + 1] and n < MOST and facts[form[j]].valid:
                    fact = facts[form[j]]
                    if fact.plain or fact.control:
                        lengths[rows[b], n] = _copy(code, place, fact.length, fact.branch_bytes, out[rows[b], n])
                        n += 1
                        if final[form[j]]:
                            break
                    place += fact.length
                    j += 1
                b += 1


@njit(cache=True, nogil=True)
def _copy(code: np.ndarray, at: int, length: int, branch_bytes: int, out: np.ndarray) -> int:
    """Write an instruction without the distance of its branch, a short jump as a near one; returns its length."""
    out[:length] = code[at : at + length]
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
