"""In which function of a file a place is that the command names."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from elftools.elf.elffile import ELFFile

_LABEL = re.compile(rb"^([A-Za-z_]\w*):", re.MULTILINE)
_STEM = re.compile(r"(_alias|_field)\d+.*|\..*")  # a name inside of a function, or a part of it


def stem(name: str) -> str:
    """The function that a symbol belongs to: f3_alias1 -> f3, f3.cold -> f3."""
    return _STEM.sub("", name)


def of_lines(text: Path, places: Iterable[str]) -> dict[str, str]:
    """The functions of places such as `lines 12-19` in a text."""
    content = text.read_bytes()
    starts, names = [0], [""]
    for label in _LABEL.finditer(content):
        starts.append(content.count(b"\n", 0, label.start()) + 1)
        names.append(stem(label.group(1).decode()))
    lines = {place: int(re.findall(r"\d+", place)[0]) for place in places}
    return {place: names[bisect_right(starts, line) - 1] for place, line in lines.items()}


def of_offsets(item: Path, places: Iterable[str]) -> dict[str, str]:
    """The functions of places such as `.text+0x40` in an object, or `plain.o:.text+0x40` in an archive of it."""
    by_section: dict[str, list[tuple[int, str]]] = {}
    with item.open("rb") as file:
        elf = ELFFile(file)
        for symbol in elf.get_section_by_name(".symtab").iter_symbols():
            index = symbol["st_shndx"]
            if isinstance(index, int) and symbol["st_info"]["type"] in ("STT_FUNC", "STT_NOTYPE"):
                section = elf.get_section(index).name
                by_section.setdefault(section, []).append((symbol["st_value"], stem(symbol.name)))
    for rows in by_section.values():
        rows.sort()
    owners: dict[str, str] = {}
    for place in places:
        section, _, offset = place.split(" ")[0].rpartition(":")[2].rpartition("+")
        rows = by_section.get(section, [])
        row = bisect_right(rows, int(offset, 16), key=lambda pair: pair[0]) - 1
        owners[place] = rows[row][1] if row >= 0 else ""
    return owners


def of_addresses(places: Iterable[str]) -> dict[str, str]:
    """The functions of places such as `0x401136 main` in a program."""
    return {place: stem(place.partition(" ")[2]) for place in places}


@cache
def names(item: Path) -> frozenset[str]:
    """Names of an object's functions."""
    with item.open("rb") as file:
        symbols = ELFFile(file).get_section_by_name(".symtab").iter_symbols()
        return frozenset(stem(symbol.name) for symbol in symbols if symbol["st_info"]["type"] == "STT_FUNC")
