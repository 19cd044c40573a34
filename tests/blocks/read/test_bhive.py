"""CSV files in BHive's format, correct and damaged."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from learned_schedulers.blocks.read import bhive
from learned_schedulers.blocks.read.forms import Forms
from learned_schedulers.blocks.read.unreadable import Unreadable

ROW = "4183ff0119c083e00885c98945c4b8010000000f4fc139c2"


def read(text: str | bytes) -> tuple[list[tuple[int, int, str, str]], list[str]]:
    """(line, n, code, masked code) of every block, and the reasons."""
    csv_blocks, bad = bhive.blocks(text if isinstance(text, bytes) else text.encode(), 2, 64, Forms())
    rows = zip(
        csv_blocks.address.tolist(), csv_blocks.n_instructions.tolist(), csv_blocks.begin, csv_blocks.end, strict=True
    )
    blocks = [
        (line, n, csv_blocks.code[begin:end].tobytes().hex(), csv_blocks.masked[begin:end].tobytes().hex())
        for line, n, begin, end in rows
    ]
    assert all(remedy for _, remedy in bad)
    return blocks, [reason for reason, _ in bad]


def test_rows() -> None:
    blocks, bad = read(f"{ROW},249.000000\n01d889d1,100.0\n")
    assert blocks == [(1, 8, ROW, ROW), (2, 2, "01d889d1", "01d889d1")]
    assert bad == []


@pytest.mark.parametrize("text", ["01d889d1", "01d889d1\r\n", "\ufeff01d889d1,1\n", "01d889d1,1,2,3\n", "01D889D1,\n"])
def test_variants_of_the_format(text: str) -> None:
    assert read(text) == ([(1, 2, "01d889d1", "01d889d1")], [])


def test_rip_relative_displacement_is_masked() -> None:
    assert read("01d8488b0544332211,1\n")[0] == [(1, 2, "01d8488b0544332211", "01d8488b0500000000")]


def test_padding_inside_stays() -> None:
    assert read("01d89089d1,1\n")[0] == [(1, 3, "01d89089d1", "01d89089d1")]


def test_blocks_of_another_length_are_left_out_like_those_of_programs() -> None:
    assert read("01d8,1\n" + "01d8" * 65 + ",1\n") == ([], [])


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"hex,throughput", "not hexadecimal: 'hex'"),
        (b",0.0531", "empty hex field"),
        (b"01d8zz,1", "not hexadecimal: '01d8zz'"),
        (b"01d8f,1", "not hexadecimal: '01d8f'"),
        (b'"01d8,1', "not hexadecimal: '\"01d8'"),
        (b"01d8\xff,1", "not hexadecimal: '01d8\ufffd'"),
        (b"01d848,1", "not made of whole x86-64 instructions: 01d848"),
        (b"01d806,1", "not made of whole x86-64 instructions: 01d806"),
        (b"01d8c3,1", "transfers control before its end or at it: 01d8c3"),
        (b"e80000000001d8,1", "transfers control before its end or at it: e80000000001d8"),
        (b"01d8" * 50_000 + b",1", "field larger than field limit (131072)"),
    ],
)
def test_a_bad_row_is_named_and_the_others_are_read(line: bytes, reason: str) -> None:
    blocks, bad = read(b"01d889d1,1\n" + line + b"\n" + b"89d101d8,2\n")
    assert [(number, code) for number, _, code, _ in blocks] == [(1, "01d889d1"), (3, "89d101d8")]
    assert bad == [f"line 2: {reason}"]


@pytest.mark.parametrize("data", ["01d889d1,1\n".encode("utf-16"), b"01d8,1\n\0\0"])
def test_other_encodings_are_refused(data: bytes) -> None:
    with pytest.raises(Unreadable, match="not UTF-8 text"):
        read(data)


def test_an_empty_file_has_no_blocks() -> None:
    assert read("") == ([], []) == read("\n\n")


@given(st.binary(max_size=200))
def test_random_bytes(data: bytes) -> None:
    try:
        blocks, bad = read(data)
    except Unreadable as error:
        assert b"\0" in data and error.reason and error.remedy
    else:
        assert all(re.match(r"line \d+: .", reason) for reason in bad)
        assert all(n >= 2 for _, n, _, _ in blocks)
