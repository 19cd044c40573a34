"""The wrapper in a build: the compiler's own work and words, clang's code beside it, and other objects in its place."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from learned_schedulers.tuning.wrapper import APART, APPLIED, CALLS, CODE, OBJECTS, SETTINGS, key

WRAPPER = Path(__file__).parents[2] / "learned_schedulers/tuning/wrapper.py"
CLANG = """#!/bin/sh
for word; do :; done
case "$*" in *UNKNOWN*) echo "error: what is UNKNOWN?" >&2; exit 1;; esac
echo "$0 $*" > "$word"
"""  # it writes its words, where clang would write intermediate code


class Build:
    """A folder with a source, and one for what the wrapper keeps."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.state = folder, folder / "state"
        for part in (CODE, OBJECTS, APPLIED, APART):
            (self.state / part).mkdir(parents=True)
        clangs = [folder / "clang", folder / "clang++"]
        for clang in clangs:
            clang.write_text(CLANG)
            clang.chmod(0o700)
        (self.state / SETTINGS).write_text(json.dumps(dict(zip(("clang", "clang_cpp"), map(str, clangs), strict=True))))
        (folder / "a.c").write_text("int f(int x) { return 3 * x; }\n")

    def compile(self, *words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-SE", str(WRAPPER), "tune", str(self.state), *words]
        return subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=False)

    def calls(self) -> list[dict[str, str]]:
        path = self.state / CALLS
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


@pytest.fixture
def build(tmp_path: Path) -> Build:
    return Build(tmp_path)


def test_the_object_is_the_compilers_and_code_is_kept(build: Build) -> None:
    alone = subprocess.run(["gcc", "-O2", "-c", "a.c", "-o", "alone.o"], cwd=build.folder, check=True)
    assert build.compile("gcc", "-O2", "-MD", "-MF", "a.d", "-c", "a.c", "-o", "a.o").returncode == alone.returncode
    assert (build.folder / "a.o").read_bytes() == (build.folder / "alone.o").read_bytes()
    assert (build.folder / "a.d").read_text().startswith("a.o:")
    [call] = build.calls()
    output = str(build.folder / "a.o")
    assert (call["output"], call["source"], call["key"]) == (output, str(build.folder / "a.c"), key(output))
    words = (build.state / CODE / f"{key(output)}.bc").read_text()
    assert "-O2 -c a.c" in words and "-emit-llvm" in words and "a.d" not in words
    build.compile("g++", "-c", "a.c")
    assert "clang++ -c a.c" in (build.state / CODE / f"{key(output)}.bc").read_text()


def test_what_clang_refuses_has_a_reason_and_the_object_is_there(build: Build) -> None:
    assert build.compile("gcc", "-DUNKNOWN", "-c", "a.c").returncode == 0
    assert (build.folder / "a.o").exists() and "UNKNOWN" in build.calls()[0]["reason"]


def test_errors_and_other_calls_are_the_compilers(build: Build) -> None:
    for words in (["gcc", "-c", "none.c"], ["gcc", "--version"], ["gcc", "a.o", "-o", "a"], ["gcc", "-E", "a.c"]):
        alone = subprocess.run(words, cwd=build.folder, capture_output=True, text=True, check=False)
        wrapped = build.compile(*words)
        assert (wrapped.returncode, wrapped.stdout, wrapped.stderr) == (alone.returncode, alone.stdout, alone.stderr)
    assert not build.calls()
    assert build.compile("gcc", "-c", "-x", "c", "/dev/null", "-o", "/dev/null").returncode == 0
    assert build.compile("gcc", "-c", "a.c", "-o", "/dev/null").returncode == 0 and not build.calls()


def test_a_program_that_one_command_compiles_and_links_has_objects_too(build: Build) -> None:
    (build.folder / "main.c").write_text("int f(int); int main(void) { return f(NUMBER) - 21; }\n")
    words = ["gcc", "-O2", "-D", "NUMBER=7", "a.c", "main.c", "-lm", "-o", "program"]
    assert build.compile(*words).returncode == 0 and subprocess.run([build.folder / "program"]).returncode == 0
    calls = build.calls()
    assert [Path(call["source"]).name for call in calls] == ["a.c", "main.c"]
    assert {call["product"] for call in calls} == {str(build.folder / "program")}
    assert {path.name for path in build.folder.glob("*.o")} == set()
    (build.folder / "b.c").write_text("int f(int x) { return 3 * x + 1; }\n")
    subprocess.run(
        ["gcc", "-c", "b.c", "-o", build.state / OBJECTS / f"{calls[0]['key']}.o"], cwd=build.folder, check=True
    )
    build.compile(*words)
    assert subprocess.run([build.folder / "program"]).returncode == 1
    (build.folder / "main.c").write_text("int main(void) { wrong }\n")
    assert build.compile(*words).returncode == 1


def test_objects_that_one_command_makes_are_its_sources_each(build: Build) -> None:
    """As lz4's Makefile does it."""
    (build.folder / "b.c").write_text("int g(int x) { return NUMBER * x; }\n")
    words = ["gcc", "-O2", "-D", "NUMBER=7", "-c", "a.c", "b.c"]
    assert build.compile(*words).returncode == 0
    assert [Path(call["output"]).name for call in build.calls()] == ["a.o", "b.o"]
    objects = [(build.folder / name).read_bytes() for name in ("a.o", "b.o")]
    subprocess.run(words, cwd=build.folder, check=True)
    assert objects == [(build.folder / name).read_bytes() for name in ("a.o", "b.o")]
    (build.folder / "a.c").write_text("wrong\n")
    assert build.compile(*words).returncode == 1 and len(build.calls()) == 3


def test_another_object_takes_the_place(build: Build) -> None:
    output = build.folder / "a.o"
    (build.state / OBJECTS / f"{key(str(output))}.o").write_bytes(b"another")
    build.compile("gcc", "-c", "a.c")
    assert output.read_bytes() == b"another" and not build.calls()
