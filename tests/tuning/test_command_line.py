"""What calls of a compiler ask for, and why some make no code of their own."""

from __future__ import annotations

from pathlib import Path

import pytest

from learned_schedulers.tuning.command_line import understood, without_outputs


@pytest.mark.parametrize(
    ("command", "compiler", "sources", "output"),
    [
        ("gcc -O2 -c a.c -o x.o", "gcc", "a.c", "x.o"),
        ("gcc -O2 -c a.c -ox.o", "gcc", "a.c", "x.o"),
        ("/opt/bin/x86_64-linux-gnu-gcc-12 -c a.c", "gcc", "a.c", ""),
        ("g++ -std=c++17 -c -x c++ a.txt", "gcc", "a.txt", ""),
        ("gcc a.c b.o -lm -Wl,-x -o a", "gcc", "a.c", "a"),
        ("cc -include config.h -c a.c -MMD -MF a.d -MT a.o", "gcc", "a.c", ""),
        ("c++ -pipe -save-temps -c a.cc", "gcc", "a.cc", ""),
        ("gcc -x c - -o a", "gcc", "-", "a"),
        ("gcc -flto -fno-lto -c a.c", "gcc", "a.c", ""),
        ("clang-14 -c a.c --coverage", "clang", "a.c", ""),
        ("clang++ a.cpp b.cpp -o a", "clang", "a.cpp b.cpp", "a"),
    ],
)
def test_calls_that_compile(command: str, compiler: str, sources: str, output: str) -> None:
    call = understood(command.split())
    assert (call.reason, call.compiler, call.cached) == ("", compiler, False)
    assert (call.sources, call.output) == (tuple(sources.split()), output)
    cached = understood(["ccache", *command.split()])
    assert cached == call._replace(cached=True)


def test_flags() -> None:
    assert understood(["gcc", "-O2", "-g", "-I", "include", "-DX=1", "-c", "a.c", "-o", "a.o"]).flags == (
        "-O2",
        "-g",
        "-DX=1",
        "-c",
    )


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("rustc -O a.rs", "neither GCC nor Clang"),
        ("distcc gcc -c a.c", "neither GCC nor Clang"),
        ("aarch64-linux-gnu-gcc -c a.c", "neither GCC nor Clang"),
        ("gcc -E a.c", "no object"),
        ("gcc -M a.c", "no object"),
        ("gcc -fsyntax-only a.c", "no object"),
        ("gcc -### -c a.c", "no object"),
        ("gcc -v -c a.c", "all words"),
        ("gcc --version", "no object"),
        ("gcc -print-prog-name=as", "no object"),
        ("clang -S -emit-llvm a.c", "no object"),
        ("clang -cc1 -S a.c", "no object"),
        ("gcc -O2 -flto=auto -c a.c", "linked"),
        ("clang -flto a.c -o a", "linked"),
        ("gcc -m32 -c a.c", "x86-64"),
        ("gcc -c a.S", "people"),
        ("clang -c a.c hand.s", "people"),
        ("gcc -x assembler a.c", "people"),
        ("gcc -c a.h", "header"),
        ("g++ -x c++-header a.hpp -o a.gch", "header"),
        ("gcc -c a.f90 -x f95 b.c", "neither C nor C++"),
        ("gcc a.o b.o -o a", "compiles nothing"),
        ("gcc", "compiles nothing"),
        ("gcc -wrapper gdb,--args -c a.c", "not understood"),
        ("gcc -specs=mine -c a.c", "not understood"),
        ("gcc --output=x.o -c a.c", "not understood"),
        ("clang -fno-integrated-as -c a.c", "-fno-integrated-as"),
        ("clang -save-temps -c a.c", "-save-temps"),
        ("clang -gsplit-dwarf -g -c a.c", "-gsplit-dwarf"),
        ("clang -MJ a.json -c a.c", "-MJ"),
    ],
)
def test_calls_that_are_left_alone(command: str, reason: str) -> None:
    assert reason in understood(command.split()).reason


def test_a_file_of_options_is_read(tmp_path: Path) -> None:
    inner, outer = tmp_path / "inner", tmp_path / "outer"
    inner.write_text("-flto 'two words.c'\n")
    outer.write_text(f"-O2 @{inner}\n")
    assert "linked" in understood(["gcc", f"@{outer}", "-c"]).reason
    inner.write_text("'two words.c'")
    assert understood(["gcc", f"@{outer}", "-c"]).sources == ("two words.c",)
    inner.write_text(f"@{inner}")  # without end
    assert understood(["gcc", f"@{outer}", "-c"]).reason
    assert understood(["gcc", "@not_there", "-c"]).reason


def test_the_language_is_that_of_the_sources() -> None:
    for command, language in {
        "gcc -c a.c": "c",
        "gcc -c a.cc": "c++",
        "g++ -c a.c": "c++",
        "clang++-19 -c a.c": "c++",
        "gcc -x c++ -c a.c": "c++",
    }.items():
        assert understood(command.split()).language == language


def test_files_that_a_call_writes_are_left_out() -> None:
    words = "-O2 -MD -MP -MF a.d -MTa.o -MQ a.o -I -o -Wp,-MD,a.d -oa.o a.c -c -o a.o -DMD -Wall"
    assert without_outputs(words.split()) == ["-O2", "-I", "-o", "a.c", "-c", "-DMD", "-Wall"]
