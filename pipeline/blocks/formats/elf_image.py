"""An ELF file for x86-64 -> its code in one array, laid out by address; files that nobody can prove safe are refused.

Relocatable objects have no addresses yet. Their sections are laid out one after the other, code first, so that what
follows treats them as linked files. A position is an address minus that of the first byte of code.
"""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from elftools.elf.dynamic import DynamicSegment
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import Section

from pipeline.blocks.formats.document import Unreadable

NOWHERE = -(1 << 62)  # a position outside of every section
_GAP = 64  # bytes between sections of an object: an addend that points just before a section hits no other one
_ALLOCATED, _EXECUTABLE, _WRITABLE, _COMPRESSED = 0x2, 0x4, 0x1, 0x800  # section flags
_HEADER, _SECTION_HEADER, _PROGRAM_HEADER = 64, 64, 56  # bytes in a file of 64 bits
_LARGEST_OBJECT = 1 << 31  # bytes; distances in `.eh_frame` have 32 bits
_SPREAD = 1 << 24  # bytes that may lie between sections of code, beside the size of the file
_BITCODE = (b"BC\xc0\xde", b"\xde\xc0\x17\x0b")  # LLVM's bitcode, and its wrapper
_UNKNOWN_RELOCATIONS = {0x40000014, 0x60000001, 0x60000002, 0x6FFFFF00}  # section types of LLVM and of Android
_LOADERS_TABLES = ("DT_REL", "DT_RELA", "DT_JMPREL", "DT_RELR", "DT_ANDROID_REL", "DT_ANDROID_RELA", "DT_ANDROID_RELR")

# Sections that list addresses inside of code, or rules for it, which other programs use while the code runs.
_TABLES_OF_CODE = {
    "__patchable_function_entries", "__mcount_loc", ".altinstructions", ".altinstr_replacement", ".parainstructions",
    "__ex_table", "__jump_table", ".static_call_sites", ".smp_locks", ".retpoline_sites", ".return_sites",
    ".call_sites", ".cfi_sites", ".ibt_endbr_seal", ".orc_unwind", ".orc_unwind_ip", "__bug_table", "__versions",
    ".gnu.linkonce.this_module", "__rseq_cs", "__rseq_cs_ptr_array", "xray_instr_map", ".llvm_stackmaps",
    ".llvm_faultmaps", ".gopclntab", ".data.rel.ro.gopclntab", ".svm_heap", "__managedcode", ".dotnet_eh_table",
    ".wasmtime.traps",
}  # fmt: skip
_LTO = (".gnu.lto_", ".gnu.debuglto_", ".llvmbc", ".llvm.lto")
_NOT_COMPILED = (".plt", ".iplt", ".init", ".fini")  # the linker or people write these


class Part(NamedTuple):
    """A section of machine code."""

    name: str  # unique in its file
    begin: int  # position of its first byte
    end: int
    offset: int  # of its first byte in the file
    compiled: bool  # by a compiler, neither by hand nor by a linker
    writable: bool  # the program may change its own code


class Image(NamedTuple):
    """The sections of a file and its code."""

    sections: Sequence[Section]
    bases: np.ndarray  # (S,) int64: position of each section's first byte; NOWHERE in linked files if it is not loaded
    relocatable: bool  # an object, before linking
    movable: bool  # loaded at any address, or not yet linked
    address: int  # of position 0; 0 in an object
    entry: int  # position where the program starts
    code: np.ndarray  # uint8; zeros between the parts
    parts: Sequence[Part]  # by ascending position

    def part_at(self, positions: np.ndarray) -> np.ndarray:
        """Index of the section of code that contains each position, int64; -1 for none."""
        begins, ends = np.array([(part.begin, part.end) for part in self.parts], np.int64).T
        index = np.searchsorted(begins, positions, "right") - 1
        return np.where((index >= 0) & (positions < ends[index]), index, -1)


def damaged(cause: object) -> Unreadable:
    """The file does not follow the format's specification."""
    return Unreadable(f"truncated or damaged ELF file ({cause})", "build or copy the file again")


def _is_loaded(section: Section) -> bool:
    return bool(section["sh_flags"] & _ALLOCATED)


