"""Regions of llvm-mca and IACA."""

from __future__ import annotations

from pipeline.blocks.formats.regions import iaca_regions, mca_regions

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
    result = mca_regions(lines)
    assert result is not None
    inside, marks = result
    assert [line for line, within in zip(lines, inside, strict=True) if within] == ["b", "c", "d"]
    assert sum(marks) == 4


def test_without_marks_there_is_no_region() -> None:
    assert mca_regions(["nop", "# a comment on LLVM-MCA-BEGINNERS"]) is None
    assert iaca_regions({1: b"\x90" * 20}) is None


def test_an_end_without_a_name_does_not_end_one_of_two() -> None:
    result = mca_regions(["# LLVM-MCA-BEGIN a", "# LLVM-MCA-BEGIN b", "# LLVM-MCA-END", "nop"])
    assert result is not None and result[0] == [False, False, False, True]


def test_iaca_marks_are_bytes() -> None:
    code = b"\x90" + BEGIN + b"\x01\xc3" + END + b"\x90" + BEGIN + b"\xc3"
    assert iaca_regions({1: b"\x90", 2: code}) == {2: [(9, 11), (28, 29)]}
