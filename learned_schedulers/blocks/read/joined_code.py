"""The code of all sections of an object as a single array, so that a file of many sections is read in a few steps.

C++ with templates has a section for each function. Zeros lie between the sections, so that no instruction goes on from
the end of one section into the next, and no byte of one is the prefix of an instruction in the next.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from learned_schedulers.blocks.read.assembler import RELOCATION, Assembled

SHIFT = 40  # a key, the number of a place in an object, is the section's number times 2^40, plus the offset in it
_APART = 64  # zeros before each section; an instruction has at most 15 bytes


@dataclass(frozen=True)
class JoinedCode:
    """The S sections with code, one after the other. A position is an index of `content`."""

    content: np.ndarray  # uint8
    section: np.ndarray  # int64 (S,), index of the section in the object, ascending
    first: np.ndarray  # int64 (S,), position of its first byte
    last: np.ndarray  # int64 (S,), position behind its last byte
    relocations: np.ndarray  # RELOCATION (r,) by ascending offset, which is a position

    @staticmethod
    def of(content: Assembled) -> JoinedCode:
        """The code of an object."""
        parts = [section for section in content.sections.values() if section.executable]
        sizes = np.array([len(part.content) for part in parts], np.int64)
        last = np.cumsum(sizes + _APART)
        first = last - sizes
        zeros = bytes(_APART)
        code = zeros + zeros.join(part.content for part in parts) + zeros
        relocations = np.concatenate([np.zeros(0, RELOCATION), *(part.relocations for part in parts)])
        relocations["offset"] += np.repeat(first, [len(part.relocations) for part in parts]).astype(np.uint64)
        numbers = np.array([part.index for part in parts], np.int64)
        return JoinedCode(np.frombuffer(code, np.uint8), numbers, first, last, relocations)

    def position(self, section: np.ndarray, offset: np.ndarray) -> np.ndarray:
        """Positions of offsets in sections of code, int64."""
        return self.first[np.searchsorted(self.section, section)] + offset if len(self.section) else offset

    def number(self, position: np.ndarray) -> np.ndarray:
        """Which of the S sections each position is in, int64."""
        return np.searchsorted(self.first, position, "right") - 1

    def gaps(self, begin: np.ndarray, end: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What lies between instructions and the ends of their sections: first and last positions of each piece.

        begin, end: ascending positions of instructions.
        """
        # Both are sorted, and a section has as many begins of pieces as it has ends, so they fit together.
        gap_begin, gap_end = np.sort(np.r_[self.first, end]), np.sort(np.r_[begin, self.last])
        some = gap_end > gap_begin
        return gap_begin[some], gap_end[some]
