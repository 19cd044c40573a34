"""A dump of a MySQL or SQLite database as tokens, piece by piece; nothing is executed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

from learned_schedulers.blocks.read.unreadable import Unreadable

_CHUNK_BYTES = 1 << 20
_LONGEST = 1 << 24  # bytes of a token
_TOKEN = re.compile(
    rb"(?P<space>\s++)"
    rb"|(?P<comment>--(?=\s)[^\n]*+|\#[^\n]*+|/\*.*?\*/)"
    rb"|(?P<text>'[^'\\]*+(?:(?:\\.|'')[^'\\]*+)*+')"
    rb"|(?P<name>`[^`]*+`|\"[^\"]*+\")"
    rb"|(?P<word>[\w@.$\x80-\xff]++)"
    rb"|(?P<sign>[^'`\"/]|/(?!\*))",
    re.S,
)
_ESCAPE = re.compile(rb"\\(.)|''", re.S)
_ESCAPED = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"0": b"\0", b"b": b"\b", b"Z": b"\x1a", b"%": b"\\%", b"_": b"\\_"}
_UNKNOWN_BYTES = 2  # at the end of a buffer, whose meaning the next byte may change


class Token(NamedTuple):
    kind: str  # text: a string without its quotes; name: a quoted name without its quotes; word; sign
    value: str
    line: int  # counted from 1


def tokens(file: BinaryIO) -> Iterator[Token]:
    """Tokens of a dump without spaces and comments. Raises Unreadable where a string or comment has no end."""
    buffer, at, line, complete = b"", 0, 1, False
    while True:
        match = _TOKEN.match(buffer, at)
        if not complete and (match is None or match.end() > len(buffer) - _UNKNOWN_BYTES):
            rest = buffer[at:]
            if len(rest) > _LONGEST:
                raise Unreadable(f"line {line}: a string of more than {_LONGEST} bytes", "cut the dump before it")
            chunk = file.read(max(_CHUNK_BYTES, len(rest)))
            buffer, at, complete = rest + chunk, 0, not chunk
            continue
        if match is None:
            if at == len(buffer):
                return
            raise Unreadable(f"line {line}: a string or comment without an end", "copy or make the dump again")
        kind, value = str(match.lastgroup), match[0]
        at = match.end()
        if kind == "text":
            yield Token(kind, _ESCAPE.sub(_meant, value[1:-1]).decode("utf-8", "replace"), line)
        elif kind == "name":
            yield Token(kind, value[1:-1].decode("utf-8", "replace"), line)
        elif kind in ("word", "sign"):
            yield Token(kind, value.decode("utf-8", "replace"), line)
        line += value.count(b"\n")


def _meant(match: re.Match[bytes]) -> bytes:
    """The character that an escape stands for."""
    character = match[1]
    return b"'" if character is None else _ESCAPED.get(character, character)
