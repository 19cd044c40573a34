"""Functions -> basic blocks: runs of instructions that execute together, first to last.

A block is a maximal run of plain instructions of one function that no direct branch of the file
leads into. Jump tables do not show in the code; a block may still hold one of their targets.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numba import njit

from pipeline.blocks.corpus.elf import CodeSection, Image
from pipeline.blocks.corpus.forms import Decoded, Forms
from pipeline.blocks.corpus.leaks import NOWHERE, masked


class Blocks(NamedTuple):
    """The blocks of one section, ascending; arrays of the same length but for the section's bytes."""

    section: str
    code: np.ndarray  # uint8, the section's bytes
    masked: np.ndarray  # uint8, the same with zeros for what betrays the original order
    address: np.ndarray  # int64
    begin: np.ndarray  # int64, offset in the section
    end: np.ndarray  # int64, offset behind the last instruction
    n_instructions: np.ndarray  # int64


@njit(cache=True, nogil=True)
def branch_targets(
    code: np.ndarray, begin: np.ndarray, form: np.ndarray, first: np.ndarray, facts: np.ndarray
) -> np.ndarray:
    """Offsets that direct branches lead to, int64."""
    count = 0
    for i in range(len(form)):
        count += facts[form[i]].branch_bytes > 0
    targets = np.empty(count, np.int64)
    count = 0
    for k in range(len(begin)):
        at = begin[k]
        for i in range(first[k], first[k + 1]):
            at += facts[form[i]].length
            size = facts[form[i]].branch_bytes
            if size:
                distance = np.int64(0)
                for byte in range(size):
                    distance |= np.int64(code[at - size + byte]) << (8 * byte)
                if distance >> (8 * size - 1):
                    distance -= 1 << (8 * size)
                targets[count] = at + distance
                count += 1
    return targets


@njit(cache=True, nogil=True)
def _cut(
    begin: np.ndarray,
    form: np.ndarray,
    first: np.ndarray,
    facts: np.ndarray,
    is_target: np.ndarray,
    least: int,
    most: int,
) -> np.ndarray:
    """(3, n) int64: begin and end of each block, offsets, and its number of instructions."""
    blocks = np.empty((3, len(form)), np.int64)  # begin, end, n; as much as is used will be touched
    count = 0
    for k in range(len(begin)):
        at, start, n, in_step = begin[k], begin[k], 0, True
        for i in range(first[k], first[k + 1]):
            # Behind an invalid byte (data between the code, or an instruction newer than the decoder)
            # the decoder may be out of step, and what it reads need not be what the processor would.
            in_step &= facts[form[i]].valid
            plain = in_step and facts[form[i]].plain
            if n > 0 and (not plain or is_target[at]):
                if least <= n <= most:
                    blocks[0, count], blocks[1, count], blocks[2, count] = start, at, n
                    count += 1
                n = 0
            if plain:
                start = at if n == 0 else start
                n += 1
            at += facts[form[i]].length
        if least <= n <= most:
            blocks[0, count], blocks[1, count], blocks[2, count] = start, at, n
            count += 1
    return blocks[:, :count]


def _spaces(image: Image) -> list[list[CodeSection]]:
    """Sections that share an address space, each by name."""
    sections = sorted(image.sections, key=lambda section: section.name)
    return [[section] for section in sections] if image.relocatable else [sections]


def decoded_section(section: CodeSection, forms: Forms) -> tuple[np.ndarray, np.ndarray, Decoded]:
    """Bytes, begins of the functions as offsets, and the instructions of a section."""
    code = np.frombuffer(section.code, np.uint8)
    begin, end = section.functions.T - section.address
    begin, end = np.ascontiguousarray(begin), np.ascontiguousarray(end)
    return code, begin, forms.decode(code, begin, end)


def masked_section(
    section: CodeSection, image: Image, code: np.ndarray, begin: np.ndarray, found: Decoded, forms: Forms
) -> np.ndarray:
    """The bytes of a section, decoded, with zeros for every leak and for what the linker fills in."""
    hidden = masked(code, begin, found, forms.facts, image.absolute or NOWHERE)
    for first, last in section.relocated.tolist():
        hidden[max(first, 0) : max(last, 0)] = 0
    return hidden


def blocks(image: Image, least: int, most: int, forms: Forms) -> Iterator[Blocks]:
    """The blocks of `least` to `most` instructions, section by section in the order of their names."""
    for space in _spaces(image):
        decoded = [decoded_section(section, forms) for section in space]
        targets = np.concatenate(
            [
                branch_targets(code, begin, found.form, found.first, forms.facts) + section.address
                for section, (code, begin, found) in zip(space, decoded, strict=True)
            ]
        )
        for section, (code, begin, found) in zip(space, decoded, strict=True):
            inside = targets - section.address
            is_target = np.zeros(len(code), bool)
            is_target[inside[(inside >= 0) & (inside < len(code))]] = True
            hidden = masked_section(section, image, code, begin, found, forms)
            low, high, n = _cut(begin, found.form, found.first, forms.facts, is_target, least, most)
            yield Blocks(section.name, code, hidden, low + section.address, low, high, n)
