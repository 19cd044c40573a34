"""Machine code, alone and in archives: its blocks, members with names of all kinds, and damage."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from learned_schedulers.blocks.dag.memory_order import Mark
from learned_schedulers.blocks.read.archive_file import MAGIC, members, read
from learned_schedulers.blocks.read.unreadable import Unreadable
from tests.blocks.read.elf_builds import build, run

FUNCTION = ".globl {0}\n.type {0},@function\n{0}: .cfi_startproc\nmovq %rdi, %rax\naddq ${1}, %rsi\nret\n.cfi_endproc\n"
LONG = "a_name_that_is_longer_than_fifteen_bytes.o"


def header(name: bytes, size: int) -> bytes:
    return name.ljust(16) + b"0".ljust(12) + b"0".ljust(6) + b"0".ljust(6) + b"644".ljust(8) + b"%-10d`\n" % size


def packed(parts: Mapping[bytes, bytes]) -> bytes:
    """An archive with names as they are."""
    return MAGIC + b"".join(header(name, len(part)) + part + b"\n" * (len(part) % 2) for name, part in parts.items())


@pytest.fixture(scope="module")
def objects(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("objects")
    names = ("a.o", LONG, "b.o")
    return {name: build(folder, FUNCTION.format(f"f{k}", k), ".s", "-c") for k, name in enumerate(names)}


@pytest.fixture(scope="module")
def archive(objects: dict[str, bytes], tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Made by ar, with an index of symbols, long names, and a member that is no object."""
    folder = tmp_path_factory.mktemp("archive")
    for name, content in objects.items():
        (folder / name).write_bytes(content)
    (folder / "odd.txt").write_bytes(b"odd")
    subprocess.run(["ar", "rcs", "lib.a", *list(objects)[:2], "odd.txt", "b.o"], cwd=folder, check=True)
    return (folder / "lib.a").read_bytes()


def test_members_are_those_of_ar(archive: bytes, objects: dict[str, bytes], tmp_path: Path) -> None:
    (tmp_path / "lib.a").write_bytes(archive)
    names = run(["ar", "t", tmp_path / "lib.a"]).split()
    assert [member.name for member in members(archive)] == names == ["a.o", LONG, "odd.txt", "b.o"]
    for member in members(archive):
        assert archive[member.begin : member.end] == objects.get(member.name, b"odd")


def places(content: bytes) -> list[str]:
    return [block.place for block in read(content).blocks]


def test_the_blocks_of_all_members(archive: bytes, objects: dict[str, bytes]) -> None:
    file = read(archive)
    assert places(archive) == ["a.o:.text+0x0", f"{LONG}:.text+0x0", "b.o:.text+0x0"]
    assert [(fault.place, fault.reason) for fault in file.faults] == [("odd.txt", "no object of machine code")]
    alone = [block for name in objects for block in read(objects[name]).blocks]
    assert [block.place for block in alone] == [".text+0x0"] * 3
    assert [block[1:] for block in alone] == [block[1:] for block in file.blocks]
    assert all(len(block.marks) == 2 for block in alone)


def test_what_a_linker_fills_in_is_marked(tmp_path: Path) -> None:
    text = FUNCTION.format("f", 1).replace("movq %rdi, %rax", "leaq name(%rip), %rax\nmovq 8(%rdi), %rcx")
    [block] = read(build(tmp_path, text, ".s", "-c")).blocks
    assert list(block.marks) == [Mark.LINKED, 0, 0]


def test_members_without_blocks_and_of_the_same_name(objects: dict[str, bytes], tmp_path: Path) -> None:
    empty = build(tmp_path, FUNCTION.format("g", 1).replace("movq", "nop #"), ".s", "-c")
    content = packed({b"x.o/": objects["a.o"], b"x.o": empty, b"x.o/ ": objects["b.o"], b"y.o/": empty})
    assert places(content) == ["x.o[0]:.text+0x0", "x.o[2]:.text+0x0"]


def test_names_of_bsd(objects: dict[str, bytes]) -> None:
    name = LONG.encode() + b"\0\0"
    content = packed({b"__.SYMDEF": b"\0" * 8, b"#1/%d" % len(name): name + objects["a.o"]})
    assert places(content) == [f"{LONG}:.text+0x0"]


def test_members_that_are_refused_are_reported(objects: dict[str, bytes]) -> None:
    file = read(packed({b"cut.o/": objects["a.o"][:300], b"a.o/": objects["a.o"]}))
    assert [fault.place for fault in file.faults] == ["cut.o"] and "damaged" in file.faults[0].reason
    assert len(file.blocks) == 1


def test_a_program_names_addresses(tmp_path: Path) -> None:
    program = build(tmp_path, FUNCTION.format("_start", 1), ".s", "-nostdlib", "-static")
    assert all(re.fullmatch("0x[0-9a-f]+", place) for place in places(program)) and places(program)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"!<thin>\n" + header(b"a.o/", 100), "thin archive"),
        (b"no archive", "damaged ELF file"),
        (MAGIC, "without objects"),
        (packed({b"debian-binary": b"2.0\n"}), "without objects"),
        (MAGIC + header(b"a.o/", 1), "ends beyond"),
        (MAGIC + header(b"a.o/", 1)[:-1] + b"x1", "no header"),
        (MAGIC + header(b"a.o/", 0)[:30], "no header"),
        (MAGIC + header(b"a.o/", 0).replace(b"0         `", b"-1        `"), "the size of the member"),
        (packed({b"#1/900": b"name"}), "longer than the member"),
        (packed({b"#1/x": b"name"}), "the length of a name"),
    ],
)
def test_refused(content: bytes, reason: str) -> None:
    with pytest.raises(Unreadable, match=reason) as error:
        read(content)
    assert error.value.remedy


@given(data=st.data())
def test_damage(archive: bytes, data: st.DataObject) -> None:
    content = bytearray(archive)
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    content = content[: data.draw(st.sampled_from([len(content), *range(0, len(content), 50)]))]
    try:
        read(bytes(content))
    except Unreadable as error:
        assert error.reason and error.remedy
