"""A project's build through the wrapper: its objects are found, exchanged, and made again by its own compiler."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from learned_schedulers.tuning.build import Build, BuildError, Compilers
from tests.tuning.test_wrapper import CLANG

MAKEFILE = """
CC = gcc
program: main.o libone.a
\t$(CC) main.o -L. -lone -o program
libone.a: one.o sub/two.o
\trm -f libone.a; ar cr libone.a one.o sub/two.o
%.o: %.c
\t$(CC) -O1 -c $< -o $@
"""
SOURCES = {
    "one.c": "int two(void); int one(void) { return 10 * two(); }\n",
    "sub/two.c": "int two(void) { return 2; }\n",
    "main.c": '#include <stdio.h>\nint one(void); int main(void) { printf("%d\\n", one()); }\n',
}

CMAKE = """
cmake_minimum_required(VERSION 3.16)
project(p C)
add_executable(program main.c one.c sub/two.c)
"""
CONFIGURE = """#!/bin/sh
${CC-gcc} -c one.c -o conftest.o && sed -i "s|^CC = .*|CC = ${CC-gcc}|" Makefile
"""


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / "sub").mkdir(parents=True)
    for name, text in {**SOURCES, "Makefile": MAKEFILE}.items():
        (folder / name).write_text(text)
    for name in ("clang", "clang++"):
        (tmp_path / name).write_text(CLANG)
        (tmp_path / name).chmod(0o700)
    return folder


def build(work: Path, command: str = "make -j2") -> Build:
    folder = work.parent
    return Build(
        command, work, folder / "state", Compilers(str(folder / "clang"), str(folder / "clang++"), "gcc", "g++")
    )


def output(work: Path) -> str:
    return subprocess.run([str(work / "program")], capture_output=True, text=True, check=True).stdout


def test_objects_are_exchanged_and_made_again(work: Path) -> None:
    of_project = build(work)
    of_project.run()
    assert output(work) == "20\n"
    objects = of_project.objects()
    assert {str(path.relative_to(work)) for path in objects} == {"main.o", "one.o", "sub/two.o"}
    assert all(each.code.exists() and not each.reason for each in objects.values())
    (work.parent / "other.c").write_text("int two(void) { return 3; }\n")
    subprocess.run(["gcc", "-c", "other.c"], cwd=work.parent, check=True)
    made_by_make = (work / "sub/two.o").read_bytes()
    of_project.put({work / "sub/two.o": (work.parent / "other.o").read_bytes()})
    assert output(work) == "30\n"
    of_project.put({})
    assert output(work) == "20\n" and (work / "sub/two.o").read_bytes() == made_by_make


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("make nothing_like_this", r"(?s)exit code 2:.*nothing_like_this"),
        ("true", "has compiled nothing"),
        ("make && make CC=/usr/bin/gcc clean_build", "exit code"),
    ],
)
def test_a_build_that_fails_or_compiles_nothing_is_told(work: Path, command: str, message: str) -> None:
    of_project = build(work, command)
    with pytest.raises(BuildError, match=message):
        of_project.run()
        of_project.objects()


@pytest.mark.parametrize(
    ("tools", "files", "command", "program"),
    [
        (
            ("cmake", "make"),
            {"CMakeLists.txt": CMAKE},
            "cmake -B build && make -C build",
            "build/program",
        ),
        (
            ("meson", "ninja"),
            {"meson.build": "project('p', 'c')\nexecutable('program', 'main.c', 'one.c', 'sub/two.c')"},
            "meson setup build && ninja -C build",
            "build/program",
        ),
        (
            ("make",),
            {"configure": CONFIGURE},
            "sh ./configure && make",
            "program",
        ),
    ],
)
def test_builds_of_other_kinds(
    work: Path, tools: tuple[str, ...], files: dict[str, str], command: str, program: str
) -> None:
    if missing := [tool for tool in tools if shutil.which(tool) is None]:
        pytest.skip(f"{missing} are not installed")
    for name, text in files.items():
        (work / name).write_text(text)
    of_project = build(work, command)
    of_project.run()
    [two] = [each for each in of_project.objects().values() if each.source == work / "sub/two.c"]
    assert two.code.exists() and not two.reason
    (work.parent / "other.c").write_text("int two(void) { return 3; }\n")
    subprocess.run(["gcc", "-c", "other.c"], cwd=work.parent, check=True)
    again = build(work, command.rpartition("&& ")[2])  # what is configured stays
    again.put({two.output: (work.parent / "other.o").read_bytes()})
    assert subprocess.run([str(work / program)], capture_output=True, text=True, check=True).stdout == "30\n"
