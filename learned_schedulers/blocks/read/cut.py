"""Functions -> basic blocks: runs of instructions that execute together, from the first to the last.

A block is a maximal run of plain instructions of one function such that no direct branch of the file
leads into its middle. The targets of jump tables are not visible in the code, so a block may still contain one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numba import njit

from learned_schedulers.blocks.read.elf import CodeSection, Image
from learned_schedulers.blocks.read.forms import Decoded, Forms
from learned_schedulers.blocks.read.leaks import NOWHERE, masked


class Blocks(NamedTuple):
    """The blocks of one section, by ascending address. The arrays have one entry per block, except the two of bytes."""

    section: str
    code: np.ndarray  # uint8, the section's bytes
    masked: np.ndarray  # uint8, the same bytes, with zeros for what betrays the original order
    address: np.ndarray  # int64
    begin: np.ndarray  # int64, offset in the section
    end: np.ndarray  # int64, offset of the byte after the last instruction
    n_instructions: np.ndarray  # int64


@njit(cache=True, nogil=True)
def branch_targets(
    code: np.ndarray, begin: np.ndarray, form: np.ndarray, first: np.ndarray, facts: np.ndarray
) -> np.ndarray:
    """Offsets of the targets of direct branches, int64."""
    n_branches = 0
    for i in range(len(form)):
        n_branches += facts[form[i]].branch_bytes > 0
    targets = np.empty(n_branches, np.int64)
    n_branches = 0
    for k in range(len(begin)):
        offset = begin[k]
        for i in range(first[k], first[k + 1]):
            offset += facts[form[i]].length
            size = facts[form[i]].branch_bytes
            if size:
                distance = np.int64(0)
                for byte in range(size):
                    distance |= np.int64(code[offset - size + byte]) << (8 * byte)
                if distance >> (8 * size - 1):
                    distance -= 1 << (8 * size)
                targets[n_branches] = offset + distance
                n_branches += 1
    return targets


@njit(cache=True, nogil=True)
def _cut(
    begin: np.ndarray,
    form: np.ndarray,
    first: np.ndarray,
    facts: np.ndarray,
    is_target: np.ndarray,
    min_instructions: int,
    max_instructions: int,
) -> np.ndarray:
    """Begin offset, end offset and number of instructions of each block, (3, n) int64."""
    blocks = np.empty((3, len(form)), np.int64)  # begin, end, n; memory is touched only as far as blocks fill it
    n_blocks = 0
    for k in range(len(begin)):
        offset, start, n, in_step = begin[k], begin[k], 0, True
        for i in range(first[k], first[k + 1]):
            # After an invalid byte (data between the code, or an instruction newer than the decoder) the decoder
            # may be out of step: it may read other instructions than the processor would.
            in_step &= facts[form[i]].valid
            plain = in_step and facts[form[i]].plain
            if n > 0 and (not plain or is_target[offset]):
                if min_instructions <= n <= max_instructions:
                    blocks[0, n_blocks], blocks[1, n_blocks], blocks[2, n_blocks] = start, offset, n
                    n_blocks += 1
                n = 0
            if plain:
                start = offset if n == 0 else start
                n += 1
            offset += facts[form[i]].length
        if min_instructions <= n <= max_instructions:
            blocks[0, n_blocks], blocks[1, n_blocks], blocks[2, n_blocks] = start, offset, n
            n_blocks += 1
    return blocks[:, :n_blocks]


def _spaces(image: Image) -> list[list[CodeSection]]:
    """Groups of sections that share an address space, each group sorted by name."""
    sections = sorted(image.sections, key=lambda section: section.name)
    return [[section] for section in sections] if image.relocatable else [sections]


def decoded_section(section: CodeSection, forms: Forms) -> tuple[np.ndarray, np.ndarray, Decoded]:
    """The bytes of a section, the offsets where its functions begin, and its instructions."""
    code = np.frombuffer(section.code, np.uint8)
    begin, end = section.functions.T - section.address
    begin, end = np.ascontiguousarray(begin), np.ascontiguousarray(end)
    return code, begin, forms.decode(code, begin, end)


def masked_section(
    section: CodeSection, image: Image, code: np.ndarray, begin: np.ndarray, decoded: Decoded, forms: Forms
) -> np.ndarray:
    """The bytes of a decoded section, with zeros for every leak and for what the linker fills in."""
    hidden = masked(code, begin, decoded, forms.facts, image.absolute or NOWHERE)
    for low, high in section.relocated.tolist():
        hidden[max(low, 0) : max(high, 0)] = 0
    return hidden


def blocks(image: Image, min_instructions: int, max_instructions: int, forms: Forms) -> Iterator[Blocks]:
    """The blocks of a length in [min_instructions, max_instructions], section by section, sorted by section name."""
    for space in _spaces(image):
        decoded_sections = [decoded_section(section, forms) for section in space]
        targets = np.concatenate(
            [
                branch_targets(code, function_begins, decoded.form, decoded.first, forms.facts) + section.address
                for section, (code, function_begins, decoded) in zip(space, decoded_sections, strict=True)
            ]
        )
        for section, (code, function_begins, decoded) in zip(space, decoded_sections, strict=True):
            offsets = targets - section.address
            is_target = np.zeros(len(code), bool)
            is_target[offsets[(offsets >= 0) & (offsets < len(code))]] = True
            hidden = masked_section(section, image, code, function_begins, decoded, forms)
            begins, ends, n_instructions = _cut(
                function_begins, decoded.form, decoded.first, forms.facts, is_target, min_instructions, max_instructions
            )
            yield Blocks(section.name, code, hidden, begins + section.address, begins, ends, n_instructions)
