"""An ELF file -> the code of its functions, and the compiler that built it."""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from elftools.elf.elffile import ELFFile
from elftools.elf.relocation import RelocationSection
from elftools.elf.sections import Section, SymbolTableSection

from pipeline.blocks.corpus.eh_frame import DAMAGE, EhFrameError, function_ranges, relocated_functions
from pipeline.blocks.corpus.sources import UnusableFile

_SHF_ALLOC = 0x2
_SHF_EXECINSTR = 0x4
_SECTION_HEADER, _PROGRAM_HEADER = 64, 56  # bytes of an entry in a file of 64 bits
_RELA, _REL, _SYMBOL = 24, 16, 24
# Bytes that a relocation of x86-64 covers, if they are not four (System V psABI, table 4.9 "Relocation Types").
_RELOCATED_BYTES = {1: 8, 12: 2, 13: 2, 14: 1, 15: 1} | dict.fromkeys((16, 17, 18, 24, 25, 27, 28, 29, 30, 31, 33), 8)


class ElfError(UnusableFile):
    """An ELF file that cannot be used."""


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


def _truncated(cause: object) -> ElfError:
    return ElfError(f"truncated or damaged ELF file ({cause})", "build or download the file again")


def _check_tables(elf: ELFFile, size: int) -> None:
    """Raise ElfError for header tables that end beyond the file's `size` bytes, before pyelftools walks along them.

    A damaged count or entry size would keep pyelftools busy for hours.
    """
    for table, offset, n_entries, entry_bytes, min_entry_bytes in (
        ("section headers", elf["e_shoff"], elf.num_sections(), elf["e_shentsize"], _SECTION_HEADER),
        ("program headers", elf["e_phoff"], elf.num_segments(), elf["e_phentsize"], _PROGRAM_HEADER),
    ):
        if n_entries and (entry_bytes < min_entry_bytes or offset + n_entries * entry_bytes > size):
            raise _truncated(f"{size} bytes, its {n_entries} {table} do not fit in")
    for section in elf.iter_sections():
        if section["sh_type"] != "SHT_NOBITS" and section["sh_offset"] + section["sh_size"] > size:
            raise _truncated(f"{size} bytes, section {section.name} does not fit in")


def _bytes(section: Section) -> bytes:
    """A section's bytes. Sections of code, comments and unwinding tables hold bytes, and no tool compresses them."""
    if section["sh_type"] == "SHT_NOBITS" or section.compressed:
        raise _truncated(f"section {section.name} has no plain bytes")
    return bytes(section.data())


def _compiler(elf: ELFFile, compiler: str, start_up_compiler: str, alone: bool) -> str:
    section = elf.get_section_by_name(".comment")
    remedy = "correct corpus.compiler in params.yaml, or exclude the file by corpus.sources.<source>.include"
    if section is None:
        raise ElfError("no .comment section: its compiler is unknown", "link it without stripping .comment")
    strings = sorted({part.decode("utf-8", "replace") for part in _bytes(section).split(b"\0") if part})
    matching = [string for string in strings if re.search(compiler, string)]
    foreign = [string for string in strings if string not in matching and not re.search(start_up_compiler, string)]
    if not matching or (alone and foreign):
        raise ElfError(
            f"built by another compiler: {'; '.join(foreign if matching else strings) or 'none named'}", remedy
        )
    return "; ".join(matching)


class _Relocation(NamedTuple):
    offset: int  # in the section that it changes
    kind: int
    addend: int
    defined_in: int  # index of the section that holds the symbol, -1 if it is undefined or absolute
    value: int  # of the symbol, in that section
    name: str  # of the symbol; section symbols have none


def _relocations(elf: ELFFile) -> dict[int, list[_Relocation]]:
    """The relocations of an object file by the index of the section that they change."""
    relocations: dict[int, list[_Relocation]] = {}
    for section in elf.iter_sections():
        if isinstance(section, RelocationSection) and section["sh_flags"] & _SHF_ALLOC == 0:
            symbols = elf.get_section(section["sh_link"])
            if not isinstance(symbols, SymbolTableSection):
                raise _truncated(f"{section.name} has no symbols")
            if (section["sh_entsize"], symbols["sh_entsize"]) != (_RELA if section.is_RELA() else _REL, _SYMBOL):
                raise _truncated(f"{section.name} or its symbols have entries of a wrong size")
            for relocation in section.iter_relocations():
                symbol = symbols.get_symbol(relocation["r_info_sym"])
                index = symbol["st_shndx"]
                relocations.setdefault(section["sh_info"], []).append(
                    _Relocation(
                        offset=relocation["r_offset"],
                        kind=relocation["r_info_type"],
                        addend=relocation["r_addend"] if section.is_RELA() else 0,
                        defined_in=index if isinstance(index, int) else -1,
                        value=symbol["st_value"],
                        name=symbol.name,
                    )
                )
    return relocations


def _disjoint(ranges: np.ndarray, begin: int, end: int) -> np.ndarray:
    """The sorted ranges inside [begin, end) that are not empty and do not overlap an earlier one."""
    inside = ranges[(ranges[:, 0] >= begin) & (ranges[:, 1] <= end) & (ranges[:, 0] < ranges[:, 1])]
    inside = np.unique(inside, axis=0)
    if len(inside) == 0:
        return inside
    largest_end = np.maximum.accumulate(inside[:, 1])
    return inside[np.r_[True, inside[1:, 0] >= largest_end[:-1]]]


