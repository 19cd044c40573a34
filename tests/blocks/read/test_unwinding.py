"""Functions and unwinding rows against readelf, and lines against objdump."""

from __future__ import annotations

import io
import re
from pathlib import Path

import numpy as np
import pytest
from elftools.elf.elffile import ELFFile

from learned_schedulers.blocks.read.eh_frame import DAMAGE
from learned_schedulers.blocks.read.line_rows import line_rows
from learned_schedulers.blocks.read.unwinding import Functions, overlapping, read_functions
from tests.blocks.read.elf_builds import build, run

SOURCE = (Path(__file__).parent / "labels.c").read_text()
EXCEPTIONS = """
int g(int); struct S { int x; S(int v) : x(g(v)) {} ~S() { g(x); } };
int f(int a) { S s(a); try { return g(a + s.x); } catch (int e) { return e; } }
int h(int a) { return g(a) + 1; }
int g(int a) { if (a > 5) throw a; return a; }
int main() { return f(3) + h(4); }
"""


def section(content: bytes, name: str) -> tuple[bytes, int]:
    part = ELFFile(io.BytesIO(content)).get_section_by_name(name)
    return part.data(), part["sh_addr"]


@pytest.mark.parametrize(("text", "suffix"), [(SOURCE, ".c"), (EXCEPTIONS, ".cc")])
def test_rows_are_those_of_readelf(text: str, suffix: str, tmp_path: Path) -> None:
    content = build(tmp_path, text, suffix, "-O2", "-shared", "-fPIC")
    (tmp_path / "program").write_bytes(content)
    functions = read_functions(*section(content, ".eh_frame"))
    listing = run(["readelf", "--debug-dump=frames-interp", tmp_path / "program"])
    ranges = sorted({(int(a, 16), int(b, 16)) for a, b in re.findall(r"FDE .* pc=([0-9a-f]+)\.\.([0-9a-f]+)", listing)})
    assert list(zip(functions.begin.tolist(), functions.end.tolist(), strict=True)) == ranges
    # The first row of an entry is its begin, or 0 for a common entry; that is no change.
    rows = {int(row, 16) for row in re.findall(r"^([0-9a-f]{16}) ", listing, re.MULTILINE)} - {
        0,
        *(a for a, _ in ranges),
    }
    assert len(rows) > 10
    assert rows <= set(functions.rows.tolist()) <= rows | {a for a, _ in ranges}
    names = {int(line.split()[0], 16): line.split()[2] for line in run(["nm", "-C", tmp_path / "program"]).splitlines()
             if len(line.split()) > 2 and line.split()[1] in "tT"}  # fmt: skip
    catching = {names[begin] for begin in functions.begin[functions.catches].tolist() if begin in names}
    assert catching == ({"f(int)", "f(int)."} & set(names.values()) if suffix == ".cc" else set())
    if suffix == ".cc":
        assert functions.as_called[functions.begin.tolist().index(next(k for k, n in names.items() if n == "h(int)"))]


def test_a_part_of_a_function_begins_inside_a_frame(tmp_path: Path) -> None:
    source = """
        .globl f
        f: .cfi_startproc
        push %rbx
        .cfi_def_cfa_offset 16
        .cfi_offset 3, -16
        je .Lc
        pop %rbx
        .cfi_def_cfa_offset 8
        ret
        .cfi_endproc
        .Lc: .cfi_startproc
        .cfi_def_cfa_offset 16
        .cfi_offset 3, -16
        ud2
        .cfi_endproc
    """
    content = build(tmp_path, source, ".s", "-shared", "-nostdlib")
    functions = read_functions(*section(content, ".eh_frame"))
    assert functions.as_called.tolist() == [True, False]
    assert (functions.rows - functions.begin[0]).tolist() == [1, 4]


def test_overlapping() -> None:
    def flags(*ranges: tuple[int, int]) -> list[bool]:
        begin, end = np.array(ranges, np.int64).reshape(-1, 2).T
        none = np.zeros(len(begin), bool)
        return overlapping(Functions(begin, end, none, none, begin, begin)).tolist()

    assert flags() == []
    assert flags((0, 4), (4, 8), (9, 10)) == [False] * 3
    assert flags((0, 5), (4, 8), (8, 10)) == [True, True, False]
    assert flags((0, 20), (4, 8), (10, 12), (20, 21)) == [True, True, True, False]


@pytest.mark.parametrize("version", [2, 3, 4, 5])
def test_lines_are_those_of_objdump(version: int, tmp_path: Path) -> None:
    content = build(tmp_path, SOURCE, ".c", "-O2", f"-gdwarf-{version}")
    (tmp_path / "program").write_bytes(content)
    listing = run(["objdump", "--dwarf=decodedline", tmp_path / "program"])
    expected = {int(word, 16) for word in listing.split() if re.fullmatch(r"0x[0-9a-f]+", word)}
    assert len(expected) > 50
    assert line_rows(section(content, ".debug_line")[0]).tolist() == sorted(expected)


def test_lines_of_64_bit_dwarf(tmp_path: Path) -> None:
    short, long = (build(tmp_path, SOURCE, ".c", "-O1", "-g", *option) for option in ((), ("-gdwarf64",)))
    rows = [line_rows(section(content, ".debug_line")[0]).tolist() for content in (short, long)]
    assert rows[0] == rows[1] and len(rows[0]) > 50


@pytest.mark.parametrize("data", [b"\x01\0\0\0\x05", b"\xff\xff\xff\x7f" + bytes(40), bytes(3) + b"\x7f" + bytes(60)])
def test_damaged_lines(data: bytes) -> None:
    with pytest.raises(DAMAGE):
        line_rows(data)
