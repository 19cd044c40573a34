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
_LOCATION = re.compile(r"([0-9a-f]{16}) ([0-9a-f]{16}) \((DW_OP.*)\)")


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


def location_lists(content: bytes) -> list[list[tuple[int, int, str]]]:
    """The location lists of variables: begin and end address, expression."""
    parts = _readelf(content, "loc").split("<End of list>")[:-1]
    return [[(int(a, 16), int(b, 16), text) for a, b, text in _LOCATION.findall(part)] for part in parts]


def changed_locations(
    before: bytes, after: bytes, old: np.ndarray, new: np.ndarray, ordered: np.ndarray
) -> tuple[int, int, int, int]:
    """Pairs of a location list and an instruction in its ranges, and how many of them changed; then inside blocks.

    old, new: addresses of each instruction before and after; ordered: whether it is in a block with a new order.
    """
    lists, new_lists = location_lists(before), location_lists(after)
    if len(lists) != len(new_lists):
        raise ValueError(f"{len(lists)} location lists became {len(new_lists)}")
    numbers: dict[str, int] = {}  # of the expressions
    keys, texts = _pairs(lists, old, numbers)
    new_keys, new_texts = _pairs(new_lists, new, numbers)
    every = np.union1d(keys, new_keys)
    place, new_place = np.full((2, len(every)), -1)
    place[np.searchsorted(every, keys)] = texts
    new_place[np.searchsorted(every, new_keys)] = new_texts
    differs, inside = place != new_place, ordered[every % len(old)]
    return len(every), int(differs.sum()), int(inside.sum()), int((differs & inside).sum())


def _pairs(
    lists: list[list[tuple[int, int, str]]], addresses: np.ndarray, numbers: dict[str, int]
) -> tuple[np.ndarray, np.ndarray]:
    """List times number of instructions plus instruction, for each that is in a range; and its expression's number."""
    rows = [
        (k, begin, end, numbers.setdefault(text, len(numbers)))
        for k, entries in enumerate(lists)
        for begin, end, text in entries
    ]
    number, begin, end, text = np.array(rows, np.int64).reshape(-1, 4).T
    order = np.argsort(addresses, kind="stable")
    low, high = np.searchsorted(addresses[order], begin), np.searchsorted(addresses[order], end)
    lengths = np.maximum(high - low, 0)
    position = np.arange(int(lengths.sum())) - np.repeat(np.cumsum(lengths) - lengths - low, lengths)
    return np.repeat(number, lengths) * len(addresses) + order[position], np.repeat(text, lengths)
