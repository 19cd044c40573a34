"""An ELF file for x86-64 -> its sections, laid out by address. All readers of ELF begin here.

Relocatable objects have no addresses yet. Their sections are laid out one after the other, code first, so that what
follows treats them as linked files. A position is an address minus that of the first byte of code.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import Section

from learned_schedulers.blocks.read.unreadable import Unreadable

NOWHERE = -(1 << 62)  # a position outside of every section
_SECTION_HEADER, _PROGRAM_HEADER = 64, 56  # bytes of an entry
_GAP = 64  # bytes between sections of an object: an addend that points just before a section hits no other one
_ALLOCATED, _EXECUTABLE = 0x2, 0x4  # section flags
_LARGEST_OBJECT = 1 << 31  # bytes; distances in `.eh_frame` have 32 bits


@dataclass(frozen=True)
class Layout:
    """The S sections of a file, and where each of them lies."""

    sections: Sequence[Section]
    bases: np.ndarray  # (S,) int64: position of each section's first byte; NOWHERE in linked files if it is not loaded
    relocatable: bool  # an object, before linking
    movable: bool  # loaded at any address, or not yet linked
    address: int  # of position 0; 0 in an object


def damaged(cause: object) -> Unreadable:
    """The file does not follow the format's specification."""
    return Unreadable(f"truncated or damaged ELF file ({cause})", "build or copy the file again")


def is_loaded(section: Section) -> bool:
    """Whether the section takes memory while the program runs."""
    return bool(section["sh_flags"] & _ALLOCATED)


def has_bytes(section: Section) -> bool:
    """Whether the file holds bytes of the section."""
    return section["sh_type"] not in ("SHT_NOBITS", "SHT_NULL") and section["sh_size"] > 0


def is_executable(section: Section) -> bool:
    """Whether the section may hold machine code."""
    return bool(section["sh_flags"] & _EXECUTABLE)


def is_code(section: Section) -> bool:
    """Whether the section is loaded machine code."""
    return is_loaded(section) and is_executable(section) and has_bytes(section)


def opened(content: bytes) -> ELFFile:
    """A program, shared object or object for x86-64, whose header tables and sections lie within the file.

    Raises Unreadable with reason and remedy, and exceptions of `DAMAGE` (eh_frame.py) for damaged files.
    """
    elf, size = ELFFile(io.BytesIO(content)), len(content)
    if elf["e_machine"] != "EM_X86_64" or elf.elfclass != 64 or not elf.little_endian:
        raise Unreadable(
            f"another architecture ({elf['e_machine']}, {elf.elfclass} bit)", "build it for x86-64, 64 bit"
        )
    if elf["e_type"] not in ("ET_EXEC", "ET_DYN", "ET_REL"):
        reason = f"neither program, shared nor relocatable object ({elf['e_type']})"
        raise Unreadable(reason, "give the file it was made of")
    # A damaged count or entry size would keep pyelftools busy for hours.
    for table, offset, count, entry_bytes, least in (
        ("section headers", elf["e_shoff"], elf.num_sections(), elf["e_shentsize"], _SECTION_HEADER),
        ("program headers", elf["e_phoff"], elf.num_segments(), elf["e_phentsize"], _PROGRAM_HEADER),
    ):
        if count and (entry_bytes < least or offset + count * entry_bytes > size):
            raise damaged(f"{size} bytes, its {count} {table} do not fit in")
    for section in elf.iter_sections():
        if has_bytes(section) and section["sh_offset"] + section["sh_size"] > size:
            raise damaged(f"{size} bytes, section {section.name} does not fit in")
    return elf


def layout_of(elf: ELFFile, size: int) -> Layout:
    """Where the sections of an opened file of `size` bytes lie. Raises Unreadable."""
    sections = list(elf.iter_sections())
    movable = elf["e_type"] != "ET_EXEC"
    if elf["e_type"] == "ET_REL":
        return Layout(sections, _one_after_the_other(sections, size), True, movable, 0)
    addresses = [section["sh_addr"] if is_loaded(section) else -1 for section in sections]
    if max(addresses, default=0) >= 1 << 62:
        raise damaged("a section has an address beyond the address space")
    of_code = [a for a, section in zip(addresses, sections, strict=True) if is_code(section)]
    begin = min(of_code, default=0)
    bases = np.array([a - begin if a >= 0 else NOWHERE for a in addresses], np.int64)
    return Layout(sections, bases, False, movable, begin)


def _one_after_the_other(sections: Sequence[Section], size: int) -> np.ndarray:
    """Positions of an object's sections, (S,) int64: code first."""
    bases, position = np.zeros(len(sections), np.int64), 0
    for chosen in (True, False):
        for index, section in enumerate(sections):
            if is_code(section) == chosen:
                bases[index] = position
                # Only bytes in the file count, so that a damaged size of a section without bytes has no effect.
                length = min(section["sh_size"], size)
                position += -(-(length + _GAP) // _GAP) * _GAP
    if position >= _LARGEST_OBJECT:
        raise Unreadable("an object of more than 2 GiB", "split it")
    return bases