def _has_bytes(section: Section) -> bool:
    return section["sh_type"] not in ("SHT_NOBITS", "SHT_NULL") and section["sh_size"] > 0


def _is_code(section: Section) -> bool:
    return _is_loaded(section) and bool(section["sh_flags"] & _EXECUTABLE) and _has_bytes(section)


def _check_tables(elf: ELFFile, size: int) -> None:
    """Raise Unreadable for header tables beyond the file's end, before pyelftools walks along them."""
    for table, offset, count, entry_bytes, least in (
        ("section headers", elf["e_shoff"], elf.num_sections(), elf["e_shentsize"], _SECTION_HEADER),
        ("program headers", elf["e_phoff"], elf.num_segments(), elf["e_phentsize"], _PROGRAM_HEADER),
    ):
        if count and (entry_bytes < least or offset + count * entry_bytes > size):
            raise damaged(f"{size} bytes, its {count} {table} do not fit in")


def _check_places(elf: ELFFile, sections: Sequence[Section], size: int) -> None:
    """Raise Unreadable if sections overlap in the file, or end beyond it."""
    ranges = [(0, _HEADER, "the header")]
    for name, offset, count, entry_bytes in (
        ("the section headers", elf["e_shoff"], elf.num_sections(), elf["e_shentsize"]),
        ("the program headers", elf["e_phoff"], elf.num_segments(), elf["e_phentsize"]),
    ):
        if count:
            ranges.append((offset, offset + count * entry_bytes, name))
    for section in sections:
        if _has_bytes(section):
            begin = section["sh_offset"]
            ranges.append((begin, begin + section["sh_size"], f"section {section.name}"))
    ranges.sort()
    for (_, end, name), (begin, _, next_name) in zip(ranges, ranges[1:] + [(size, size, "the end")], strict=True):
        if end > begin:
            raise damaged(f"{name} overlaps {next_name}")


def _check_kinds(sections: Sequence[Section], relocatable: bool) -> None:
    """Raise Unreadable for sections that make an order of instructions unsafe, or hide what is needed."""
    for section in sections:
        name = section.name
        if name.startswith(_LTO):
            raise Unreadable(f"code for optimisation at link time (section {name})", "compile with -fno-lto")
        if name.startswith(".zdebug") or section["sh_flags"] & _COMPRESSED:
            raise Unreadable(
                f"section {name} is compressed", "run objcopy --decompress-debug-sections on a copy of the file"
            )
        if name in _TABLES_OF_CODE:
            reason = f"section {name} lists places in the code, which must not change"
            raise Unreadable(reason, "order the compiler's assembly of plain functions instead")
        if section["sh_type"] in _UNKNOWN_RELOCATIONS:
            raise Unreadable(f"relocations in a packed form (section {name})", "build it without packed relocations")
        if section["sh_type"] in ("SHT_REL", "SHT_RELA"):
            changed = sections[section["sh_info"]] if section["sh_info"] else None
            if relocatable and section["sh_type"] == "SHT_REL":
                raise Unreadable(f"relocations without addends (section {name})", "assemble for x86-64 by GNU as")
            if not relocatable and changed is not None and not _is_loaded(section) and _is_loaded(changed):
                raise Unreadable(f"relocations of linked code (section {name})", "link without --emit-relocs")


