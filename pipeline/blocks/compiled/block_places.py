"""Where a block stands in its function, in words that hold for any schedule of the same code.

Scheduling inside basic blocks moves no control transfer and no branch target past another, and keeps the functions
of a section in order. So the k-th function of a section, and in it the number of control transfers and targets passed,
name the same place in both objects, whatever the addresses and the padding.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numba import njit

from pipeline.blocks.corpus.cut import Blocks, blocks, branch_targets, decoded_section
from pipeline.blocks.corpus.elf import CodeSection, Image
from pipeline.blocks.corpus.forms import Decoded, Forms

_ANY_LENGTH = 1 << 16
_FAR = 0x7F  # as each of four bytes, a distance beyond any section


class Section(NamedTuple):
    """The blocks of one section of an object file, whatever their length, and their places."""

    blocks: Blocks
    function: np.ndarray  # (B,) int64: number of the block's function in the section
    passed: np.ndarray  # (B,) int64: control transfers and branch targets between function begin and block begin
    totals: np.ndarray  # (F,) int64: `passed` at the end of each function
    starts: np.ndarray  # (N,) int64: offsets of the instructions, ascending
    sizes: np.ndarray  # (N,) int64: bytes of each
    references: dict[int, str]  # number of an instruction -> what the linker fills in there


@njit(cache=True, nogil=True)
def _walk(
    begin: np.ndarray,
    form: np.ndarray,
    first: np.ndarray,
    facts: np.ndarray,
    is_target: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Per instruction its offset, size and `passed`, per function its total; offsets ascend where functions do."""
    starts, sizes, passed = np.empty((3, len(form)), np.int64)
    totals = np.zeros(len(begin), np.int64)
    for k in range(len(begin)):
        at, at_target = begin[k], False
        for i in range(first[k], first[k + 1]):
            fact = facts[form[i]]
            if is_target[at] and not at_target:  # targets with padding alone between them may be one elsewhere
                totals[k] += 1
                at_target = True
            starts[i], sizes[i], passed[i] = at, fact.length, totals[k]
            totals[k] += fact.control
            at_target &= not (fact.control or fact.plain)
            at += fact.length
    return starts, sizes, passed, totals


def _is_target(section: CodeSection, begin: np.ndarray, decoded: Decoded, forms: Forms) -> np.ndarray:
    """(bytes of the section,) bool: a branch of the section leads there."""
    code = np.frombuffer(section.code, np.uint8).copy()
    for first, last in section.relocated.tolist():
        code[first:last] = _FAR  # until it is filled in, a call of another file's function seems to lead behind itself
    targets = branch_targets(code, begin, decoded.form, decoded.first, forms.facts)
    is_target = np.zeros(len(code), bool)
    is_target[targets[(targets >= 0) & (targets < len(code))]] = True
    return is_target


def _section(section: CodeSection, found: Blocks, forms: Forms) -> Section:
    _, begin, decoded = decoded_section(section, forms)
    is_target = _is_target(section, begin, decoded, forms)
    starts, sizes, passed, totals = _walk(begin, decoded.form, decoded.first, forms.facts, is_target)
    inside = np.searchsorted(starts, section.relocated[:, 0], "right") - 1
    references: dict[int, str] = {}
    for instruction, name in zip(inside.tolist(), section.references, strict=True):
        references[instruction] = f"{references.get(instruction, '')}{name};"
    return Section(
        blocks=found,
        function=np.searchsorted(begin, found.begin, "right") - 1,
        passed=passed[np.searchsorted(starts, found.begin)],
        totals=totals,
        starts=starts,
        sizes=sizes,
        references=references,
    )


def sections(image: Image, forms: Forms) -> Iterator[Section]:
    """The sections of a relocatable object, by name. Raises ValueError for a linked file: its addresses are shared."""
    if not image.relocatable:
        raise ValueError("places are those of an object file: compile with -c")
    ordered = sorted(image.sections, key=lambda section: section.name)
    for section, found in zip(ordered, blocks(image, 1, _ANY_LENGTH, forms), strict=True):
        yield _section(section, found, forms)


def instructions(section: Section, block: int) -> list[bytes]:
    """The instructions of a block, each as masked bytes and what the linker fills in: equal where they do the same."""
    low, high = np.searchsorted(section.starts, (section.blocks.begin[block], section.blocks.end[block])).tolist()
    masked = section.blocks.masked
    return [
        masked[section.starts[i] : section.starts[i] + section.sizes[i]].tobytes()
        + section.references.get(i, "").encode()
        for i in range(low, high)
    ]
