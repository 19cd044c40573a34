"""Damaged and unsuitable files: each raises an error that names the fault, and none crashes the reader."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from learned_schedulers.blocks.read.cut import blocks
from learned_schedulers.blocks.read.elf import Image, read_image
from learned_schedulers.blocks.read.forms import Forms
from learned_schedulers.blocks.read.unreadable import Unreadable
from tests.blocks.read.conftest import build

TINY = Path(__file__).parents[2] / "tiny"
CODE = bytes.fromhex("01d889d1c3") * 8


def read(elf: bytes, text_share: float = 1.0) -> Image:
    return read_image(elf, r"GCC: \(.*\) 4\.9\.\d", r"4\.4\.7", text_share)


@pytest.mark.parametrize("kind", ["dyn", "exec", "rel"])
def test_kinds(kind: str) -> None:
    image = read(build(CODE, [(0, 10), (20, 25)], kind=kind))
    start = 0 if kind == "rel" else 0x401000
    assert (image.sections[0].functions - start).tolist() == [[0, 10], [20, 25]]
    assert image.relocatable == (kind == "rel")
    assert image.absolute == ((0x401000, 0x421000) if kind == "exec" else None)
    assert image.compiler == "GCC: (GNU) 4.9.1"


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["dyn", "exec", "rel"])
def test_truncated_anywhere(kind: str) -> None:
    elf = build(CODE, kind=kind)
    for length in range(len(elf)):
        with pytest.raises(Unreadable, match="truncated or damaged"):
            read(elf[:length])


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"machine": 183}, "another architecture (EM_AARCH64"),
        ({"machine": 3}, "another architecture (EM_386"),
        ({"eh_frame": False}, "no .eh_frame section"),
        ({"functions": [(0, 0)]}, ".eh_frame covers no function"),
        ({"functions": [(0x8000, 0x8010)]}, ".eh_frame covers no function"),
        ({"comments": ()}, "no .comment section"),
        ({"comments": ("",)}, "built by another compiler: none named"),
        ({"comments": ("GCC: (Debian 5.2) 5.2.1",)}, "built by another compiler: GCC: (Debian 5.2) 5.2.1"),
        ({"comments": ("GCC: (GNU) 4.9.1", "clang version 3.6")}, "built by another compiler: clang version 3.6"),
    ],
)
def test_refused_with_reason_and_remedy(change: dict[str, object], reason: str) -> None:
    with pytest.raises(Unreadable) as error:
        read(build(CODE, **change))
    assert error.value.reason.startswith(reason)
    assert error.value.remedy


def test_start_up_objects_of_an_older_compiler_are_accepted() -> None:
    elf = build(CODE, comments=("GCC: (GNU) 4.4.7 20120313", "GCC: (GNU) 4.9.1"))
    assert read(elf).compiler == "GCC: (GNU) 4.9.1"


def test_code_of_other_compilers_is_dropped_by_share() -> None:
    elf = build(CODE, [(0, 10), (10, 25), (25, 40)], comments=("GCC: (GNU) 4.9.1", "GCC: (Debian) 4.8.1"))
    assert (read(elf, text_share=0.7).sections[0].functions - 0x401000).tolist() == [[0, 10], [10, 25]]
    with pytest.raises(Unreadable, match=r"4\.8\.1"):
        read(elf)


def test_overlapping_functions_are_read_once() -> None:
    image = read(build(CODE, [(0, 10), (0, 10), (5, 15), (15, 20)]))
    assert (image.sections[0].functions - 0x401000).tolist() == [[0, 10], [15, 20]]


@given(st.binary(max_size=300))
def test_random_bytes(data: bytes) -> None:
    with pytest.raises(Unreadable):
        read(data)
    with pytest.raises(Unreadable):
        read(b"\x7fELF\x02\x01\x01" + data)


@pytest.mark.parametrize("kind", ["dyn", "exec", "rel"])
@given(changes=st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), min_size=1, max_size=4))
def test_damaged_bytes(kind: str, changes: list[tuple[float, int]]) -> None:
    elf = bytearray(build(CODE, kind=kind, relocations=((1, 2),) if kind == "rel" else ()))
    for position, value in changes:
        elf[int(position * len(elf))] = value
    try:
        image = read(bytes(elf))
    except Unreadable as error:
        assert error.reason and error.remedy
    else:
        for section_blocks in blocks(image, 1, 1000, Forms()):
            assert (section_blocks.n_instructions > 0).all() and len(section_blocks.code) == len(section_blocks.masked)


def test_compiled_code_is_covered() -> None:
    image = read_image((TINY / "tiny1.so").read_bytes(), "GCC", "-")
    (section,) = image.sections
    assert len(section.functions) == 250
