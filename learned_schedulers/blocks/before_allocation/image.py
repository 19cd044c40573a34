"""A function of an object file, with what it reaches -> bytes that run at an address."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from learned_schedulers.blocks.read.elf_layout import (
    NOWHERE,
    Layout,
    has_bytes,
    is_code,
    layout_of,
    opened,
)
from learned_schedulers.blocks.read.elf_relocations import (
    R_GOTPCREL,
    R_GOTPCRELX,
    R_PC32,
    R_REX_GOTPCRELX,
    Relocations,
    applied,
    read_relocations,
)
from learned_schedulers.blocks.read.elf_symbols import read_symbols

_ALIGNED = 64  # bytes: the alignment of data, and that of code without a displacement
_MOV, _LEA = 0x8B, 0x8D  # opcodes
_WRITABLE, _THREAD = 0x1, 0x400  # section flags


class NotPlaceable(ValueError):
    """The function needs what lies outside of its file, or memory that it may write."""


class NotDefined(NotPlaceable):
    """The function is not in the file."""


@dataclass(frozen=True)
class Image:
    """A compiled function, its constants, and the functions that it calls."""

    layout: Layout
    reached: list[int]  # the sections that belong to it, ascending
    relocations: Relocations
    loads: np.ndarray  # bool, of the relocations: it loads an address from a table that a linker makes
    function: int  # position of the function in the layout of the file

    def at(self, address: int, displacement: int) -> tuple[bytes, int]:
        """The bytes from `address` on, a multiple of 64, and the address of the function in them.

        displacement: a multiple of 16, bytes by which code stands behind a multiple of 64; constants keep their
        alignment. Raises NotPlaceable.
        """
        sections = self.layout.sections
        bases, entry = np.zeros(len(sections), np.int64), 0
        position = address + displacement
        for index in sorted(self.reached, key=lambda index: not is_code(sections[index])):
            if not is_code(sections[index]):
                position = -(-position // _ALIGNED) * _ALIGNED
            bases[index] = position
            old = int(self.layout.bases[index])
            if old <= self.function < old + max(sections[index]["sh_size"], 1):
                entry = position + self.function - old
            position += -(-sections[index]["sh_size"] // 16) * 16
        moved = self._moved(bases)
        content = bytearray(position - address)
        for index in self.reached:
            if has_bytes(sections[index]):
                begin = int(bases[index]) - address
                part = applied(replace(self.layout, bases=bases), moved, index)
                content[begin : begin + len(part)] = part
        for place in (moved.place[self.loads] - address).tolist():
            if content[place - 2] != _MOV:
                raise NotPlaceable("it uses an address in a table in a way that is not understood")
            content[place - 2] = _LEA
        return bytes(content), entry

    def _moved(self, bases: np.ndarray) -> Relocations:
        """The relocations for sections at these addresses."""
        rows, shifts = self.relocations, bases - self.layout.bases
        return rows._replace(place=rows.place + shifts[rows.section], target=rows.target + shifts[rows.defined_in])


def image(content: bytes, name: str) -> Image:
    """The image of a function of an object file: the sections that it reaches from the one in which it lies.

    So the file may have other functions, if each has a section (-ffunction-sections). Raises NotPlaceable.
    """
    layout = layout_of(opened(content), len(content))
    symbols = read_symbols(layout)
    entry = next((position for position, function in symbols.functions.items() if function == name), None)
    if entry is None:
        raise NotDefined(f"the file does not define {name}")
    relocations = read_relocations(layout, symbols)
    reached = _reached(relocations, _section_of(layout, entry))
    relocations = relocations.select(np.isin(relocations.section, reached))
    for number in np.flatnonzero(relocations.target == NOWHERE):
        raise NotPlaceable(f"it needs {relocations.names[number] or 'an address'}, which this file does not define")
    for section in (layout.sections[index] for index in reached):
        writable = section["sh_flags"] & (_WRITABLE | _THREAD) and section["sh_size"]
        if writable and not section.name.startswith(".data.rel.ro"):
            raise NotPlaceable(f"it needs memory that it may write ({section.name})")
    # There is no table: `mov address@GOTPCREL(%rip)` becomes `lea address(%rip)`, as by linkers (x86-64 psABI, B.2).
    loads = np.isin(relocations.kind, (R_GOTPCREL, R_GOTPCRELX, R_REX_GOTPCRELX))
    relocations = relocations._replace(kind=np.where(loads, R_PC32, relocations.kind))
    return Image(layout, reached, relocations, loads, entry)


def _section_of(layout: Layout, position: int) -> int:
    """The section of code that has a position."""
    lying = (position >= layout.bases) & (position < layout.bases + [each["sh_size"] for each in layout.sections])
    return next(index for index in np.flatnonzero(lying).tolist() if is_code(layout.sections[index]))


def _reached(relocations: Relocations, section: int) -> list[int]:
    """A section, and those to which its addresses and theirs lead, ascending."""
    reached = np.array([section])
    while True:
        leads = relocations.defined_in[np.isin(relocations.section, reached)]
        wider = np.union1d(reached, leads[leads > 0])
        if len(wider) == len(reached):
            return [int(index) for index in reached]
        reached = wider
