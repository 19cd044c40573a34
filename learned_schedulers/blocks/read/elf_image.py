"""An ELF file for x86-64 -> its code in one array, by address; files that nobody can prove safe are refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from elftools.elf.dynamic import DynamicSegment
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import Section

from learned_schedulers.blocks.read.elf_layout import (
    HEADER_BYTES,
    Layout,
    damaged,
    has_bytes,
    is_code,
    is_loaded,
    layout_of,
    opened,
)
from learned_schedulers.blocks.read.unreadable import Unreadable

_WRITABLE, _COMPRESSED = 0x1, 0x800  # section flags
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


@dataclass(frozen=True)
class Image(Layout):
    """The sections of a file and its code."""

    code: np.ndarray  # uint8; zeros between the parts
    parts: Sequence[Part]  # by ascending position

    def part_at(self, positions: np.ndarray) -> np.ndarray:
        """Index of the section of code that contains each position, int64; -1 for none."""
        begins, ends = np.array([(part.begin, part.end) for part in self.parts], np.int64).T
        index = np.searchsorted(begins, positions, "right") - 1
        return np.where((index >= 0) & (positions < ends[index]), index, -1)


def _check_places(elf: ELFFile, sections: Sequence[Section], size: int) -> None:
    """Raise Unreadable if sections overlap in the file, or end beyond it."""
    ranges = [(0, HEADER_BYTES, "the header")]
    for name, offset, count, entry_bytes in (
        ("the section headers", elf["e_shoff"], elf.num_sections(), elf["e_shentsize"]),
        ("the program headers", elf["e_phoff"], elf.num_segments(), elf["e_phentsize"]),
    ):
        if count:
            ranges.append((offset, offset + count * entry_bytes, name))
    for section in sections:
        if has_bytes(section):
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
            if not relocatable and changed is not None and not is_loaded(section) and is_loaded(changed):
                raise Unreadable(f"relocations of linked code (section {name})", "link without --emit-relocs")


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
        if is_code(section):
            name = section.name if counts[section.name] == 1 else f"{section.name}[{index}]"
            begin = int(bases[index])
            compiled = not section.name.startswith(_NOT_COMPILED) or section.name.startswith(".init.text")
            writable = bool(section["sh_flags"] & _WRITABLE)
            parts.append(Part(name, begin, begin + section["sh_size"], section["sh_offset"], compiled, writable))
    return sorted(parts, key=lambda part: part.begin)


def read_image(content: bytes) -> Image:
    """The code of an ELF file for x86-64: an object, a shared object or an executable.

    Raises Unreadable with reason and remedy, and exceptions of `DAMAGE` (eh_frame.py) for damaged files.
    """
    if content.startswith(_BITCODE):
        raise Unreadable("LLVM bitcode, no machine code", "compile it with -fno-lto")
    elf = opened(content)
    layout = layout_of(elf, len(content))
    sections = layout.sections
    _check_kinds(sections, layout.relocatable)
    _check_places(elf, sections, len(content))
    if not layout.relocatable:
        for section in sections:
            if is_code(section):
                _check_loading(elf, section)
        _check_tables_of_loader(elf, sections)
    parts = _parts(sections, layout.bases)
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
    return Image(**vars(layout), code=code, parts=parts)
