"""Proof that two objects differ by the orders that were asked for, and by debug information alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from learned_schedulers.blocks.read.assembler import Assembled, Section, relocation_symbols, relocation_types
from learned_schedulers.blocks.read.listing import Listing
from learned_schedulers.blocks.read.statements import DEBUG_SECTION, UNWINDING

Orders = Mapping[int, Sequence[int]]  # index of a block -> index of the instruction in each slot


class _Expected:
    """The code and relocations of the sections of a listing after its blocks were put in new orders."""

    def __init__(self, part: Listing, blocks: Sequence[range], orders: Orders) -> None:
        self.contents: dict[int, bytearray] = {}
        self._moves: dict[int, list[tuple[int, int, int]]] = {}  # by section: begin, end, bytes forward
        for number, order in orders.items():
            self._move(part, blocks[number], order)

    def _move(self, part: Listing, block: range, order: Sequence[int]) -> None:
        section = int(part.section[block.start])
        content = self.contents.setdefault(section, bytearray(part.object.sections[section].content))
        moves = self._moves.setdefault(section, [])
        offset = int(part.begin[block.start])
        for index in order:
            instruction = block.start + index
            begin, end = int(part.begin[instruction]), int(part.end[instruction])
            code = bytearray(part.code(instruction))
            facts = part.forms.facts[part.form[instruction]]
            if facts["rip_relative"] and not part.linked[instruction]:
                at = int(facts["displacement_at"])
                distance = int.from_bytes(code[at : at + 4], "little") + begin - offset
                code[at : at + 4] = (distance % (1 << 32)).to_bytes(4, "little")
            content[offset : offset + len(code)] = code
            moves.append((begin, end, offset - begin))
            offset += len(code)

    def relocation_offsets(self, section: Section) -> np.ndarray:
        """Where the relocations of a section are after the moves, int64."""
        offsets: np.ndarray = section.relocations["offset"].astype(np.int64)
        if section.index in self._moves:
            begin, end, forward = np.array(sorted(self._moves[section.index])).T
            owner = np.maximum(np.searchsorted(begin, offsets, "right") - 1, 0)
            inside = (offsets >= begin[owner]) & (offsets < end[owner])
            offsets[inside] += forward[owner[inside]]
        return offsets


def _is_debug(section: Section) -> bool:
    return not section.loaded and bool(DEBUG_SECTION.match(section.name)) and not UNWINDING.match(section.name)


def _numbered(before: Assembled, after: Assembled) -> tuple[np.ndarray, np.ndarray] | None:
    """A number for each symbol of two objects, equal for equal symbols; None if the objects have other symbols."""
    keys, other_keys = before.symbol_keys(), after.symbol_keys()
    if sorted(keys) != sorted(other_keys):
        return None
    numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    return (
        np.array([numbers[key] for key in keys], np.int64),
        np.array([numbers[key] for key in other_keys], np.int64),
    )


def _relocation_rows(relocations: np.ndarray, offsets: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """Rows of offset, type, symbol and addend, sorted; int64 (r, 4)."""
    rows = np.stack(
        [offsets, relocation_types(relocations), numbers[relocation_symbols(relocations)], relocations["addend"]],
        axis=1,
    )
    return rows[np.lexsort(rows.T[::-1])]


def failing_blocks(part: Listing, blocks: Sequence[range], orders: Orders, after: Assembled) -> set[int] | None:
    """Of the blocks with new orders, those that are not exactly these permutations in the object `after`.

    None if anything else differs than these blocks and debug information.
    """
    before = part.object
    numbers = _numbered(before, after)
    if numbers is None or before.sections.keys() != after.sections.keys():
        return None
    expected = _Expected(part, blocks, orders)
    failing: set[int] = set()
    for index, section in before.sections.items():
        other = after.sections[index]
        if section.shape != other.shape:
            return None
        if _is_debug(section):
            continue
        content = bytes(expected.contents.get(index, section.content))
        if section.size != other.size or len(section.relocations) != len(other.relocations):
            return None
        places = _differences(content, other.content)
        rows = _relocation_rows(section.relocations, expected.relocation_offsets(section), numbers[0])
        other_rows = _relocation_rows(other.relocations, other.relocations["offset"].astype(np.int64), numbers[1])
        wrong = np.any(rows != other_rows, axis=1)
        places = np.r_[places, rows[wrong, 0], other_rows[wrong, 0]]
        if len(places):
            owners = _owners(part, blocks, orders, index, places)
            if owners is None:
                return None
            failing |= owners
    return failing


def _differences(content: bytes, other: bytes) -> np.ndarray:
    if content == other:
        return np.zeros(0, np.int64)
    return np.flatnonzero(np.frombuffer(content, np.uint8) != np.frombuffer(other, np.uint8))


def _owners(
    part: Listing, blocks: Sequence[range], orders: Orders, section: int, places: np.ndarray
) -> set[int] | None:
    """The ordered blocks that contain the offsets of a section; None if an offset is in none."""
    spans = sorted(
        (int(part.begin[blocks[k].start]), int(part.end[blocks[k].stop - 1]), k)
        for k in orders
        if part.section[blocks[k].start] == section
    )
    if not spans:
        return None
    begin, end, number = np.array(spans).T
    owner = np.maximum(np.searchsorted(begin, places, "right") - 1, 0)
    if np.any((places < begin[owner]) | (places >= end[owner])):
        return None
    return set(number[owner].tolist())
