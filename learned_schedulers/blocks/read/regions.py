"""Marked regions of a file: of llvm-mca and OSACA, by comments, and of IACA, by instructions.

If a file has a region, only code inside a region is ordered. The marks themselves stay. A comment that says where LLVM
has a barrier of the compiler (of `atomic_signal_fence`) is a mark too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

_MARK = re.compile(r"(?:#|/\*|//)\s*(LLVM-MCA|OSACA)-(BEGIN|END)\b[ \t]*([^\r\n*]*)")
# Marks of tools that are not understood: only nothing crosses them.
_OTHER_MARK = re.compile(r"(?:#|/\*|//).*\b[A-Z][A-Z0-9]*[-_](?:[A-Z0-9]+[-_])*(?:BEGIN|END|START|STOP|MARKER)\b")
_BARRIER = re.compile(r"\s*#\s*MEMBARRIER\b")  # LLVM's word for a barrier of the compiler, which is no instruction
IACA = {True: bytes.fromhex("bb6f000000646790"), False: bytes.fromhex("bbde000000646790")}  # mov ebx, 111 and 222


def commented_regions(lines: Sequence[str]) -> tuple[list[bool], list[bool]] | None:
    """For each line, whether it is inside a region, or in a file without any, and whether it is a mark; None without.

    Regions with names may overlap. An end without a name ends the region without a name, or the only one of its tool.
    """
    inside: list[bool] = []
    marks: list[bool] = []
    open_regions: dict[str, set[str]] = {"LLVM-MCA": set(), "OSACA": set()}
    has_regions = False
    for line in lines:
        match = _MARK.search(line) if "-BEGIN" in line or "-END" in line else None
        if match is not None:
            has_regions = True
            names, name = open_regions[match.group(1)], match.group(3).strip()
            if match.group(2) == "BEGIN":
                names.add(name)
            elif name in names:
                names.remove(name)
            elif not name and len(names) == 1:
                names.clear()
        inside.append(match is None and any(open_regions.values()))
        marks.append(match is not None or bool(_OTHER_MARK.search(line) or _BARRIER.match(line)))
    if not any(marks):
        return None
    return inside if has_regions else [True] * len(lines), marks


def iaca_regions(contents: Mapping[int, bytes]) -> dict[int, list[tuple[int, int]]] | None:
    """Offsets [begin, end) of IACA's regions in each section of code; None without marks.

    A region without an end reaches to the end of its section.
    """
    regions: dict[int, list[tuple[int, int]]] = {}
    for index, content in contents.items():
        position = content.find(IACA[True])
        while position >= 0:
            begin = position + len(IACA[True])
            end = content.find(IACA[False], begin)
            regions.setdefault(index, []).append((begin, len(content) if end < 0 else end))
            position = -1 if end < 0 else content.find(IACA[True], end)
    return regions or None
