"""An ELF file before and after its blocks were ordered in place, compared without the reader, by other tools.

The files must be equal byte for byte outside of the ordered blocks and of the places of relocations. In a block, slot t
must hold instruction order[t] with its relocations, and a rip-relative operand must keep its target. Of assembly, the
objects are compared.
"""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from elftools.elf.elffile import ELFFile
from iced_x86 import Decoder, FlowControl

from learned_schedulers.blocks.read.archive_file import labels, members
from learned_schedulers.blocks.read.document import CodeBlock

_PLACE = re.compile(r"(?:(?P<section>.+)\+)?(?P<offset>0x[0-9a-f]+)(?: .*)?")
_LOADED, _CODE = 2, 4  # flags of sections
_ENTRY = np.dtype([("offset", "<u8"), ("info", "<u8"), ("addend", "<u8")])


class Section(NamedTuple):
    """A section of code."""

    name: str
    address: int  # 0 in an object
    offset: int  # in the file
    size: int
    index: int


def check_archive(before: bytes, after: bytes, blocks: Sequence[CodeBlock], orders: Mapping[int, Sequence[int]]) -> int:
    """The same as `check` for the members of an archive."""
    assert len(before) == len(after), "another length"
    count, rest = 0, bytearray(after)
    every = list(members(before))
    for member, label in zip(every, labels(every), strict=True):
        chosen = {
            k: blocks[k]._replace(place=blocks[k].place[len(label) + 1 :])
            for k in orders
            if blocks[k].place.startswith(f"{label}:")
        }
        if chosen:
            part = slice(member.begin, member.end)
            count += check(before[part], after[part], list(chosen.values()), dict(enumerate(orders[k] for k in chosen)))
            rest[part] = before[part]
    assert bytes(rest) == before, "bytes outside of the ordered members have changed"
    return count


def check(before: bytes, after: bytes, blocks: Sequence[CodeBlock], orders: Mapping[int, Sequence[int]]) -> int:
    """Number of blocks that were compared: those of sections whose name is unique. Raises AssertionError."""
    assert len(before) == len(after), "another length"
    elf = ELFFile(io.BytesIO(before))
    is_object = elf["e_type"] == "ET_REL"
    sections = [
        Section(section.name, section["sh_addr"], section["sh_offset"], section["sh_size"], index)
        for index, section in enumerate(elf.iter_sections())
        if section["sh_flags"] & _CODE and section["sh_type"] != "SHT_NOBITS"
    ]
    tables = [section for section in elf.iter_sections() if section["sh_type"] == "SHT_RELA"]
    relocations = _relocated(before, tables, is_object)
    moved: dict[tuple[int, int], int] = {}  # section or -1, old place of a byte -> new place
    allowed = np.zeros(len(before), bool)
    count = 0
    for k, order in orders.items():
        match = _PLACE.fullmatch(blocks[k].place)
        assert match is not None, f"an unknown place: {blocks[k].place}"
        place = int(match["offset"], 16)
        inside = [s for s in sections if _contains(s, match["section"], place)]
        if len(inside) != 1:
            return 0  # damaged names or addresses: nothing is compared
        (section,) = inside
        begin = section.offset + place - section.address
        end = begin + len(blocks[k].code)
        allowed[begin:end] = True
        key = section.index if is_object else -1
        relocated = frozenset(offset for owner, offset in relocations if owner == key)
        places = compare(before[begin:end], after[begin:end], order, place, relocated)
        moved |= {(key, old_place): new_place for old_place, new_place in places.items()}
        count += 1
    differs = np.frombuffer(before, np.uint8) != np.frombuffer(after, np.uint8)
    for table in tables:
        first, size = table["sh_offset"], table["sh_size"] // _ENTRY.itemsize
        old, new = (np.frombuffer(content, _ENTRY, size, first) for content in (before, after))
        assert (old[["info", "addend"]] == new[["info", "addend"]]).all(), "another symbol or addend"
        key = table["sh_info"] if is_object else -1
        expected = [moved.get((key, offset), offset) for offset in old["offset"].tolist()]
        assert new["offset"].tolist() == expected, f"{table.name}: places of relocations"
        allowed[first : first + size * _ENTRY.itemsize] = True
    assert not (differs & ~allowed).any(), f"byte {int(np.flatnonzero(differs & ~allowed)[0]):#x} has changed"
    return count


