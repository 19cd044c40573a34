"""The place of a block in its function, described so that it is equal for all schedules of the same code.

Scheduling inside basic blocks moves no control transfer and no branch target past another one, and it preserves the
order of the functions in a section. So the number of a function in its section, together with the number of control
transfers and targets before a block, names the same place in both objects, whatever the addresses and the padding.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numba import njit

from learned_schedulers.blocks.read.cut import Blocks, blocks, branch_targets, decoded_section
from learned_schedulers.blocks.read.elf import CodeSection, Image
from learned_schedulers.blocks.read.forms import Decoded, Forms

_ANY_LENGTH = 1 << 16
_FAR = 0x7F  # four such bytes are a distance beyond the end of every section


class Section(NamedTuple):
    """The blocks of any length of one section of an object file, and their places."""

    blocks: Blocks
    function: np.ndarray  # (B,) int64: number of the block's function in the section
    passed: np.ndarray  # (B,) int64: control transfers and branch targets between function begin and block begin
    totals: np.ndarray  # (F,) int64: `passed` at the end of each function
    starts: np.ndarray  # (N,) int64: offsets of the instructions, ascending
    sizes: np.ndarray  # (N,) int64: bytes of each
    references: dict[int, str]  # number of an instruction -> names of the values that the linker fills in


@njit(cache=True, nogil=True)
def _walk(
    begin: np.ndarray,
    form: np.ndarray,
    first: np.ndarray,
    facts: np.ndarray,
    is_target: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Offset, size and `passed` of each instruction, and the total of each function."""
    starts, sizes, passed = np.empty((3, len(form)), np.int64)
    totals = np.zeros(len(begin), np.int64)
    for function in range(len(begin)):
        offset, counted_target = begin[function], False
        for index in range(first[function], first[function + 1]):
            fact = facts[form[index]]
            if (
                is_target[offset] and not counted_target
            ):  # targets with only padding between them may be a single one in the other object
                totals[function] += 1
                counted_target = True
            starts[index], sizes[index], passed[index] = offset, fact.length, totals[function]
            totals[function] += fact.control
            counted_target &= not (fact.control or fact.plain)
            offset += fact.length
    return starts, sizes, passed, totals


def _is_target(section: CodeSection, begin: np.ndarray, decoded: Decoded, forms: Forms) -> np.ndarray:
    """(bytes of the section,) bool: whether an offset is the target of a branch in the section."""
    code = np.frombuffer(section.code, np.uint8).copy()
    for first, last in section.relocated.tolist():
        code[first:last] = _FAR  # a call whose distance is not filled in would seem to lead to the next instruction
    targets = branch_targets(code, begin, decoded.form, decoded.first, forms.facts)
    is_target = np.zeros(len(code), bool)
    is_target[targets[(targets >= 0) & (targets < len(code))]] = True
    return is_target


def _section(section: CodeSection, section_blocks: Blocks, forms: Forms) -> Section:
    _, function_begins, decoded = decoded_section(section, forms)
    is_target = _is_target(section, function_begins, decoded, forms)
    starts, sizes, passed, totals = _walk(function_begins, decoded.form, decoded.first, forms.facts, is_target)
    instruction_numbers = np.searchsorted(starts, section.relocated[:, 0], "right") - 1
    references: dict[int, str] = {}
    for instruction, name in zip(instruction_numbers.tolist(), section.references, strict=True):
        references[instruction] = f"{references.get(instruction, '')}{name};"
    return Section(
        blocks=section_blocks,
        function=np.searchsorted(function_begins, section_blocks.begin, "right") - 1,
        passed=passed[np.searchsorted(starts, section_blocks.begin)],
        totals=totals,
        starts=starts,
        sizes=sizes,
        references=references,
    )


def sections(image: Image, forms: Forms) -> Iterator[Section]:
    """The sections of a relocatable object, sorted by name. Raises ValueError for a linked file."""
    if not image.relocatable:
        raise ValueError("places exist only in object files: compile with -c")
    ordered = sorted(image.sections, key=lambda section: section.name)
    for section, section_blocks in zip(ordered, blocks(image, 1, _ANY_LENGTH, forms), strict=True):
        yield _section(section, section_blocks, forms)


def instructions(section: Section, block: int) -> list[bytes]:
    """The instructions of a block, each as masked bytes and the names that the linker fills in: a key for equality."""
    low, high = np.searchsorted(section.starts, (section.blocks.begin[block], section.blocks.end[block])).tolist()
    masked = section.blocks.masked
    return [
        masked[section.starts[i] : section.starts[i] + section.sizes[i]].tobytes()
        + section.references.get(i, "").encode()
        for i in range(low, high)
    ]
