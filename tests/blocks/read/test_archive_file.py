"""Static archives: members in place, names of all kinds, and damage."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from learned_schedulers.blocks.read import elf_file
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


def test_only_the_ordered_member_changes(archive: bytes, objects: dict[str, bytes], tmp_path: Path) -> None:
    document = read(archive, "lib.a")
    assert [block.place for block in document.blocks] == ["a.o:.text+0x0", f"{LONG}:.text+0x0", "b.o:.text+0x0"]
    assert [(fault.place, fault.reason) for fault in document.faults] == [("odd.txt", "no object of machine code")]
    assert document.rewritten({}) == archive
    (tmp_path / "lib.a").write_bytes(document.rewritten({2: [1, 0]}))
    subprocess.run(["ar", "x", "lib.a"], cwd=tmp_path, check=True)
    for name, content in objects.items():
        ordered = elf_file.read(content, name).rewritten({0: [1, 0]})
        assert (tmp_path / name).read_bytes() == (ordered if name == "b.o" else content)
    assert run(["nm", "-s", tmp_path / "lib.a"]).count(" in ") == 3


def test_members_without_blocks_and_of_the_same_name(objects: dict[str, bytes], tmp_path: Path) -> None:
    empty = build(tmp_path, FUNCTION.format("g", 1).replace("movq", "nop #"), ".s", "-c")
    parts = {b"x.o/": objects["a.o"], b"x.o": empty, b"x.o/ ": objects["b.o"], b"y.o/": empty}
    document = read(packed(parts), "lib.a")
    assert [block.place for block in document.blocks] == ["x.o[0]:.text+0x0", "x.o[2]:.text+0x0"]
    ordered = document.rewritten({1: [1, 0]})
    assert ordered == packed({**parts, b"x.o/ ": elf_file.read(objects["b.o"], "b.o").rewritten({0: [1, 0]})})
    with pytest.raises(ValueError, match="block 2 of 2"):
        document.rewritten({2: [1, 0]})


def test_names_of_bsd(objects: dict[str, bytes]) -> None:
    name = LONG.encode() + b"\0\0"
    content = packed({b"__.SYMDEF": b"\0" * 8, b"#1/%d" % len(name): name + objects["a.o"]})
    assert [block.place for block in read(content, "lib.a").blocks] == [f"{LONG}:.text+0x0"]


def test_members_that_are_refused_are_reported(objects: dict[str, bytes], tmp_path: Path) -> None:
    bytecode = build(tmp_path, "int f(int x) { return x * 3; }", ".c", "-c", "-flto")
    document = read(packed({b"lto.o/": bytecode, b"cut.o/": objects["a.o"][:300], b"a.o/": objects["a.o"]}), "lib.a")
    assert [fault.place for fault in document.faults] == ["lto.o", "cut.o"]
    assert "link time" in document.faults[0].reason and "damaged" in document.faults[1].reason
    assert len(document.blocks) == 1


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"!<thin>\n" + header(b"a.o/", 100), "thin archive"),
        (b"\x7fELF", "not an archive"),
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
        read(content, "lib.a")
    assert error.value.remedy


@given(data=st.data())
def test_damage(archive: bytes, data: st.DataObject) -> None:
    content = bytearray(archive)
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    content = content[: data.draw(st.sampled_from([len(content), *range(0, len(content), 50)]))]
    try:
        document = read(bytes(content), "lib.a")
    except Unreadable as error:
        assert error.reason and error.remedy
        return
    orders = {block: list(range(len(b.marks)))[::-1] for block, b in enumerate(document.blocks)}
    assert len(document.rewritten(orders)) == len(content)
