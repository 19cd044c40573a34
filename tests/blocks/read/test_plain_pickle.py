"""Pickles of plain values: equal to Python's, and nothing of them runs."""

from __future__ import annotations

import io
import os
import pickle
import pickletools
import resource
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from learned_schedulers.blocks.read.plain_pickle import PlainPickle
from learned_schedulers.blocks.read.unreadable import Unreadable

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20)
VALUES = st.recursive(
    SCALARS,
    lambda values: (
        st.lists(values, max_size=4)
        | st.lists(values, max_size=5).map(tuple)
        | st.dictionaries(st.text(max_size=3) | st.integers(), values, max_size=4)
    ),
    max_leaves=12,
)
PROTOCOLS = st.integers(0, pickle.HIGHEST_PROTOCOL)


@given(VALUES, PROTOCOLS)
def test_values_come_back(value: object, protocol: int) -> None:
    file = io.BytesIO(pickle.dumps(value, protocol) + b"rest")
    assert PlainPickle(file).value() == value
    assert file.read() == b"rest"


@given(st.lists(VALUES, max_size=6), PROTOCOLS)
def test_items_come_one_by_one(values: list[object], protocol: int) -> None:
    assert list(PlainPickle(io.BytesIO(pickle.dumps(values, protocol))).items()) == values


def test_many_items_are_not_kept() -> None:
    shared = "the same text"
    rows = [(k, k / 2, shared, f"row {k}") for k in range(5000)]
    reader = PlainPickle(io.BytesIO(pickle.dumps(rows, 2)))
    assert list(reader.items()) == rows and reader.value is not None
    assert max(map(len, (reader._stack, reader._stack[0]))) <= 1


def test_strings_of_python_2() -> None:
    assert PlainPickle(io.BytesIO(b"\x80\x02U\x03ab\xe9q\x00.")).value() == "ab\xe9"
    assert PlainPickle(io.BytesIO(b"S'ab'\n.")).value() == "ab"


class _Runs:
    def __init__(self, path: Path) -> None:
        self._path = path

    def __reduce__(self) -> tuple[object, tuple[str, int]]:
        return os.mkdir, (str(self._path), 0o700)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_code_does_not_run(tmp_path: Path, protocol: int) -> None:
    for value in (_Runs(tmp_path / "made"), [_Runs(tmp_path / "made")], {"a": (1, _Runs(tmp_path / "made"))}):
        with pytest.raises(Unreadable, match="which makes objects; save a list of numbers and strings"):
            PlainPickle(io.BytesIO(pickle.dumps(value, protocol))).value()
    assert not (tmp_path / "made").exists()
    names = [opcode.name for opcode, _, _ in pickletools.genops(pickle.dumps(_Runs(tmp_path), protocol))]
    assert "REDUCE" in names  # elsewhere it would have run


@pytest.mark.parametrize(
    "content",
    [
        b"", b".", b"\x80\x02", b"\x80\x02K\x01K\x02.", b"\x80\x02h\x05.",
        b"\x80\x02a.", b"\x80\x02K\x01K\x02a.", b"\x80\x02}K\x01s.", b"\x80\x02}]K\x01s.", b"\x80\x02(l(d",
        b"\x80\x02e.",
        b"\x80\x02X\xff\xff\xff\xffab.", b"\x80\x02\x8e" + b"\xff" * 8 + b".", b"\x80\x02\x8b\xff\xff\xff\x7fa.",
        b"\x80\x04\x95\xff\xff\xff\xff\xff\xff\xff\x00K\x01", b"I" + b"9" * 5000 + b"\n.", b"hello", b"\xff",
        b"cos\nsystem\n(S'true'\ntR.", b"\x80\x02(K\x01i__main__\nA\n.", b"\x80\x02\x82\x01.", b"\x80\x02P1\n.",
    ],
)  # fmt: skip
def test_damaged_pickles_are_refused(content: bytes) -> None:
    with pytest.raises(Unreadable, match=r"byte \d+: .*; "):
        PlainPickle(io.BytesIO(content)).value()


@pytest.mark.parametrize(
    "content",
    [
        b"\x80\x02]r\xff\xff\xff\x7f.",  # pickle.Unpickler would make a memo of 2^32 places
        b"\x80\x02" + b"]" * 1_200_000,
        b"\x80\x02)" + b"\x85" * 300_000 + b".",  # tuples in tuples
        b"\x80\x02})" + b"\x85" * 300_000 + b"K\x01s.",  # as a key, whose hash would overflow the stack
    ],
)
def test_bombs_do_not_fill_the_memory(content: bytes) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        PlainPickle(io.BytesIO(content)).value()
    except Unreadable as error:
        assert error.remedy
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300_000  # KB


@given(st.binary(max_size=60))
def test_any_bytes_have_an_answer(content: bytes) -> None:
    try:
        PlainPickle(io.BytesIO(b"\x80\x02" + content + b".")).value()
    except Unreadable as error:
        assert error.reason and error.remedy