def _contains(section: Section, name: str | None, place: int) -> bool:
    return (name is None or section.name == name) and 0 <= place - section.address < section.size


def _relocated(content: bytes, tables: Sequence[object], is_object: bool) -> set[tuple[int, int]]:
    """Section or -1, and place, of each relocation."""
    places = set()
    for table in tables:
        entries = np.frombuffer(content, _ENTRY, table["sh_size"] // _ENTRY.itemsize, table["sh_offset"])
        places |= {(table["sh_info"] if is_object else -1, offset) for offset in entries["offset"].tolist()}
    return places


def compare(
    before: bytes, after: bytes, order: Sequence[int], place: int = 0, relocated: frozenset[int] = frozenset()
) -> dict[int, int]:
    """Whether slot t of a block at `place` holds instruction order[t]; raises AssertionError if not.

    relocated: places of bytes that a linker fills in. Returns the new place of each byte.
    """
    old, new = (list(Decoder(64, code, ip=place)) for code in (before, after))
    assert len(old) == len(new) == len(order), f"{place:#x}: another number of instructions"
    moved: dict[int, int] = {}
    for i, instruction in zip(order, new, strict=True):
        original = old[i]
        assert instruction.len == original.len, f"{place:#x}: another length"
        at, was = instruction.ip - place, original.ip - place
        places = range(original.ip, original.ip + original.len)
        if original.is_ip_rel_memory_operand and relocated.isdisjoint(places):
            assert instruction == original, f"{place:#x}: {original} has become {instruction}"
        else:
            assert after[at : at + original.len] == before[was : was + original.len], f"{place:#x}: {original} changed"
        moved |= {byte: byte + at - was for byte in places}
    return moved


def check_assembled(before: bytes, after: bytes) -> None:
    """Whether the code of two objects differs by permutations of instructions only. Raises AssertionError."""
    old, new = (ELFFile(io.BytesIO(content)) for content in (before, after))
    names = [section.name for section in old.iter_sections()]
    assert names == [section.name for section in new.iter_sections()], "other sections"
    for index, (section, changed) in enumerate(zip(old.iter_sections(), new.iter_sections(), strict=True)):
        assert section.name.startswith((".debug", ".rela", ".symtab", ".strtab")) or (
            section["sh_size"] == changed["sh_size"]
        ), f"{section.name}: another size"
        if section["sh_flags"] & _CODE and section["sh_type"] != "SHT_NOBITS":
            assert _runs(old, index) == _runs(new, index), f"{section.name}: other instructions between two transfers"
        elif section["sh_flags"] & _LOADED and section["sh_type"] != "SHT_NOBITS":
            assert section.data() == changed.data(), f"{section.name}: other data"


def _runs(elf: ELFFile, index: int) -> list[tuple[Counter[object], int]]:
    """The instructions of a section between transfers of control, each with all that it is, and where each run ends."""
    tables = [s for s in elf.iter_sections() if s["sh_type"] == "SHT_RELA" and s["sh_info"] == index]
    relocations = {
        entry["r_offset"]: (entry["r_info_type"], _symbol(elf, table, entry["r_info_sym"]), entry["r_addend"])
        for table in tables
        for entry in table.iter_relocations()  # type: ignore[attr-defined]
    }
    code = elf.get_section(index).data()
    runs: list[tuple[Counter[object], int]] = []
    run: Counter[object] = Counter()
    for instruction in Decoder(64, code):
        begin, end = instruction.ip, instruction.next_ip
        links = tuple((at - begin, relocations[at]) for at in range(begin, end) if at in relocations)
        by_target = instruction.is_ip_rel_memory_operand and not links
        run[str(instruction) if by_target else code[begin:end], links] += 1
        if instruction.flow_control != FlowControl.NEXT:
            runs.append((run, end))
            run = Counter()
    return [*runs, (run, len(code))]


def _symbol(elf: ELFFile, table: object, number: int) -> tuple[str, int, object]:
    symbol = elf.get_section(table["sh_link"]).get_symbol(number)  # type: ignore[attr-defined]
    return symbol.name, symbol["st_value"], symbol["st_shndx"]
