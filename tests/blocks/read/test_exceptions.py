"""Accesses to memory that may throw: told by the language, by an option's traces, and kept in their places."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from learned_schedulers.blocks.dag.memory_order import Mark
from learned_schedulers.blocks.read.assembly_exceptions import OF_OPTION
from tests.blocks.read.assembled import document, needs_gcc

pytestmark = needs_gcc
PROGRAMS = {
    "a store, a load and a call": "int f(int *p, int *q, int a) { try { *q = a; int t = *p; *q = t * a; return g(t); } "
    "catch (int) { return *q; } }",
    "a load between two calls": "void done [[noreturn]] (int); void f(int *p, int a, int b) { int x = a; "
    "try { x = g(x); x = x * a; "
    " x = x * b + 1; int t = *p; t = t * t; t = t * t * b; x = x ^ t; done(x); } catch (int) { done(x); } }",
    "a division": "int f(int *p, int *q, int a) { try { *q = 1; int t = 7 / a; *q = t * 3; return t; } "
    "catch (int) { return *q; } }",
    "a destructor": "struct S { int *q; ~S() { g(*q); } }; int f(int *p, int *q, int a) { S s{q}; *q = a; "
    "int t = *p; *q = t * t; return t; }",
}
PLAIN = "void plain(int *p, int *q, int a) { *q = a; int t = *p * 3; *q = t; }\n"


def compiled(folder: Path, source: str, *options: str, suffix: str = ".cpp") -> bytes:
    path, out = folder / f"source{suffix}", folder / "out"
    path.write_text(source)
    subprocess.run(
        ["g++", "-O2", "-w", *options, str(path), "-o", str(out)], check=True, capture_output=True, timeout=60
    )
    return out.read_bytes()


def reasons(faults: object) -> str:
    return " ".join(fault.reason for fault in faults)  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_option_is_told_or_nothing_crosses_what_may_throw(name: str, tmp_path: Path) -> None:
    source = f"int g(int);\n{PROGRAMS[name]}\n{PLAIN}"
    text = compiled(tmp_path, source, "-S", "-fnon-call-exceptions").decode()
    file = document(text)
    between_calls = name == "a load between two calls"
    assert (OF_OPTION in reasons(file.faults)) != between_calls
    marks = [mark for block in file.blocks for mark in block.marks]
    assert any(mark & Mark.FIXED for mark in marks) or not between_calls


@pytest.mark.parametrize("name", PROGRAMS)
def test_ordinary_code_is_not_taken_for_it(name: str, tmp_path: Path) -> None:
    source = f"int g(int);\n{PROGRAMS[name]}\n{PLAIN}"
    assert OF_OPTION not in reasons(document(compiled(tmp_path, source, "-S").decode()).faults)


def test_a_tail_call_in_a_range_is_ordinary(tmp_path: Path) -> None:
    source = "void g(int); void h(); void k(int);\nstruct G { int v; ~G() { h(); } };\n"
    source += (
        "void f(int *a, int n) { { G x{n}; g(n); } int s = 0; for (int i = 0; i < n; i++) s += a[i] * 3; k(s); }\n"
    )
    text = compiled(tmp_path, source, "-S").decode()
    assert any("jmp" in part.split(".LEHE")[0] for part in text.split(".LEHB")[1:])
    file = document(text)
    assert file.faults == [] and len(file.blocks) > 1


@pytest.mark.parametrize(
    ("compiler", "suffix", "source", "language"),
    [
        ("gnatmake", ".adb", "procedure Source (X : access Integer; Y : in out Integer) is\nbegin\n  Y := 5;\n"
         "  Y := X.all * Y;\nexception when others => Y := 7;\nend Source;\n", "Ada"),
        ("gccgo", ".go", "package b\nfunc F(p *int, q *int) (r int) {\n\tdefer func() { recover(); r = *q }()\n"
         "\t*q = 3\n\tr = *p * 5\n\treturn\n}\n", "Go"),
    ],
)  # fmt: skip
def test_languages_in_which_accesses_throw(
    compiler: str, suffix: str, source: str, language: str, tmp_path: Path
) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    driver = "gccgo" if suffix == ".go" else "gcc"
    path = tmp_path / f"source{suffix}"
    path.write_text(source)
    subprocess.run([driver, "-O2", "-S", path.name], cwd=tmp_path, check=True, capture_output=True)
    file = document((tmp_path / "source.s").read_text())
    assert file.blocks == [] and f"({language})" in reasons(file.faults)


@pytest.mark.parametrize(
    "line",
    ['\t.cfi_personality 0x9b,DW.ref.__gnat_personality_v0\n', '\t.file "a.adb"\n', '\t.file 1 "b.go"\n',
     '\t.file "u.pas"\n', "\t.cfi_personality 3,_fpc_psabieh_personality_v0\n", '\t.section .go_export,""\n\t.text\n'],
)  # fmt: skip
def test_the_language_of_assembly(line: str) -> None:
    lines = "\t.cfi_startproc\n{}\tmovl %eax, %ebx\n\tmovl %ecx, %edx\n\tret\n\t.cfi_endproc\n"
    place = ("", line) if "cfi" in line else (line, "")
    assert document(f"{place[0]}f:\n{lines.format(place[1])}").blocks == []
    assert len(document("f:\n" + lines.format('\t.file "go.c"\n')).blocks) == 1
