"""Object files of single functions -> bytes that run at an address."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from learned_schedulers.blocks.read.elf_layout import (
    NOWHERE,
    Layout,
    has_bytes,
    is_code,
    is_loaded,
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


@dataclass(frozen=True)
class Image:
    """A compiled function and its constants."""

    layout: Layout
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
        loaded = [index for index, section in enumerate(sections) if is_loaded(section)]
        for index in sorted(loaded, key=lambda index: not is_code(sections[index])):
            if not is_code(sections[index]):
                position = -(-position // _ALIGNED) * _ALIGNED
            bases[index] = position
            old = int(self.layout.bases[index])
            if old <= self.function < old + max(sections[index]["sh_size"], 1):
                entry = position + self.function - old
            position += -(-sections[index]["sh_size"] // 16) * 16
        moved = self._moved(bases)
        content = bytearray(position - address)
        for index in loaded:
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
        shift = shifts[rows.defined_in]
        return rows._replace(
            place=rows.place + shifts[rows.section], symbol=rows.symbol + shift, target=rows.target + shift
        )


def image(content: bytes, name: str) -> Image:
    """The image of a function in an object file that `llvm.Emitter` made. Raises NotPlaceable."""
    layout = layout_of(opened(content), len(content))
    symbols = read_symbols(layout)
    relocations = read_relocations(layout, symbols)
    of_loaded = np.array([is_loaded(section) for section in layout.sections])[relocations.section]
    relocations = relocations.select(of_loaded)
    for number in np.flatnonzero(relocations.target == NOWHERE):
        raise NotPlaceable(f"it needs {relocations.names[number] or 'an address'}, which this file does not define")
    for section in layout.sections:
        writable = is_loaded(section) and section["sh_flags"] & (_WRITABLE | _THREAD) and section["sh_size"]
        if writable and not section.name.startswith(".data.rel.ro"):
            raise NotPlaceable(f"it needs memory that it may write ({section.name})")
    entry = next((position for position, function in symbols.functions.items() if function == name), None)
    if entry is None:
        raise NotPlaceable(f"the file does not define {name}")
    # There is no table: `mov address@GOTPCREL(%rip)` becomes `lea address(%rip)`, as by linkers (x86-64 psABI, B.2).
    loads = np.isin(relocations.kind, (R_GOTPCREL, R_GOTPCRELX, R_REX_GOTPCRELX))
    relocations = relocations._replace(kind=np.where(loads, R_PC32, relocations.kind))
    return Image(layout, relocations, loads, entry)
