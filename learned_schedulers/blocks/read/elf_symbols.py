"""The symbols of an ELF file: the names of functions, and places in code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from elftools.elf.sections import SymbolTableSection

from learned_schedulers.blocks.read.elf_layout import NOWHERE, Layout, damaged
from learned_schedulers.blocks.read.unreadable import Unreadable

_ENTRY = 24  # bytes of a symbol
_MOVES_CONTROL = ("STT_FUNC", "STT_LOOS", "STT_NOTYPE")  # STT_LOOS: the resolver of an indirect function
_FUNCTIONS = ("STT_FUNC", "STT_LOOS")
_PARTS = (".cold", "__part.")  # in names of parts of functions
WITHOUT_BOUNDS = (  # the remedy where nothing says which functions there are
    "compile with -funwind-tables, or give each function its type and size (NASM: global f:function (f.end - f))"
)


class Table(NamedTuple):
    """The symbols of one table, N of them."""

    section: np.ndarray  # (N,) int64: index of the section that defines it; 0 for those without a place in this file
    position: np.ndarray  # (N,) int64; NOWHERE for these
    names: list[str]


class Symbols(NamedTuple):
    """The symbols of a file."""

    tables: Mapping[int, Table]  # by the index of the table's section
    functions: Mapping[int, str]  # position -> name of what may be a function there
    ranges: np.ndarray  # int64 (K, 2): positions of the begins and ends of functions by their types and sizes


def _is_part(name: str) -> bool:
    """Whether a symbol names a part of a function that compilers moved away from the rest."""
    return any(word in name for word in _PARTS)


def read_symbols(layout: Layout) -> Symbols:
    """All symbols. Raises Unreadable, and exceptions of `DAMAGE` for damaged tables."""
    tables: dict[int, Table] = {}
    functions: dict[int, str] = {}
    sizes: dict[int, int] = {}
    for index, section in enumerate(layout.sections):
        if not isinstance(section, SymbolTableSection):
            continue
        if section["sh_entsize"] != _ENTRY:
            raise damaged(f"symbols of a wrong size in {section.name}")
        places_in, positions, names = [], [], []
        for symbol in section.iter_symbols():
            defined_in, kind = symbol["st_shndx"], symbol["st_info"]["type"]
            if defined_in == "SHN_XINDEX":
                raise Unreadable("an object with more than 65,000 sections", "compile without -ffunction-sections")
            position = NOWHERE
            if isinstance(defined_in, int) and 0 < defined_in < len(layout.bases) and symbol["st_value"] < 1 << 62:
                base = int(layout.bases[defined_in]) if layout.relocatable else -layout.address
                # In linked files, the value of a thread's variable is no address.
                if base != NOWHERE and (layout.relocatable or kind != "STT_TLS"):
                    position = base + symbol["st_value"]
            places_in.append(defined_in if position != NOWHERE else 0)
            positions.append(position)
            names.append(symbol.name)
            if kind in _FUNCTIONS and position >= 0 and 0 < symbol["st_size"] < 1 << 62:
                sizes[position] = max(symbol["st_size"], sizes.get(position, 0))
            if kind not in _MOVES_CONTROL or not symbol.name or symbol.name.startswith(".L") or position < 0:
                continue
            # A name of the whole function wins over one of a part, and the first over later ones.
            if position not in functions or (_is_part(functions[position]) and not _is_part(symbol.name)):
                functions[position] = symbol.name
        tables[index] = Table(np.array(places_in, np.int64), np.array(positions, np.int64), names)
    ranges = np.array([(begin, begin + size) for begin, size in sorted(sizes.items())], np.int64).reshape(-1, 2)
    return Symbols(tables, functions, ranges)
