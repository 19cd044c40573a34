"""Regions of llvm-mca, OSACA and IACA."""

from __future__ import annotations

from pipeline.blocks.formats.regions import commented_regions, iaca_regions

BEGIN, END = bytes.fromhex("bb6f000000646790"), bytes.fromhex("bbde000000646790")


def test_regions_with_names_overlap() -> None:
    lines = [
        "a",
        "# LLVM-MCA-BEGIN x",
        "b",
        "\t# LLVM-MCA-BEGIN y z",
        "c",
        "# LLVM-MCA-END x",
        "d",
        "#LLVM-MCA-END",
        "e",
    ]
    result = commented_regions(lines)
    assert result is not None
    inside, marks = result
    assert [line for line, within in zip(lines, inside, strict=True) if within] == ["b", "c", "d"]
    assert sum(marks) == 4


def test_without_marks_there_is_no_region() -> None:
    assert commented_regions(["nop", "# a comment on LLVM-MCA-BEGINNERS"]) is None
    assert iaca_regions({1: b"\x90" * 20}) is None


def test_an_end_without_a_name_does_not_end_one_of_two() -> None:
    result = commented_regions(["# LLVM-MCA-BEGIN a", "# LLVM-MCA-BEGIN b", "# LLVM-MCA-END", "nop"])
    assert result is not None and result[0] == [False, False, False, True]


def test_regions_of_osaca() -> None:
    lines = ["a", "# OSACA-BEGIN", "b", "# OSACA-END", "c", "// LLVM-MCA-BEGIN", "d", "# OSACA-END", "e"]
    result = commented_regions(lines)
    assert result is not None
    assert [line for line, within in zip(lines, result[0], strict=True) if within] == ["b", "d", "e"]
    assert [line for line, mark in zip(lines, result[1], strict=True) if mark] == [lines[k] for k in (1, 3, 5, 7)]


def test_marks_of_tools_that_are_not_known_bound_no_region() -> None:
    result = commented_regions(["a", "# MY-TOOL-START kernel", "b", "# a START of something"])
    assert result == ([True] * 4, [False, True, False, False])


def test_iaca_marks_are_bytes() -> None:
    code = b"\x90" + BEGIN + b"\x01\xc3" + END + b"\x90" + BEGIN + b"\xc3"
    assert iaca_regions({1: b"\x90", 2: code}) == {2: [(9, 11), (28, 29)]}
