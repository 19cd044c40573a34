"""The compiler as a subprocess: its inputs, and the messages when it fails."""

from __future__ import annotations

import subprocess
import zipfile
from pathlib import Path

import pytest

from learned_schedulers.blocks.read.elf import read_image
from learned_schedulers.blocks.read.forms import Forms
from learned_schedulers.blocks.read.unreadable import Unreadable
from pipeline.corpus.compiled import compiler as compiling
from pipeline.corpus.compiled.compiled_blocks import with_addresses
from pipeline.corpus.compiled.compiler import Compiler, CompilerError, unpack
from pipeline.corpus.compiled.pairing import pair

ANY = r"GCC: \(.*\) \d+"


def test_same_source_same_bytes(compiler: Compiler, program: Path, tmp_path: Path) -> None:
    objects = [compiler.compile("tiny.c", (), program, tmp_path / name) for name in ("a.o", "b.o")]
    assert objects[0] == objects[1]


def test_the_message_has_the_first_error(compiler: Compiler, tmp_path: Path) -> None:
    (tmp_path / "bad.c").write_text('#include "config.h"\nint f(void) { return x; }\n')
    with pytest.raises(Unreadable, match=r"compiling failed: bad.c:1:\d+: fatal error: config.h"):
        compiler.compile("bad.c", (), tmp_path, tmp_path / "bad.o")


def test_a_compiler_that_hangs_is_stopped(compiler: Compiler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "_TIMEOUT_SECONDS", 0.001)
    (tmp_path / "a.c").write_text("int a;\n")
    with pytest.raises(Unreadable, match="took more than"):
        compiler.compile("a.c", (), tmp_path, tmp_path / "a.o")


def test_linking_changes_addresses_alone(compiler: Compiler, program: Path, tmp_path: Path) -> None:
    object_file = compiler.compile("tiny.c", (), program, tmp_path / "a.o")
    scheduled = read_image(object_file, ANY, "(?!)")
    linked = read_image(compiler.link(tmp_path / "a.o", tmp_path / "a"), ANY, "(?!)")
    pairs = pair(scheduled, scheduled, 2, 64, Forms())
    (before,), (after,) = pairs.blocks, with_addresses(pairs.blocks, linked)
    assert pairs.orders == [tuple(range(n)) for n in before.n_instructions]
    assert (after.masked == before.masked).all() and (after.code != before.code).any()
    assert (after.address - before.address == linked.sections[0].address).all()


def test_foreign_symbols_do_not_overlap(compiler: Compiler, tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text("extern int x, y; int f(void) { return x + y; }\n")
    compiler.compile("a.c", (), tmp_path, tmp_path / "a.o")
    linked = compiler.link(tmp_path / "a.o", tmp_path / "a")
    first, distance = compiling._ADDRESSES
    with (tmp_path / "a").open("rb") as file:
        table = compiling.ELFFile(file).get_section_by_name(".symtab")
        values = {s.name: s["st_value"] for s in table.iter_symbols() if s.name in ("x", "y")}
    assert values == {"x": first, "y": first + distance}
    assert linked[:4] == b"\x7fELF"


def test_a_wheel_without_gcc(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "w", "w") as wheel:
        wheel.writestr("other/readme", "x")
    with pytest.raises(CompilerError, match="does not contain gcc_root/bin/gcc"):
        unpack(tmp_path / "w", tmp_path / "out")


def test_gcc_of_a_wheel_is_executable_and_other_files_are_not(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "w", "w") as wheel:
        for name in ("bin/gcc", "libexec/gcc/cc1", "lib/gcc/include/stddef.h"):
            wheel.writestr(f"g.data/gcc_root/{name}", "x")
        wheel.writestr("g.data/__init__.py", "x")
    gcc = unpack(tmp_path / "w", tmp_path / "out")
    root = gcc.parents[1]
    assert gcc.stat().st_mode & 0o100 and (root / "libexec/gcc/cc1").stat().st_mode & 0o100
    assert not (root / "lib/gcc/include/stddef.h").stat().st_mode & 0o100
    assert not list((tmp_path / "out").rglob("__init__.py"))


def test_no_compiler_at_all(tmp_path: Path) -> None:
    with pytest.raises(CompilerError, match="the program 'no-such-gcc' is not installed"):
        Compiler("no-such-gcc", ()).check(tmp_path)


def test_a_compiler_without_headers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(command: list[str], **_: object) -> None:
        raise subprocess.CalledProcessError(1, command, stderr="probe.c:1:10: fatal error: stdio.h: No such file")

    monkeypatch.setattr(subprocess, "run", fail)
    with pytest.raises(CompilerError, match=r"stdio.h.*apt-get install binutils libc6-dev"):
        Compiler("gcc", ()).check(tmp_path)
