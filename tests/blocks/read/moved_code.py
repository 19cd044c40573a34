"""The objects of assembly before and after its blocks were ordered, compared without the reader, by other tools."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Sequence

from elftools.elf.elffile import ELFFile
from iced_x86 import Decoder, FlowControl

_LOADED, _CODE = 2, 4  # flags of sections


def compare(before: bytes, after: bytes, order: Sequence[int]) -> None:
    """Whether slot t of a block holds instruction order[t]; raises AssertionError if not."""
    old, new = (list(Decoder(64, code)) for code in (before, after))
    assert len(old) == len(new) == len(order), "another number of instructions"
    for i, instruction in zip(order, new, strict=True):
        original = old[i]
        assert instruction.len == original.len, "another length"
        if original.is_ip_rel_memory_operand:
            assert instruction == original, f"{original} has become {instruction}"
        else:
            at, was = instruction.ip, original.ip
            assert after[at : at + original.len] == before[was : was + original.len], f"{original} changed"


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