def _laid_out(sections: Sequence[Section], size: int) -> np.ndarray:
    """Positions of an object's sections, (S,) int64: code first."""
    bases, position = np.zeros(len(sections), np.int64), 0
    for chosen in (True, False):
        for index, section in enumerate(sections):
            if _is_code(section) == chosen:
                bases[index] = position
                # Only bytes in the file count, so that a damaged size of a section without bytes has no effect.
                length = min(section["sh_size"], size)
                position += -(-(length + _GAP) // _GAP) * _GAP
    if position >= _LARGEST_OBJECT:
        raise Unreadable("an object of more than 2 GiB", "split it")
    return bases


def _check_loading(elf: ELFFile, section: Section) -> None:
    """Raise Unreadable if the loader would put other bytes to the section's address."""
    offset, size, address = section["sh_offset"], section["sh_size"], section["sh_addr"]
    for segment in elf.iter_segments(type="PT_LOAD"):
        begin = segment["p_offset"]
        inside = begin <= offset and offset + size <= begin + segment["p_filesz"]
        if inside and address - offset == segment["p_vaddr"] - begin:
            return
    raise damaged(f"section {section.name} is in no segment")


def _check_tables_of_loader(elf: ELFFile, sections: Sequence[Section]) -> None:
    """Raise Unreadable for relocations that the loader finds, but no section of the file shows."""
    shown = {s["sh_addr"] for s in sections if s["sh_type"] in ("SHT_RELA", "SHT_RELR")}
    for segment in elf.iter_segments():
        for tag in segment.iter_tags() if isinstance(segment, DynamicSegment) else ():
            if tag.entry.d_tag in _LOADERS_TABLES and tag.entry.d_val not in {0, *shown}:
                raise Unreadable(
                    f"relocations outside of all sections ({tag.entry.d_tag})", "order the objects it was linked from"
                )


def _parts(sections: Sequence[Section], bases: np.ndarray) -> list[Part]:
    counts = Counter(section.name for section in sections)
    parts = []
    for index, section in enumerate(sections):
        if _is_code(section):
            name = section.name if counts[section.name] == 1 else f"{section.name}[{index}]"
            begin = int(bases[index])
            compiled = not section.name.startswith(_NOT_COMPILED) or section.name.startswith(".init.text")
            writable = bool(section["sh_flags"] & _WRITABLE)
            parts.append(Part(name, begin, begin + section["sh_size"], section["sh_offset"], compiled, writable))
    return sorted(parts, key=lambda part: part.begin)


def read_image(content: bytes) -> Image:
    """The code of an ELF file for x86-64: an object, a shared object or an executable.

    Raises Unreadable with reason and remedy, and exceptions of `DAMAGE` (corpus/eh_frame.py) for damaged files.
    """
    if content.startswith(_BITCODE):
        raise Unreadable("LLVM bitcode, no machine code", "compile it with -fno-lto")
    elf = ELFFile(io.BytesIO(content))
    if elf["e_machine"] != "EM_X86_64" or elf.elfclass != 64 or not elf.little_endian:
        raise Unreadable(
            f"another architecture ({elf['e_machine']}, {elf.elfclass} bit)", "build it for x86-64, 64 bit"
        )
    kind = elf["e_type"]
    if kind not in ("ET_EXEC", "ET_DYN", "ET_REL"):
        raise Unreadable(f"neither program, shared nor relocatable object ({kind})", "give the file it was made of")
    relocatable = kind == "ET_REL"
    _check_tables(elf, len(content))
    sections = list(elf.iter_sections())
    _check_kinds(sections, relocatable)
    _check_places(elf, sections, len(content))
    if relocatable:
        bases, address = _laid_out(sections, len(content)), 0
    else:
        loaded = [s["sh_addr"] if _is_loaded(s) else -1 for s in sections]
        if max(loaded, default=0) >= 1 << 62:
            raise damaged("a section has an address beyond the address space")
        code_addresses = [a for a, section in zip(loaded, sections, strict=True) if _is_code(section)]
        address = min(code_addresses, default=0)
        bases = np.array([a - address if a >= 0 else NOWHERE for a in loaded], np.int64)
        for section in sections:
            if _is_code(section):
                _check_loading(elf, section)
        _check_tables_of_loader(elf, sections)
    parts = _parts(sections, bases)
    if not parts:
        raise Unreadable("no section of code", "give a file that a compiler made")
    for part, following in pairwise(parts):
        if part.end > following.begin:
            raise damaged(f"section {part.name} overlaps {following.name}")
    if parts[-1].end > len(content) + _SPREAD:
        raise Unreadable("sections of code that lie far apart", "order the objects it was linked from")
    code = np.zeros(parts[-1].end, np.uint8)
    for part in parts:
        size = part.end - part.begin
        code[part.begin : part.end] = np.frombuffer(content, np.uint8, size, part.offset)
    entry = NOWHERE if relocatable else elf["e_entry"] - address
    return Image(sections, bases, relocatable, kind != "ET_EXEC", address, entry, code, parts)
