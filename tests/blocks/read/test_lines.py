"""Lines of hexadecimal: no byte is lost, and only the code changes."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from learned_schedulers.blocks.read import lines as line_format
from learned_schedulers.blocks.read.document import Fault
from learned_schedulers.blocks.read.lines import code_of, pieces, with_code
from learned_schedulers.blocks.read.unreadable import Unreadable

ROW = b"4183ff0119c083e00885c98945c4b8010000000f4fc139c2,249.000000\n"
CODE = bytes.fromhex("4183ff0119c083e00885c98945c4b8010000000f4fc139c2")
VARIANTS = [
    ROW, ROW[:-1], ROW[:-1] + b"\r\n", b"\xef\xbb\xbf" + ROW, b"  " + ROW, CODE.hex(" ").encode() + b" ,1\n",
    CODE.hex().upper().encode(), CODE.hex(" ", 3).encode() + b"\r\n", ROW[:-1] + b",x,\xe9,4183\n",
    b"\xef\xbb\xbf " + CODE.hex().upper().encode() + b"\t,,\n",
]  # fmt: skip


@given(st.binary().map(lambda content: content.replace(b"\0", b"\n")), st.integers(1, 5))
def test_the_pieces_are_the_file(content: bytes, count: int) -> None:
    lists = list(pieces(io.BytesIO(content), count))
    assert b"".join(line for lines in lists for line in lines) == content
    assert all(len(lines) == count for lines in lists[:-1])
    lines = [line for lines in lists for line in lines]
    assert all(line.endswith(b"\n") and line.count(b"\n") == 1 for line in lines[:-1])
    assert all(lines) and len(lines) == content.count(b"\n") + bool(content and not content.endswith(b"\n"))


@given(st.lists(st.binary(max_size=9).map(lambda text: text.replace(b"\0", b"\n")), max_size=20), st.integers(1, 4))
def test_the_pieces_do_not_depend_on_chunks(chunks: list[bytes], count: int) -> None:
    class Slow(io.BytesIO):
        def read(self, size: int | None = None, /) -> bytes:
            return next((chunk for chunk in rest if chunk), b"")

    rest = iter(chunks)
    content = b"".join(chunks)
    slow = [line for lines in pieces(Slow(content), count) for line in lines]
    assert slow == [line for lines in pieces(io.BytesIO(content), count) for line in lines]


def test_a_long_line_is_whole_and_a_longer_one_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    long = b"90" * (1 << 20) + b",1\n"
    assert list(pieces(io.BytesIO(ROW + long + ROW), 2)) == [[ROW, long], [ROW]]
    monkeypatch.setattr(line_format, "_LONGEST_LINE", 1 << 20)
    with pytest.raises(Unreadable, match="line 2: longer than"):
        list(pieces(io.BytesIO(ROW + long + ROW), 2))


def test_lists_of_long_lines_are_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line_format, "_MOST_PENDING", 1 << 21)
    content = (b"90" * (1 << 19) + b"\n") * 9
    lists = list(pieces(io.BytesIO(content), 1000))
    assert len(lists) > 2 and b"".join(line for lines in lists for line in lines) == content


@pytest.mark.parametrize(("before", "line"), [(b"", 1), (ROW * 3, 4), (ROW * 50_000, 50_001)])
def test_a_zero_byte_is_refused_with_its_line(before: bytes, line: int) -> None:
    with pytest.raises(Unreadable, match=f"line {line}: .*zero byte.*; save it as CSV in UTF-8"):
        list(pieces(io.BytesIO(before + b"4889\0d8\n"), 1000))


@pytest.mark.parametrize("line", VARIANTS)
def test_code_of_a_line(line: bytes) -> None:
    assert code_of(line) == CODE


@pytest.mark.parametrize("line", [b"", b"\n", b"\r\n", b"  \n", b"# 4889d8,1\n", b" # a,b\n", b"\xef\xbb\xbf\n"])
def test_lines_without_a_block(line: bytes) -> None:
    assert code_of(line) == b""


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b",0.0531\n", "empty hex field"),
        (b"\xef\xbb\xbf,0.0531\n", "empty hex field"),
        (b" , \n", "empty hex field"),
        (b"hex,throughput\n", "not hexadecimal: 'hex'"),
        (b"0x4889d8,1\n", "not hexadecimal: '0x4889d8'"),
        (b"4889d,1\n", "not hexadecimal: '4889d'"),
        (b"4 889d8,1\n", "not hexadecimal"),
        ("4889dé,1\n".encode("latin-1"), "not hexadecimal"),
        (b'"4889d8",1\n', "not hexadecimal"),
    ],
)
def test_bad_lines(line: bytes, reason: str) -> None:
    fault = code_of(line)
    assert isinstance(fault, Fault) and reason in fault.reason and fault.remedy
    with pytest.raises(ValueError, match="do not fit"):
        with_code(line, b"\x48\x89\xd8")


@given(st.binary(max_size=40).filter(lambda line: b"\n" not in line[:-1]))
def test_any_line_has_an_answer(line: bytes) -> None:
    """The same code as Python's own reading of the field; never an exception."""
    answer = code_of(line)
    try:
        code = bytes.fromhex(line.split(b",")[0].strip().removeprefix(b"\xef\xbb\xbf").decode("ascii"))
    except ValueError:
        code = b""
    assert answer == code if code else isinstance(answer, Fault) or answer == b""


@pytest.mark.parametrize("line", VARIANTS)
def test_other_code_changes_nothing_else(line: bytes) -> None:
    changed = with_code(line, CODE[::-1])
    assert code_of(changed) == CODE[::-1]
    assert len(changed) == len(line) and with_code(changed, CODE) == line
    assert with_code(line, CODE) == line
    field = len(line.split(b",")[0])
    assert changed[field:] == line[field:]
    assert all((a == b) or (chr(a).isalnum() and chr(b).isalnum()) for a, b in zip(line, changed, strict=True))
    assert (
        changed[:field].removeprefix(b"\xef\xbb\xbf").isupper() == line[:field].removeprefix(b"\xef\xbb\xbf").isupper()
    )


def test_code_of_another_length_is_refused() -> None:
    with pytest.raises(ValueError, match="2 bytes of code do not fit"):
        with_code(ROW, b"ab")
