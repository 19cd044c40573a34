"""Damaged inputs: truncated and mutated ELF files, random bytes and wrong CSV."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from tests.blocks.read.conftest import build
from tests.trial.damaged_code import BOUNDARY_VALUES, Rng, pick

TINY = Path(__file__).parents[2] / "tiny"
_SECTION_HEADER = 64


def _scribble(rng: Rng, data: bytearray, begin: int, end: int, max_bytes: int = 16) -> None:
    """Write random bytes at random offsets of [begin, end)."""
    end = min(end, len(data))
    for _ in range(1 + pick(rng, max_bytes) if end > begin else 0):
        data[begin + pick(rng, end - begin)] = pick(rng, 256)


def _set_field(rng: Rng, data: bytearray, begin: int, end: int) -> None:
    """Write a boundary value, or a number near the old one, to an aligned field of [begin, end)."""
    size = int(rng.choice([2, 4, 8]))
    offset = begin + size * pick(rng, (min(end, len(data)) - begin) // size)
    if offset + size <= len(data):
        old_value = int.from_bytes(data[offset : offset + size], "little")
        value = int(rng.choice(BOUNDARY_VALUES)) if rng.random() < 0.7 else old_value + pick(rng, 33) - 16
        data[offset : offset + size] = (value % (1 << 8 * size)).to_bytes(size, "little")


def _section_table(data: bytes) -> tuple[int, int]:
    return int.from_bytes(data[40:48], "little"), int.from_bytes(data[60:62], "little")


def _section(rng: Rng, data: bytes) -> tuple[int, int]:
    """Begin and end offset of a random section in the file."""
    table, count = _section_table(data)
    header = data[table + _SECTION_HEADER * pick(rng, count) :][:_SECTION_HEADER]
    begin, size = int.from_bytes(header[24:32], "little"), int.from_bytes(header[32:40], "little")
    return begin, begin + size


def truncated(rng: Rng, data: bytearray) -> bytes:
    return bytes(data[: pick(rng, len(data))])


def anywhere(rng: Rng, data: bytearray) -> bytes:
    _scribble(rng, data, 0, len(data), 64)
    return bytes(data)


def header(rng: Rng, data: bytearray) -> bytes:
    _set_field(rng, data, 16, 64) if rng.random() < 0.7 else _scribble(rng, data, 4, 64, 4)
    return bytes(data)


def section_table(rng: Rng, data: bytearray) -> bytes:
    table, count = _section_table(data)
    for _ in range(1 + pick(rng, 3)):
        _set_field(rng, data, table, table + _SECTION_HEADER * count)
    return bytes(data)


def program_table(rng: Rng, data: bytearray) -> bytes:
    _set_field(rng, data, 64, 64 + 56 * 8)
    return bytes(data)


def one_section(rng: Rng, data: bytearray) -> bytes:
    begin, end = _section(rng, bytes(data))
    _set_field(rng, data, begin, end) if rng.random() < 0.5 else _scribble(rng, data, begin, end)
    return bytes(data)


def eh_frame(rng: Rng, data: bytearray) -> bytes:
    """Damage in the section that begins with a common entry as GCC writes it."""
    begins = [match.start() - 8 for match in re.finditer(rb"\x01zR\0\x01\x78\x10\x01", data)]
    if begins:
        begin = begins[pick(rng, len(begins))]
        _set_field(rng, data, begin, begin + 400) if rng.random() < 0.5 else _scribble(rng, data, begin, begin + 400)
    return bytes(data)


def spliced(rng: Rng, data: bytearray) -> bytes:
    """A piece is deleted, inserted again, or written over another one."""
    begin, size, target = pick(rng, len(data)), 1 + pick(rng, 4096), pick(rng, len(data))
    piece = data[begin : begin + size]
    kind = pick(rng, 3)
    if kind == 0:
        del data[begin : begin + size]
    elif kind == 1:
        data[target:target] = piece
    else:
        data[target : target + len(piece)] = piece
    return bytes(data)


def random_bytes(rng: Rng, _: bytearray) -> bytes:
    head = b"\x7fELF\x02\x01\x01" if rng.random() < 0.5 else b""
    return head + rng.bytes(pick(rng, 3000))


ELF_FAULTS: list[Callable[[Rng, bytearray], bytes]] = [
    truncated, anywhere, header, section_table, program_table, one_section, eh_frame, spliced, random_bytes,
]  # fmt: skip

_ROW = b"4183ff0119c083e00885c98945c4b8010000000f4fc139c2,249.000000\n"


def wrong_csv(rng: Rng) -> bytes:
    """Rows in BHive's format with all known faults, and some others."""
    rows = [
        _ROW, b",0.0531\n", b"hex,throughput\n", b"01d8\n", b"01d889d1,1,2,3\n", b'"01d889d1,1\n', b"01d8zz89,1\n",
        b"01d8e8,1\n", b"e800000000,1\n", b"01d8c3,1\n", b"01d8ff\n", b"\n", b"\xff\xfe01d8\n", b"0,1\n", b"01d8\r",
        b"01 d8 89 d1,7\n", "01d8é,1\n".encode("latin-1"), b";".join([b"01d8"] * 3) + b"\n", b"=1+1\n", b"0x01d8,1\n",
        b"01d8" * (1 + pick(rng, 60000)) + b",1\n",
    ]  # fmt: skip
    data = bytearray(b"".join(rows[pick(rng, len(rows))] for _ in range(1 + pick(rng, 30))))
    kind = pick(rng, 8)
    if kind == 0:
        return rng.bytes(pick(rng, 3000))
    if kind == 1:
        return bytes(data).decode("latin-1").encode("utf-16")
    if kind == 2:
        return truncated(rng, data)
    if kind == 3:
        return anywhere(rng, data)
    return bytes(data)


def inputs(seed: int, count: int, sound: list[bytes]) -> Iterator[tuple[str, str, bytes]]:
    """(kind of source, fault, content) of `count` damaged inputs from `sound` ELF files; one in eight is CSV."""
    rng = np.random.default_rng(seed)
    for number in range(count):
        if number % 8 == 7:
            yield "bhive", "wrong_csv", wrong_csv(rng)
        else:
            fault = ELF_FAULTS[number % len(ELF_FAULTS)]
            yield "files", fault.__name__, fault(rng, bytearray(sound[pick(rng, len(sound))]))


def sound_files() -> list[bytes]:
    """Small ELF files to damage: two compiled shared objects, and generated files of every kind."""
    code = bytes.fromhex("488b0544332211bf3412400001d889d1c3") * 6
    generated = [build(code, kind=kind) for kind in ("dyn", "exec")]
    generated.append(build(code, kind="rel", relocations=((3, 2), (8, 10)), more=code))
    return [path.read_bytes() for path in sorted(TINY.glob("*.so"))] + generated
