"""Compiled candidates of a function -> one image, which the judge in the program maps near the program's own code.

What a candidate reaches lies in the image, but for memory that is written: that is the program's, as are functions that
the candidate's file does not define. Their addresses are filled in when the image is mapped (judge.c).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from learned_schedulers.blocks.read.elf_layout import NOWHERE, Layout, has_bytes, is_code, layout_of, opened
from learned_schedulers.blocks.read.elf_relocations import (
    R_64,
    R_GOTPCREL,
    R_GOTPCRELX,
    R_NONE,
    R_PC32,
    R_PC64,
    R_PLT32,
    R_REX_GOTPCRELX,
    Relocations,
    applied,
    read_relocations,
)
from learned_schedulers.blocks.read.elf_symbols import read_symbols

_MAGIC = int.from_bytes(b"lsjudge1", "little")
_PAGE, _ALIGNED, _SLOT = 4096, 64, 8  # bytes
_JUMP = b"\xff\x25\x02\0\0\0\0\0"  # to the address in the next slot
_TABLED = (R_GOTPCREL, R_GOTPCRELX, R_REX_GOTPCRELX)  # an address in a table that a linker makes
_WRITABLE, _READ_ONLY = 0x1, ".data.rel.ro"  # section flag; what is written only when it is loaded
_FRAMES, _PERSONALITY = ".eh_frame", "DW.ref."
_HEAD = np.dtype(
    [(name, "<u8") for name in ("magic", "content", "bytes", "candidates", "fixups", "frames", "ticks", "seed", "site")]
)
_FIXUP = np.dtype([("place", "<u8"), ("bits", "<u4"), ("external", "<u4"), ("addend", "<i8")])


class NotPlaceable(ValueError):
    """A candidate needs what an image cannot have; the message says what."""


class Settings(NamedTuple):
    """How the candidates of a site are judged."""

    site: int  # its number in the results
    ticks: int  # of a burst, at least
    seed: int  # of the sequence of candidates


class _Fixup(NamedTuple):
    place: int  # in the image
    bits: int  # 64: an address; 32: a distance from the place
    external: str  # a symbol; empty: the image
    addend: int


def image(objects: Sequence[bytes], function: str, externals: Sequence[str], settings: Settings) -> bytes:
    """The file of an image, for judge.c.

    objects: a file for each candidate, relocatable and for any address (PIC), that defines the function; externals:
    symbols of the site's table in the program. Raises NotPlaceable, and Unreadable for a damaged file.
    """
    candidates = [_candidate(content, function) for content in objects]
    content = bytearray(_ALIGNED)  # unwinders skip code at a multiple of 4 GiB, where an image may begin
    fixups: list[_Fixup] = []
    bases = []
    for candidate in candidates:
        content += bytes(-len(content) % _ALIGNED)
        bases.append(candidate.bases(len(content)))
        content += candidate.content(bases[-1], len(content), fixups)
    content += bytes(-len(content) % _SLOT)
    frames = len(content)
    for candidate, of_candidate in zip(candidates, bases, strict=True):
        content += candidate.frames(of_candidate, len(content))
    content += bytes(4)  # they end
    content += bytes(-len(content) % _PAGE)
    entries = [candidate.entry(base) for candidate, base in zip(candidates, bases, strict=True)]
    return _file(bytes(content), entries, fixups, frames, list(externals), settings)


def _file(
    content: bytes, entries: list[int], fixups: list[_Fixup], frames: int, externals: list[str], settings: Settings
) -> bytes:
    numbers = {name: number for number, name in enumerate([*externals, ""])}
    if missing := next((fixup.external for fixup in fixups if fixup.external not in numbers), None):
        raise NotPlaceable(f"it needs {missing}, which the function in the program does not")
    begin = _HEAD.itemsize + 8 * len(entries) + _FIXUP.itemsize * len(fixups)
    begin += -begin % _PAGE
    rows = [(place, bits, numbers[external], addend) for place, bits, external, addend in fixups]
    head = (_MAGIC, begin, len(content), len(entries), len(rows), frames, settings.ticks, settings.seed, settings.site)
    table = b"".join(
        [np.array([head], _HEAD).tobytes(), np.array(entries, "<u8").tobytes(), np.array(rows, _FIXUP).tobytes()]
    )
    return table.ljust(begin, b"\0") + content


@dataclass(frozen=True)
class _Candidate:
    """A function in an object file, with what it reaches there."""

    layout: Layout
    relocations: Relocations
    reached: list[int]  # sections: code first
    function: int  # its position in the layout
    section: int  # in which it lies

    def bases(self, start: int) -> np.ndarray:
        """The place of each section that it reaches, from `start` on; NOWHERE for the others."""
        bases = np.full(len(self.layout.sections), NOWHERE, np.int64)
        place = start
        for index in self.reached:
            place += -place % _ALIGNED
            bases[index] = place
            place += self.layout.sections[index]["sh_size"]
        return bases

    def entry(self, bases: np.ndarray) -> int:
        """The place of the function."""
        return int(self.function - self.layout.bases[self.section] + bases[self.section])

    def content(self, bases: np.ndarray, start: int, fixups: list[_Fixup]) -> bytes:
        """Its bytes from `start` on, with a table of addresses; what the program has to fill in goes to `fixups`."""
        end = max(int(bases[index]) + self.layout.sections[index]["sh_size"] for index in self.reached)
        table = _Table(end + -end % _SLOT, fixups)
        rows = self._moved(bases)
        kind, target = rows.kind.copy(), rows.target.copy()
        for row in np.flatnonzero(np.isin(rows.section, self.reached)).tolist():
            place, external, addend = int(rows.place[row]), rows.names[row], int(rows.addend[row])
            if inside := target[row] != NOWHERE:  # in the image
                external, goal = "", int(target[row])
            else:
                goal = addend
            if kind[row] in _TABLED:
                slot = table.slot(external, goal - addend if inside else 0)
                kind[row], target[row] = R_PC32, slot + addend
            elif kind[row] == R_64:
                fixups.append(_Fixup(place, 64, external, goal))
                target[row] = NOWHERE
            elif not inside and kind[row] == R_PLT32:
                target[row] = table.jump(external) + addend
            elif not inside and kind[row] == R_PC32:
                fixups.append(_Fixup(place, 32, external, addend))
            elif not inside or kind[row] not in (R_NONE, R_PC32, R_PLT32, R_PC64):
                raise NotPlaceable(f"it uses {external or 'an address'} in a way that is not understood")
        rows = rows._replace(kind=kind, target=target)
        content = bytearray(table.place - start)
        for index in self.reached:
            self._write(content, start, index, bases, rows)
        return bytes(content + table.content)

    def frames(self, bases: np.ndarray, start: int) -> bytes:
        """Its unwinding rows, which begin at `start`. Raises NotPlaceable for a function that catches exceptions."""
        index = next((i for i, each in enumerate(self.layout.sections) if each.name == _FRAMES), None)
        if index is None:
            return b""
        bases = bases.copy()
        bases[index] = start
        rows = self._moved(bases)
        if any(rows.names[row].startswith(_PERSONALITY) for row in np.flatnonzero(rows.section == index)):
            raise NotPlaceable("it catches exceptions")
        content = bytearray(self.layout.sections[index]["sh_size"])
        self._write(content, start, index, bases, rows)
        return bytes(content)

    def _moved(self, bases: np.ndarray) -> Relocations:
        """The relocations for sections at these places; NOWHERE is what is not in the image."""
        rows = self.relocations
        inside = (rows.target != NOWHERE) & (bases[rows.defined_in] != NOWHERE) & (rows.defined_in > 0)
        shifts = bases - self.layout.bases
        target = np.where(inside, rows.target + shifts[rows.defined_in], NOWHERE)
        return rows._replace(place=rows.place + shifts[rows.section], target=target)

    def _write(self, content: bytearray, start: int, index: int, bases: np.ndarray, rows: Relocations) -> None:
        if has_bytes(self.layout.sections[index]):
            part = applied(replace(self.layout, bases=bases), rows, index)
            begin = int(bases[index]) - start
            content[begin : begin + len(part)] = part


class _Table:
    """Addresses that the program fills in, and jumps by them; behind a candidate."""

    def __init__(self, place: int, fixups: list[_Fixup]) -> None:
        self.place, self.content = place, bytearray()
        self._fixups = fixups
        self._places: dict[tuple[bool, str, int], int] = {}

    def slot(self, external: str, addend: int) -> int:
        """The place of an address."""
        return self._new(False, external, addend)

    def jump(self, external: str) -> int:
        """The place of a jump to a function, which may be far away."""
        return self._new(True, external, 0)

    def _new(self, jumps: bool, external: str, addend: int) -> int:
        if (key := (jumps, external, addend)) not in self._places:
            self._places[key] = self.place + len(self.content)
            self.content += _JUMP * jumps
            self._fixups.append(_Fixup(self.place + len(self.content), 64, external, addend))
            self.content += bytes(_SLOT)
        return self._places[key]


def _candidate(content: bytes, function: str) -> _Candidate:
    layout = layout_of(opened(content), len(content))
    symbols = read_symbols(layout)
    position = next((position for position, name in symbols.functions.items() if name == function), None)
    if position is None:
        raise NotPlaceable(f"its file does not define {function}")
    relocations = read_relocations(layout, symbols)
    ends = layout.bases + [each["sh_size"] for each in layout.sections]
    lying = (position >= layout.bases) & (position < ends)
    section = next(index for index in np.flatnonzero(lying).tolist() if is_code(layout.sections[index]))
    reached = _reached(relocations, section, layout)
    local = (relocations.defined_in > 0) & ~np.isin(relocations.defined_in, reached)
    for row in np.flatnonzero(local & np.isin(relocations.section, reached)).tolist():
        if not relocations.names[row] or relocations.names[row].startswith("."):
            raise NotPlaceable("it needs memory of its own that it may write")
    return _Candidate(
        layout, relocations, sorted(reached, key=lambda i: not is_code(layout.sections[i])), position, section
    )


def _reached(relocations: Relocations, section: int, layout: Layout) -> list[int]:
    """A section, and those to which its addresses and theirs lead, without memory that is written."""
    fixed = np.array([not each["sh_flags"] & _WRITABLE or each.name.startswith(_READ_ONLY) for each in layout.sections])
    reached = np.array([section])
    while True:
        leads = relocations.defined_in[np.isin(relocations.section, reached)]
        wider = np.union1d(reached, leads[(leads > 0) & fixed[leads]])
        if len(wider) == len(reached):
            return [int(index) for index in reached]
        reached = wider
