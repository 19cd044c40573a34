"""Marked regions of a file: of llvm-mca, by comments, and of IACA, by instructions.

If a file has a region, only code inside a region is ordered. The marks themselves stay.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

_MCA = re.compile(r"(?:#|/\*|//)\s*LLVM-MCA-(BEGIN|END)\b[ \t]*([^\r\n*]*)")
_IACA = {True: bytes.fromhex("bb6f000000646790"), False: bytes.fromhex("bbde000000646790")}  # mov ebx, 111 and 222


def mca_regions(lines: Sequence[str]) -> tuple[list[bool], list[bool]] | None:
    """For each line, whether it is inside a region of llvm-mca, and whether it is a mark; None without marks.

    Regions with names may overlap. An end without a name ends the region without a name, or the only one.
    """
    inside: list[bool] = []
    marks: list[bool] = []
    names: set[str] = set()
    for line in lines:
        match = _MCA.search(line) if "LLVM-MCA-" in line else None
        if match is not None:
            name = match.group(2).strip()
            if match.group(1) == "BEGIN":
                names.add(name)
            elif name in names:
                names.remove(name)
            elif not name and len(names) == 1:
                names.clear()
        inside.append(bool(names) and match is None)
        marks.append(match is not None)
    return (inside, marks) if any(marks) else None


def iaca_regions(contents: Mapping[int, bytes]) -> dict[int, list[tuple[int, int]]] | None:
    """Offsets [begin, end) of IACA's regions in each section of code; None without marks.

    A region without an end reaches to the end of its section.
    """
    regions: dict[int, list[tuple[int, int]]] = {}
    for index, content in contents.items():
        position = content.find(_IACA[True])
        while position >= 0:
            begin = position + len(_IACA[True])
            end = content.find(_IACA[False], begin)
            regions.setdefault(index, []).append((begin, len(content) if end < 0 else end))
            position = -1 if end < 0 else content.find(_IACA[True], end)
    return regions or None
