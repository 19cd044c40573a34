"""Which calls of a compiler are ordered, and why the others are left to the compiler alone."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

from learned_schedulers.command import order
from learned_schedulers.wrapper.command_line import understood
from learned_schedulers.wrapper.compiler import parsed
from learned_schedulers.wrapper.settings import CHOICES, Settings


@pytest.mark.parametrize(
    ("command", "road", "place"),
    [
        ("gcc -O2 -c a.c -o x.o", "gcc", "x.o"),
        ("gcc -O2 -c a.c -ox.o", "gcc", "x.o"),
        ("/opt/bin/x86_64-linux-gnu-gcc-12 -c a.c", "gcc", "a.c"),
        ("g++ -std=c++17 -c -x c++ a.txt", "gcc", "a.txt"),
        ("gcc a.c b.o -lm -Wl,-x -o a", "gcc", "a"),
        ("cc -include config.h -c a.c -MMD -MF a.d -MT a.o", "gcc", "a.c"),
        ("c++ -pipe -save-temps -c a.cc", "gcc", "a.cc"),
        ("gcc -x c - -o a", "gcc", "a"),
        ("gcc -flto -fno-lto -c a.c", "gcc", "a.c"),
        ("ccache gcc -c a.c", "gcc", "a.c"),
        ("clang-14 -c a.c --coverage", "clang", "a.c"),
        ("clang++ a.cpp b.cpp -o a", "clang", "a"),
        ("ccache clang -c a.c", "ccache", "a.c"),
        ("gcc -S a.c -o x.s", "text", "x.s"),
        ("clang -S sub/a.c b.c", "text", "sub/a.c"),
    ],
)
def test_calls_that_are_ordered(command: str, road: str, place: str) -> None:
    reading = understood(command.split())
    assert (reading.road, reading.place, reading.reason) == (road, place, "")


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
    reading = understood(command.split())
    assert reading.road == "passed" and reason in reading.reason


def test_a_file_of_options_is_read(tmp_path: Path) -> None:
    inner, outer = tmp_path / "inner", tmp_path / "outer"
    inner.write_text("-flto 'two words.c'\n")
    outer.write_text(f"-O2 @{inner}\n")
    assert "linked" in understood(["gcc", f"@{outer}", "-c"]).reason
    inner.write_text("'two words.c'")
    assert understood(["gcc", f"@{outer}", "-c"]).place == "two words.c"
    inner.write_text(f"@{inner}")  # without end
    assert understood(["gcc", f"@{outer}", "-c"]).road == "passed"
    assert understood(["gcc", "@not_there", "-c"]).road == "passed"


def test_texts_that_a_call_writes() -> None:
    assert understood(["gcc", "-S", "sub/a.c", "b.x.cc"]).texts == ("a.s", "b.x.s")
    assert understood(["gcc", "-S", "a.c", "-o", "sub/b"]).texts == ("sub/b",)


def test_options_of_the_verb() -> None:
    options = ["--for", "atom", "--by=list", "--memory", "precise", "--seed", "7", "--no-confirm", "-v"]
    call = parsed([*options, "--", "gcc", "-c", "a.c"])
    assert call is not None and call.verbose and call.command == ["gcc", "-c", "a.c"]
    assert call.settings.name == "atom-list-precise-7-no"
    assert Settings.of_name(call.settings.name).name == call.settings.name
    for words in ("", "-- ", "--for pentium -- gcc", "--by none -- gcc", "--seed x -- gcc", "--report", "gcc -c a.c"):
        assert parsed(words.split()) is None, words  # the whole command says what is wrong


def test_names_are_those_of_the_verb_order() -> None:
    names = {"target": order.For, "by": order.By, "memory": order.Memory}
    assert {name: get_args(choices) for name, choices in names.items()} == CHOICES
