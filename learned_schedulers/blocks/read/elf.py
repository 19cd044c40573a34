"""An ELF file -> the code of its functions, and the compiler that built it."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import Section

from learned_schedulers.blocks.read.eh_frame import DAMAGE, EhFrameError, function_ranges
from learned_schedulers.blocks.read.elf_layout import Layout, damaged, is_executable, layout_of, opened
from learned_schedulers.blocks.read.elf_relocations import Relocations, applied, read_relocations
from learned_schedulers.blocks.read.elf_symbols import WITHOUT_BOUNDS, read_symbols
from learned_schedulers.blocks.read.unreadable import Unreadable

# Bytes that a relocation of x86-64 covers, if they are not four (System V psABI, table 4.9 "Relocation Types").
_RELOCATED_BYTES = {1: 8, 12: 2, 13: 2, 14: 1, 15: 1} | dict.fromkeys((16, 17, 18, 24, 25, 27, 28, 29, 30, 31, 33), 8)


@dataclass(frozen=True)
class CodeSection:
    """A section of machine code. Addresses are virtual; in a relocatable object they start at 0."""

    name: str
    address: int
    code: bytes
    functions: np.ndarray  # int64 (n, 2): begin and end address of every function, sorted, disjoint
    relocated: np.ndarray  # int64 (m, 2): begin and end address of bytes that the linker fills in
    references: tuple[str, ...] = ()  # (m,): names of the values that it fills in; equal names mean equal values


@dataclass(frozen=True)
class Image:
    """The code of one file."""

    sections: list[CodeSection]
    compiler: str  # the .comment strings that matched
    relocatable: bool  # an object file: every section has an address space of its own
    absolute: tuple[int, int] | None  # addresses at which the image is loaded; None if it can move


def _bytes(section: Section) -> bytes:
    """A section's bytes. Sections of code, comments and unwinding tables hold bytes, and no tool compresses them."""
    if section["sh_type"] == "SHT_NOBITS" or section.compressed:
        raise damaged(f"section {section.name} has no plain bytes")
    return bytes(section.data())


def _compiler(elf: ELFFile, compiler: str | None, start_up_compiler: str, alone: bool) -> str:
    if compiler is None:
        return ""
    section = elf.get_section_by_name(".comment")
    remedy = "correct corpus.compiler in params.yaml, or exclude the file by corpus.sources.<source>.include"
    if section is None:
        raise Unreadable("no .comment section: its compiler is unknown", "link it without stripping .comment")
    strings = sorted({part.decode("utf-8", "replace") for part in _bytes(section).split(b"\0") if part})
    matching = [string for string in strings if re.search(compiler, string)]
    foreign = [string for string in strings if string not in matching and not re.search(start_up_compiler, string)]
    if not matching or (alone and foreign):
        raise Unreadable(
            f"built by another compiler: {'; '.join(foreign if matching else strings) or 'none named'}", remedy
        )
    return "; ".join(matching)


def _disjoint(ranges: np.ndarray, begin: int, end: int) -> np.ndarray:
    """The sorted ranges inside [begin, end) that are not empty and do not overlap an earlier one."""
    inside = ranges[(ranges[:, 0] >= begin) & (ranges[:, 1] <= end) & (ranges[:, 0] < ranges[:, 1])]
    inside = np.unique(inside, axis=0)
    if len(inside) == 0:
        return inside
    largest_end = np.maximum.accumulate(inside[:, 1])
    return inside[np.r_[True, inside[1:, 0] >= largest_end[:-1]]]


def _references(layout: Layout, relocations: Relocations) -> tuple[str, ...]:
    """Names of the values that relocations fill in.

    An address in code is named by its section alone: another schedule or padding would change the offset.
    """
    names = []
    for row, index in enumerate(relocations.defined_in.tolist()):
        section = layout.sections[index]
        if not index:
            names.append(f"{relocations.names[row]}+{relocations.addend[row]}")
        elif is_executable(section):
            names.append(str(section.name))
        else:
            names.append(f"{section.name}+{relocations.target[row] - layout.bases[index]}")
    return tuple(names)


