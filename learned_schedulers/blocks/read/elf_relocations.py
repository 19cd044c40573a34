"""Relocations of ELF files: the bytes that a linker or a loader fills in, and the places that they lead to."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from elftools.elf.relocation import RelocationSection

from learned_schedulers.blocks.read.elf_layout import NOWHERE, Layout, damaged
from learned_schedulers.blocks.read.elf_symbols import Symbols
from learned_schedulers.blocks.read.unreadable import Unreadable

# Types, by the x86-64 psABI.
R_NONE, R_64, R_PC32, R_PLT32, R_32, R_32S, R_PC64 = 0, 1, 2, 4, 10, 11, 24
_R_RELATIVE, _R_IRELATIVE, _R_RELATIVE64 = 8, 37, 38
R_GOTPCREL, R_GOTPCRELX, R_REX_GOTPCRELX = 9, 41, 42
_PC_RELATIVE = (R_PC32, R_PLT32, R_GOTPCREL, R_GOTPCRELX, R_REX_GOTPCRELX, R_PC64)
_NAMES = {
    3: "GOT32", 5: "COPY", 12: "16", 13: "PC16", 14: "8", 15: "PC8", 16: "DTPMOD64", 17: "DTPOFF64", 18: "TPOFF64",
    19: "TLSGD", 20: "TLSLD", 21: "DTPOFF32", 24: "PC64", 25: "GOTOFF64", 26: "GOTPC32", 27: "GOT64",
    28: "GOTPCREL64", 29: "GOTPC64", 31: "PLTOFF64", 32: "SIZE32", 33: "SIZE64", 34: "GOTPC32_TLSDESC",
    35: "TLSDESC_CALL", 36: "TLSDESC",
}  # fmt: skip


class Relocations(NamedTuple):
    """R relocations."""

    names: list[str]  # (R,) of the symbols
    section: np.ndarray  # (R,) int64: index of the section that it changes; 0 if it names none
    place: np.ndarray  # (R,) int64: position of the bytes that it changes
    kind: np.ndarray  # (R,) int64: type
    defined_in: np.ndarray  # (R,) int64: index of the section of its symbol; 0 if that is not in this file
    addend: np.ndarray  # (R,) int64
    target: np.ndarray  # (R,) int64: symbol + addend as a position; NOWHERE if the symbol is not in this file

    @staticmethod
    def none() -> Relocations:
        """No relocations."""
        return _of_rows([], [])

    def select(self, chosen: np.ndarray) -> Relocations:
        """The relocations at some indices, or where a mask is true."""
        indices = np.arange(len(self.place))[chosen]
        columns = (getattr(self, name)[indices] for name in self._fields[1:])
        return Relocations([self.names[k] for k in indices.tolist()], *columns)


def _type_name(kind: int) -> str:
    """The name of a type that a section without code does not have."""
    return f"R_X86_64_{_NAMES.get(kind, kind)}"


def read_relocations(layout: Layout, symbols: Symbols) -> Relocations:
    """All relocations, also those of the loader. Raises Unreadable, and exceptions of `DAMAGE` for damaged tables."""
    rows: list[tuple[int, ...]] = []
    names: list[str] = []
    for section in layout.sections:
        if not isinstance(section, RelocationSection):
            continue
        if not section.is_RELA():
            raise Unreadable(f"relocations without addends (section {section.name})", "link it again by GNU ld")
        changed = section["sh_info"] if layout.relocatable else 0
        if changed >= len(layout.bases):
            raise damaged(f"{section.name} changes a section that does not exist")
        base = int(layout.bases[changed]) if layout.relocatable else -layout.address
        table = symbols.tables.get(section["sh_link"])
        for relocation in section.iter_relocations():
            kind, index, addend = relocation["r_info_type"], relocation["r_info_sym"], relocation["r_addend"]
            defined_in, target, name = 0, NOWHERE, ""
            if kind in (_R_RELATIVE, _R_IRELATIVE, _R_RELATIVE64):
                target = addend - layout.address
            elif index:
                if table is None:
                    raise damaged(f"{section.name} has no symbols")
                defined_in, position, name = int(table.section[index]), int(table.position[index]), table.names[index]
                target = position + addend if position != NOWHERE else NOWHERE
            if not -(1 << 62) <= target < 1 << 62 or relocation["r_offset"] >= 1 << 62:
                raise damaged(f"an address in {section.name} is beyond the address space")
            place = base + relocation["r_offset"]
            rows.append((changed, place, kind, defined_in, addend, target))
            names.append(name)
    return _of_rows(rows, names)


def _of_rows(rows: list[tuple[int, ...]], names: list[str]) -> Relocations:
    columns = np.array(rows, np.int64).reshape(-1, 6).T
    return Relocations(names, *columns)


def applied(layout: Layout, relocations: Relocations, index: int) -> bytes:
    """The bytes of an object's section, as a linker would fill them in if it laid out the file as `layout` does.

    Fields whose symbol is not in this file stay as they are. Raises Unreadable for a type that does not belong there.
    """
    section = layout.sections[index]
    filled = bytearray(section.data())
    if not layout.relocatable:
        return bytes(filled)
    rows = np.flatnonzero(relocations.section == index)
    base = int(layout.bases[index])
    for row in rows.tolist():
        kind, target = int(relocations.kind[row]), int(relocations.target[row])
        if kind == R_NONE or target == NOWHERE:
            continue
        if kind not in (R_64, R_32, R_32S, R_PC32, R_PLT32, R_PC64):
            raise Unreadable(f"relocation {_type_name(kind)} in {section.name}", "build it with GCC or Clang")
        place = int(relocations.place[row])
        size = 8 if kind in (R_64, R_PC64) else 4
        value = target - place if kind in _PC_RELATIVE else target
        if not 0 <= place - base <= len(filled) - size:
            raise damaged(f"a relocation of {section.name} lies outside of it")
        filled[place - base : place - base + size] = (value % (1 << 8 * size)).to_bytes(size, "little")
    return bytes(filled)
