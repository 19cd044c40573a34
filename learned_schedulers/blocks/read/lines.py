"""Blocks as lines of hexadecimal: BHive's CSV, `hex,value`, and lines that hold nothing but hexadecimal.

The machine code is the text before the first comma. A line may also be empty, a comment after #, or a header; other
columns have no meaning here. A file of any length is read piece by piece, and no byte of it is lost.
"""

from __future__ import annotations

import io
import re
from binascii import unhexlify
from collections.abc import Iterator
from typing import BinaryIO

from learned_schedulers.blocks.read.document import Fault
from learned_schedulers.blocks.read.unreadable import Unreadable

_CHUNK_BYTES = 1 << 20
_LONGEST_LINE = 1 << 24  # bytes; the longest block of 64 instructions has 1,920 digits
_MOST_PENDING = 1 << 25  # bytes of a piece, so that long lines do not fill the memory
_MARK = b"\xef\xbb\xbf"  # UTF-8's byte order mark
_DIGIT = re.compile(rb"[0-9A-Fa-f]")
_DELETE = "correct or delete the line"


def pieces(file: BinaryIO, lines: int) -> Iterator[list[bytes]]:
    """The lines of a file with their ends, in lists of `lines`; together they are the file's content, byte for byte.

    The last list may be shorter, and so may lists of very long lines. Only a line feed ends a line. Raises Unreadable
    where the file holds a zero byte, which no text does, or a line that fills the memory.
    """
    pending: list[bytes] = []
    size, count, rest = 0, 0, b""
    while chunk := file.read(_CHUNK_BYTES):
        if b"\0" in chunk:
            line = count + (rest + chunk[: chunk.index(0)]).count(b"\n") + 1
            raise Unreadable(f"line {line}: not UTF-8 text (it holds a zero byte)", "save it as CSV in UTF-8")
        whole, end, rest = (rest + chunk).rpartition(b"\n")
        if len(rest) > _LONGEST_LINE:
            line = count + whole.count(b"\n") + (2 if end else 1)
            raise Unreadable(f"line {line}: longer than {_LONGEST_LINE} bytes", "give each block a line of its own")
        complete = io.BytesIO(whole + end).readlines()
        count += len(complete)
        size += len(whole)
        pending += complete
        begin = 0
        while len(pending) - begin >= lines:
            yield pending[begin : begin + lines]
            begin += lines
        if begin:
            del pending[:begin]
            size = 0  # what is left has less than `lines` lines of this chunk
        if size > _MOST_PENDING:
            yield pending
            pending, size = [], 0
    if rest:
        pending.append(rest)
    for begin in range(0, len(pending), lines):
        yield pending[begin : begin + lines]


def code_of(line: bytes) -> bytes | Fault:
    """The machine code of a line, empty for an empty line or a comment; a Fault for a bad line.

    The Fault's place is empty.
    """
    try:
        code = unhexlify(line.partition(b",")[0].strip())
    except ValueError:
        return _unusual(line)
    return code or _without_code(line)


def _unusual(line: bytes) -> bytes | Fault:
    """The same for a line whose first field is not hexadecimal without spaces."""
    field = line.partition(b",")[0].strip().removeprefix(_MARK).strip()
    if field.startswith(b"#"):
        return b""
    try:
        return bytes.fromhex(field.decode("ascii")) or _without_code(line.removeprefix(_MARK))
    except ValueError:
        text = field[:40].decode("utf-8", "replace")
        return Fault("", f"not hexadecimal: {text!r}", f"{_DELETE}; a header line may stay")


def _without_code(line: bytes) -> bytes | Fault:
    return Fault("", "empty hex field", _DELETE) if line.strip() else b""


def with_code(line: bytes, code: bytes) -> bytes:
    """The line with other machine code of the same length; all its other bytes, spaces and letter case stay.

    A field in upper and lower case becomes lower case if its code changes. Raises ValueError for a line without code,
    or with code of another length.
    """
    before = code_of(line)
    if before == code:
        return line
    if not isinstance(before, bytes) or not before or len(before) != len(code):
        raise ValueError(f"{len(code)} bytes of code do not fit into the line {line[:80]!r}")
    field = line.partition(b",")[0]
    compact = field.strip().removeprefix(_MARK).strip()
    digits = code.hex().encode()
    if compact.isupper():
        digits = digits.upper()
    if len(compact) == len(digits):
        return line.replace(compact, digits, 1)  # only spaces and a mark can be before it
    places = iter(digits)
    return _DIGIT.sub(lambda _: bytes((next(places),)), field) + line[len(field) :]