def _functions(layout: Layout, relocations: Relocations) -> np.ndarray | None:
    """Begins and ends of functions by `.eh_frame`, positions, int64 (n, 2); None without such a section."""
    ranges = [
        function_ranges(applied(layout, relocations, index), int(layout.bases[index]) + layout.address)
        for index, section in enumerate(layout.sections)
        if section.name == ".eh_frame" and section["sh_type"] != "SHT_NOBITS" and _bytes(section)
    ]
    return np.concatenate(ranges) - layout.address if ranges else None


def _sections(layout: Layout, text_share: float, by_symbols: bool) -> list[CodeSection]:
    """by_symbols: where no `.eh_frame` describes functions, symbols may."""
    # The linker and people, not compilers, write the other executable sections (.plt, .init).
    text = [
        (index, section)
        for index, section in enumerate(layout.sections)
        if section.name.startswith(".text") and is_executable(section) and section["sh_type"] == "SHT_PROGBITS"
    ]
    # A linked file's addresses are filled in, and a large library has millions of symbols.
    relocations = read_relocations(layout, read_symbols(layout)) if layout.relocatable else Relocations.none()
    positions = _functions(layout, relocations)
    if positions is None:
        positions = read_symbols(layout).ranges if by_symbols else np.zeros((0, 2), np.int64)
        if len(positions) == 0:
            raise Unreadable("no .eh_frame section: function boundaries are unknown", WITHOUT_BOUNDS)
    sections = []
    for index, section in text:
        code, base = _bytes(section), int(layout.bases[index])
        functions = _disjoint(positions, base, base + int(len(code) * text_share)) - base
        changes = relocations.select(relocations.section == index)
        begins = changes.place - base
        sizes = np.array([_RELOCATED_BYTES.get(kind, 4) for kind in changes.kind.tolist()], np.int64)
        address = 0 if layout.relocatable else section["sh_addr"]
        relocated = np.stack([begins, begins + sizes], 1)
        references = _references(layout, changes)
        sections.append(CodeSection(section.name, address, code, functions + address, relocated, references))
    return sections


def _loaded(elf: ELFFile) -> tuple[int, int]:
    segments = [s for s in elf.iter_segments() if s["p_type"] == "PT_LOAD"]
    if not segments:
        raise damaged("no segment is loaded")
    low, high = min(s["p_vaddr"] for s in segments), max(s["p_vaddr"] + s["p_memsz"] for s in segments)
    if high >= 1 << 64:
        raise damaged(f"a segment ends at {high:#x}")
    return low, high


def read_image(data: bytes, compiler: str | None = None, start_up_compiler: str = "", text_share: float = 1.0) -> Image:
    """The compiled functions of an executable, shared object or relocatable object for x86-64.

    `compiler`, `start_up_compiler`: regular expressions. At least one `.comment` string must match the first, and every
    other one must match one of the two. None: any compiler; then the file need not name it, as programs of
    distributions do not, and where no `.eh_frame` describes functions, symbols may. `text_share`: code beyond this
    share of `.text` is dropped. If it is below 1, the file may name other compilers: the user states that their code is
    the dropped part.
    Raises Unreadable with reason and remedy.
    """
    try:
        elf = opened(data)
        compiler_text = _compiler(elf, compiler, start_up_compiler, alone=text_share == 1)
        layout = layout_of(elf, len(data))
        sections = _sections(layout, text_share, by_symbols=compiler is None)
        absolute = None if layout.movable else _loaded(elf)
    except EhFrameError as error:
        raise Unreadable(f"unreadable .eh_frame ({error})", "build the file again, or exclude it by include") from error
    except Unreadable:
        raise
    except DAMAGE as error:
        raise damaged(f"{type(error).__name__}: {error}") from error
    sections_with_functions = [section for section in sections if len(section.functions)]
    if not sections_with_functions:
        raise Unreadable(".eh_frame covers no function of .text", "compile with -funwind-tables")
    return Image(sections_with_functions, compiler_text, layout.relocatable, absolute)