def _reference(relocation: _Relocation, sections: dict[int, Section]) -> str:
    """Name of the value that a relocation fills in.

    An address in code is named by its section alone: another schedule or padding would change the offset.
    """
    section = sections.get(relocation.defined_in)
    if section is None:
        return f"{relocation.name}+{relocation.addend}"
    if section["sh_flags"] & _SHF_EXECINSTR:
        return str(section.name)
    return f"{section.name}+{relocation.value + relocation.addend}"


def _relocatable_sections(
    elf: ELFFile, text: list[tuple[int, Section]], eh_frames: list[tuple[int, Section]]
) -> list[CodeSection]:
    """Code sections of an object file, whose addresses (also those in `.eh_frame`) are still in the relocations."""
    relocations, section_of_index = _relocations(elf), dict(enumerate(elf.iter_sections()))
    functions: dict[int, list[tuple[int, int]]] = {}
    for index, eh_frame in eh_frames:
        starts = {r.offset: (r.defined_in, r.value + r.addend) for r in relocations.get(index, [])}
        for offset, size in relocated_functions(_bytes(eh_frame)):
            if offset in starts:
                defined_in, begin = starts[offset]
                functions.setdefault(defined_in, []).append((begin, begin + size))
    sections = []
    for index, section in text:
        code = _bytes(section)
        ranges = np.array(functions.get(index, []), dtype=np.int64).reshape(-1, 2)
        section_relocations = relocations.get(index, [])
        filled_ranges = [(r.offset, r.offset + _RELOCATED_BYTES.get(r.kind, 4)) for r in section_relocations]
        relocated = np.array(filled_ranges, dtype=np.int64).reshape(-1, 2)
        references = tuple(_reference(r, section_of_index) for r in section_relocations)
        sections.append(CodeSection(section.name, 0, code, _disjoint(ranges, 0, len(code)), relocated, references))
    return sections


def _sections(elf: ELFFile, relocatable: bool, text_share: float) -> list[CodeSection]:
    numbered_sections = list(enumerate(elf.iter_sections()))
    eh_frames = [
        (index, section)
        for index, section in numbered_sections
        if section.name == ".eh_frame" and section["sh_type"] != "SHT_NOBITS"
    ]
    if not eh_frames:
        raise ElfError("no .eh_frame section: function boundaries are unknown", "compile with -funwind-tables")
    # The linker and people, not compilers, write the other executable sections (.plt, .init).
    text = [
        (index, section)
        for index, section in numbered_sections
        if section.name.startswith(".text")
        and section["sh_flags"] & _SHF_EXECINSTR
        and section["sh_type"] == "SHT_PROGBITS"
    ]
    if relocatable:
        return _relocatable_sections(elf, text, eh_frames)
    ranges = np.concatenate([function_ranges(_bytes(section), section["sh_addr"]) for _, section in eh_frames])
    sections = []
    for _, section in text:
        code, address = _bytes(section), section["sh_addr"]
        functions = _disjoint(ranges, address, address + int(len(code) * text_share))
        sections.append(CodeSection(section.name, address, code, functions, np.empty((0, 2), np.int64)))
    return sections


def _loaded(elf: ELFFile) -> tuple[int, int]:
    segments = [s for s in elf.iter_segments() if s["p_type"] == "PT_LOAD"]
    if not segments:
        raise _truncated("no segment is loaded")
    low, high = min(s["p_vaddr"] for s in segments), max(s["p_vaddr"] + s["p_memsz"] for s in segments)
    if high >= 1 << 64:
        raise _truncated(f"a segment ends at {high:#x}")
    return low, high


def read_image(data: bytes, compiler: str, start_up_compiler: str, text_share: float = 1.0) -> Image:
    """The compiled functions of an executable, shared object or relocatable object for x86-64.

    `compiler`, `start_up_compiler`: regular expressions. At least one `.comment` string must match the first, and every
    other one must match one of the two. `text_share`: code beyond this share of `.text` is dropped. If it is below 1,
    the file may name other compilers: the user states that their code is the dropped part.
    Raises ElfError with reason and remedy.
    """
    try:
        elf = ELFFile(io.BytesIO(data))
        if elf["e_machine"] != "EM_X86_64" or elf.elfclass != 64 or not elf.little_endian:
            raise ElfError(f"another architecture ({elf['e_machine']})", "use files built for x86-64, 64 bit")
        kind = elf["e_type"]
        if kind not in ("ET_EXEC", "ET_DYN", "ET_REL"):
            raise ElfError(f"neither program, shared nor relocatable object ({kind})", "exclude it by include")
        _check_tables(elf, len(data))
        compiler_text = _compiler(elf, compiler, start_up_compiler, alone=text_share == 1)
        sections = _sections(elf, kind == "ET_REL", text_share)
        absolute = _loaded(elf) if kind == "ET_EXEC" else None
    except EhFrameError as error:
        raise ElfError(f"unreadable .eh_frame ({error})", "build the file again, or exclude it by include") from error
    except ElfError:
        raise
    except DAMAGE as error:
        raise _truncated(f"{type(error).__name__}: {error}") from error
    sections_with_functions = [section for section in sections if len(section.functions)]
    if not sections_with_functions:
        raise ElfError(".eh_frame covers no function of .text", "compile with -funwind-tables")
    return Image(sections_with_functions, compiler_text, kind == "ET_REL", absolute)
