"""The verb `order` for intermediate code, C and C++: what is written computes the same, with no more spills."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from learned_schedulers.blocks.before_allocation import functions, llvm, users_code
from learned_schedulers.command import ordered_code
from learned_schedulers.command.main import app
from tests.blocks.before_allocation.code import HEADER, LOOPS, crowded, rounds

needs_clang = pytest.mark.skipif(shutil.which("clang") is None, reason="clang is not installed")
TEXT = LOOPS + crowded(24) + rounds(24)  # the first one spills nothing
MAIN = """
#include <stdint.h>
#include <stdio.h>
void rounds(uint64_t *state, uint64_t *words);
uint64_t crowded(uint64_t *p, uint64_t n);
int main(void) {
    uint64_t state[8], words[24];
    for (int i = 0; i < 24; i++) words[i] = 0x9e3779b97f4a7c15u * (i + 1);
    for (int i = 0; i < 8; i++) state[i] = words[i] ^ i;
    rounds(state, words);
    for (int i = 0; i < 8; i++) printf("%lx ", state[i]);
    printf("%lx\\n", crowded(words, 7));
}
"""
CPP = """
#include <cstdio>
#include <stdexcept>
static int checked(int x) { if (x > 90) throw std::runtime_error("too much"); return x * 3; }
int main() {
    int sum = 0;
    for (int x = 70; x < 100; x++)
        try { sum += checked(x); } catch (const std::exception &error) { sum -= 1; }
    std::printf("%d\\n", sum);
}
"""


def typed(*words: object) -> Result:
    return CliRunner().invoke(app, ["order", *map(str, words)])


@pytest.fixture
def source(tmp_path: Path) -> Path:
    (tmp_path / "f.ll").write_text(TEXT)
    (tmp_path / "main.c").write_text(MAIN)
    return tmp_path / "f.ll"


def printed(folder: Path, *files: str) -> str:
    """What the program of these files prints."""
    subprocess.run(["gcc", *files, "-o", "program"], cwd=folder, check=True)
    return subprocess.run(["./program"], cwd=folder, check=True, capture_output=True, text=True, timeout=20).stdout


@pytest.mark.slow
def test_objects_and_assembly_compute_the_same(source: Path) -> None:
    folder = source.parent
    (folder / "default.o").write_bytes(_by_default(TEXT))
    expected = printed(folder, "main.c", "default.o")
    for name in ("new.o", "new.s"):
        result = typed(source, "-o", folder / name, "--evaluations", "8", "--for", "haswell", "--json")
        assert result.exit_code == 0, result.output
        assert "3 functions, 2 searched, 1 in a new order; instructions " in result.stderr
        (report,) = json.loads(result.stdout)
        loops, crowd, hashing = report["functions"]
        assert loops["name"] == "loops" and not loops["searched"] and not loops["ordered"]
        assert crowd["ordered"] and sum(crowd["new"].values()) < sum(crowd["default"].values())
        assert not hashing["ordered"] and hashing["new"] == hashing["default"]
        assert printed(folder, "main.c", name) == expected
    assembly = (folder / "new.s").read_text()
    assert assembly.count("Spill") == report["new"]["spills"]


def _by_default(text: str) -> bytes:
    with llvm.Emitter(processor="haswell") as emitter:
        return emitter.object_file(users_code.read(text.encode(), "f.ll"), "f.ll")


@pytest.mark.slow
def test_intermediate_code_is_a_legal_order_with_the_line_that_keeps_it(tmp_path: Path) -> None:
    (tmp_path / "f.ll").write_text(HEADER + crowded(24))
    result = typed(tmp_path / "f.ll", "-o", tmp_path / "new.ll", "--evaluations", "40", "--for", "haswell")
    assert result.exit_code == 0, result.output
    assert "clang -O3 -Xclang -disable-llvm-passes -c " in result.stderr
    assert re.search(r"clang has to be version \d+ or later; without one, write -o \S+new\.o", result.stderr)
    before, after = (users_code.read((tmp_path / name).read_bytes(), name) for name in ("f.ll", "new.ll"))
    assert before != after and sorted(before.splitlines()[1:]) == sorted(after.splitlines()[1:])
    result = typed(tmp_path / "f.ll", "-o", tmp_path / "new.bc", "--evaluations", "40", "--for", "haswell")
    bitcode = users_code.read((tmp_path / "new.bc").read_bytes(), "new.bc")
    assert bitcode.partition("\ndefine ")[2] == after.partition("\ndefine ")[2]


def test_what_is_no_better_stays_byte_for_byte(tmp_path: Path) -> None:
    (tmp_path / "f.ll").write_text(LOOPS)
    result = typed(tmp_path / "f.ll", "-o", tmp_path / "new.ll")
    assert result.exit_code == 0 and "nothing is better than LLVM's default" in result.stderr
    assert (tmp_path / "new.ll").read_text() == LOOPS and "0 searched" in result.stderr
    assert "1 searched" in typed(tmp_path / "f.ll", "--dry-run", "--all-functions", "--evaluations", "3").stderr
    assert len([*tmp_path.iterdir()]) == 2


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("-o", "new.x"), "its suffix does not say what to write; name it .o"),
        (("-o", "new.o", "--by", "list"), "--by: not for intermediate code; order it without them"),
        (("-o", "new.o", "--diff", "--limit", "3"), "--diff, --limit: not for intermediate code"),
        (("--dry-run", "--verify", "all", "--no-confirm"), "--verify, --confirm: not for"),
    ],
)
def test_what_is_not_for_this_code_is_refused(
    words: tuple[str, ...], reason: str, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(source.parent)
    result = typed(source, *words)
    assert result.exit_code == 1 and reason in result.stderr and not [*source.parent.glob("new*")]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "error: .*f.ll: "),
        (b"define", "LLVM cannot read this"),
        (TEXT.encode()[:500], "LLVM cannot read this"),
        (b'target triple = "aarch64-linux-gnu"\n', "its target is aarch64-linux-gnu; order code for Linux"),
        (
            b"define <vscale x 4 x i32> @f(<vscale x 4 x i32> %a) {\n ret <vscale x 4 x i32> %a\n}\n",
            "LLVM cannot compile",
        ),
        (b"BC\xc0\xde\x00\x01", "LLVM cannot read this"),
    ],
)
def test_odd_files_are_refused_and_a_batch_goes_on(content: bytes, reason: str, tmp_path: Path) -> None:
    (tmp_path / "f.ll").write_bytes(content)
    (tmp_path / "g.ll").write_text(LOOPS)
    result = typed(
        tmp_path / "f.ll", tmp_path / "no.ll", tmp_path / "g.ll", "-o", tmp_path / "out", "--evaluations", "2"
    )
    if content:
        assert result.exit_code == 1 and re.search(f"error: {tmp_path}/f.ll: .*{reason}", result.stderr)
        assert [path.name for path in (tmp_path / "out").iterdir()] == ["g.ll"]
    assert f"error: {tmp_path}/no.ll: No such file or directory; correct its name" in result.stderr


def test_options_of_code_need_code(tmp_path: Path) -> None:
    (tmp_path / "f.csv").write_text("4889d8\n")
    result = typed(tmp_path / "f.csv", "--dry-run", "--evaluations", "3", "--by-clang=-O2")
    assert result.exit_code == 1 and "--by-clang, --evaluations: for C, C++, .ll and .bc" in result.stderr


def test_a_defect_of_an_order_is_not_written(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise functions.NotProven("f, block entry: its order breaks a dependency")

    monkeypatch.setattr(ordered_code, "prove", refuse)
    result = typed(source, "-o", source.parent / "new.o", "--evaluations", "2")
    assert result.exit_code == 1 and "defect: f, block entry" in result.stderr
    assert not (source.parent / "new.o").exists()


@pytest.mark.slow
def test_an_interrupt_leaves_nothing_half(source: Path) -> None:
    words = [sys.executable, "-m", "learned_schedulers.command.main", "order", "f.ll", "-o", "out/new.o"]
    process = subprocess.Popen(
        [*words, "--evaluations", "1000000"], cwd=source.parent, stderr=subprocess.DEVNULL, start_new_session=True
    )
    time.sleep(4)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=30) != 0
    assert not (source.parent / "out").exists()


@pytest.mark.slow
def test_seconds_end_a_search(source: Path) -> None:
    began = time.monotonic()
    result = typed(source, "-o", source.parent / "new.o", "--evaluations", "1000000", "--seconds", "1")
    assert result.exit_code == 0 and time.monotonic() - began < 60


def test_c_without_options_names_the_remedy(source: Path) -> None:
    result = typed(source.parent / "main.c", "-o", source.parent / "main.o")
    assert result.exit_code == 1 and 'C and C++ are compiled first; say how: --by-clang "-O3' in result.stderr


@pytest.mark.slow
@needs_clang
def test_c_and_cpp_become_objects(source: Path) -> None:
    folder = source.parent
    (folder / "throws.cpp").write_text(CPP)
    files = (folder / "main.c", folder / "throws.cpp")
    result = typed(*files, "-o", folder / "out", "--by-clang", "-O2 -g", "--evaluations", "3", "--all-functions")
    assert result.exit_code == 0, result.output
    assert sorted(path.name for path in (folder / "out").iterdir()) == ["main.o", "throws.o"]
    subprocess.run(["g++", "out/throws.o", "-o", "throws"], cwd=folder, check=True)
    assert subprocess.run(["./throws"], cwd=folder, check=True, capture_output=True).stdout == b"5031\n"
    (folder / "default.o").write_bytes(_by_default(TEXT))
    assert printed(folder, "out/main.o", "default.o") == printed(folder, "main.c", "default.o")


def test_two_results_of_one_name_are_refused(source: Path) -> None:
    (source.parent / "main.cpp").write_text(CPP)
    result = typed(source.parent / "main.c", source.parent / "main.cpp", "-o", source.parent / "out", "--by-clang=-O2")
    assert result.exit_code == 1 and "main.o would be the result of two files" in result.stderr


@needs_clang
def test_options_that_write_elsewhere_are_refused(source: Path) -> None:
    result = typed(source.parent / "main.c", "-o", source.parent / "main.o", "--by-clang", "-O2 -o elsewhere")
    assert result.exit_code == 1 and "--by-clang: -o is not passed on" in result.stderr
