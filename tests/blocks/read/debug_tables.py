"""readelf's line tables and location lists of an object, whose sections of code get addresses far from each other."""

from __future__ import annotations

import io
import re
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from elftools.elf.elffile import ELFFile

from learned_schedulers.blocks.read.assembler import SYMBOL

_SHIFT = 32  # a section's address is its index, from 1, times 2 to the power of this
_ROW = re.compile(r"^(\S.*?)\s+(\d+|-)\s+(0x[0-9a-f]+|0)(?:\s+\d+)?(?:\s+x)?(\s+END)?\s*$", re.MULTILINE)


def address(section: np.ndarray, offset: np.ndarray) -> np.ndarray:
    """Addresses of offsets in sections, int64."""
    return (section + 1 << _SHIFT) + offset


def placed(content: bytes) -> bytes:
    """The object with symbols moved to the addresses of their sections, so that its debug information tells them."""
    elf = ELFFile(io.BytesIO(content))
    table = elf.get_section_by_name(".symtab")
    changed = bytearray(content)
    start = table["sh_offset"]
    symbols = np.frombuffer(content[start : start + table["sh_size"]], SYMBOL).copy()
    executable = {index for index, section in enumerate(elf.iter_sections()) if section["sh_flags"] & 4}
    inside = np.isin(symbols["section"], list(executable))
    symbols["value"][inside] += (symbols["section"][inside].astype(np.uint64) + np.uint64(1)) << np.uint64(_SHIFT)
    changed[start : start + table["sh_size"]] = symbols.tobytes()
    return bytes(changed)


def _readelf(content: bytes, dump: str) -> str:
    with tempfile.NamedTemporaryFile(suffix=".o") as file:
        Path(file.name).write_bytes(placed(content))
        command = ["readelf", "-W", f"--debug-dump={dump}", file.name]
        return subprocess.run(command, capture_output=True, check=True, timeout=300).stdout.decode("utf-8", "replace")


def lines(content: bytes, addresses: np.ndarray) -> list[tuple[str, str]]:
    """File and line of each address by the last row of the line table at or before it; empty where there is none."""
    rows: list[tuple[int, tuple[str, str]]] = []
    for file, line, place, end in _ROW.findall(_readelf(content, "decodedline")):
        rows.append((int(place, 16), ("", "") if end or line == "-" else (file, line)))
    order = sorted(range(len(rows)), key=lambda k: rows[k][0])  # stable
    places = np.array([rows[k][0] for k in order], np.int64)
    position = np.searchsorted(places, addresses, "right") - 1
    return [rows[order[p]][1] if p >= 0 else ("", "") for p in position.tolist()]
