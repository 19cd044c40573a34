"""Ithemal's dumps of SQL statements -> lines of hexadecimal. The statements are read, never executed.

- Version 1: `INSERT INTO code (config_id, program, rel_addr, code_token) ...`, then `UPDATE code SET code_intel='...'`
  with the block in Intel's syntax, which is assembled.
- Version 2: `INSERT INTO code (code_raw) VALUES ('<hexadecimal>')`, beside `code_metadata`, which is not read. In a
  dump that has `code_raw`, `code_intel` describes the same blocks again and is skipped.
- A dump by mysqldump: `INSERT INTO code VALUES (...),(...)`, with the columns of `CREATE TABLE code`.

The blocks may have holes, as in `ithemal_data.py`. Tokens and AT&T's syntax are not read. The values of the lines are
empty: times are in another table, and belong to architectures.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import BinaryIO, NamedTuple

from learned_schedulers.blocks.read.document import Fault
from learned_schedulers.blocks.read.ithemal_data import EMPTY, TextBlock, lines_of
from learned_schedulers.blocks.read.lines import Unconverted, comment
from learned_schedulers.blocks.read.sql_tokens import Token, tokens
from learned_schedulers.blocks.read.unreadable import Unreadable

_TABLE = "code"
_NO_COLUMNS = {"primary", "unique", "key", "index", "constraint", "foreign", "fulltext", "spatial", "check"}
_MOST_COLUMNS = 1000
_CORRECT = "correct or delete the statement"
_NO_BLOCKS = (
    "no block: neither code_raw nor code_intel of a table `code`",
    "dump Ithemal's database with its table `code`, or give its blocks as lines of hexadecimal",
)


def lines(file: BinaryIO) -> Iterator[bytes]:
    """A line `hex,` for each block, in their order: a comment for an empty one, `Unconverted` for a bad one.

    Raises Unreadable if there is no block, or where a string has no end.
    """
    count = 0
    for line in lines_of(_blocks(file)):
        count += 1
        yield line
    if not count:
        raise Unreadable(*_NO_BLOCKS)


class _Row(NamedTuple):
    line: int
    columns: dict[str, str]  # without those that are NULL or computed, and with those of the condition of an UPDATE

    @property
    def place(self) -> str:
        if "program" in self.columns and "rel_addr" in self.columns:
            return f"line {self.line} ({self.columns['program'][:100]}+{self.columns['rel_addr'][:20]})"
        return f"line {self.line}"


class _SyntaxError(ValueError):
    """A statement is not of a form that is read here."""


def _blocks(file: BinaryIO) -> Iterator[TextBlock | bytes]:
    has_raw = False
    for row in _Statements(tokens(file)).rows():
        if isinstance(row, Fault):
            yield Unconverted.of(row)
            continue
        raw, text = row.columns.get("code_raw"), row.columns.get("code_intel")
        if raw is not None:
            has_raw = True
            yield _line(raw, row.place)
        elif text is not None and not has_raw:
            yield TextBlock(row.place, text, "")


def _line(raw: str, place: str) -> bytes:
    try:
        code = bytes.fromhex(raw)
    except ValueError:
        return Unconverted.of(Fault(place, f"code_raw is not hexadecimal: {raw[:40]!r}", _CORRECT))
    return f"{code.hex()},\n".encode() if code else comment(f"{place}: {EMPTY}")


class _Statements:
    """The statements of a dump, token by token."""

    def __init__(self, source: Iterator[Token]) -> None:
        self._source = source
        self._token = next(source, None)  # the next one; None: the end of the dump
        self._columns: list[str] = []  # of the table, as it was created

    def rows(self) -> Iterator[_Row | Fault]:
        """Rows that are inserted into the table `code`, or changed; a Fault for each statement that is none."""
        while self._token is not None:
            line = self._token.line
            try:
                if self._accept("insert") or self._accept("replace"):
                    yield from self._insert()
                elif self._accept("update"):
                    yield from self._update(line)
                elif self._accept("create"):
                    self._create()
            except _SyntaxError as error:
                yield Fault(f"line {line}", f"no statement of Ithemal's dumps: {error}", _CORRECT)
            while self._token is not None and not self._is(";"):
                self._take()
            self._accept(";")

    def _take(self) -> Token:
        token = self._token
        if token is None:
            raise _SyntaxError("the dump ends in it")
        self._token = next(self._source, None)
        return token

    def _is(self, *values: str) -> bool:
        """Whether the next token is one of these words or signs."""
        token = self._token
        return token is not None and token.kind in ("word", "sign") and token.value.lower() in values

    def _accept(self, value: str) -> bool:
        if self._is(value):
            self._take()
            return True
        return False

    def _expect(self, value: str) -> None:
        if not self._accept(value):
            text = self._token.value[:40] if self._token else "the end"
            raise _SyntaxError(f"{text!r} in place of {value!r}")

    def _name(self) -> str:
        """A name without its qualifiers, in lower case."""
        while True:
            if self._token is not None and self._token.kind not in ("word", "name"):
                raise _SyntaxError(f"{self._token.value[:40]!r} in place of a name")
            token = self._take()
            if not (token.value.endswith(".") or self._accept(".")):
                return token.value.rpartition(".")[2].lower()

    def _insert(self) -> Iterator[_Row | Fault]:
        while self._is("low_priority", "delayed", "high_priority", "ignore", "into", "or", "replace"):
            self._take()
        if self._name() != _TABLE:
            return
        columns = self._columns
        if self._accept("("):
            columns = []
            while not self._accept(")"):
                columns.append(self._name())
                self._accept(",")
        if not self._accept("value"):
            self._expect("values")
        while True:
            line = self._token.line if self._token else 0
            self._expect("(")
            values: list[str | None] = []
            while not self._accept(")") and len(values) <= _MOST_COLUMNS:
                values.append(self._value())
                self._accept(",")
            if len(values) == len(columns):
                yield _row(line, zip(columns, values, strict=True))
            else:
                reason = f"{len(values)} values for {len(columns)} columns"
                yield Fault(
                    f"line {line}", reason, "put INSERT's columns or CREATE TABLE before it, or correct the row"
                )
            if not self._accept(","):
                return

    def _update(self, line: int) -> Iterator[_Row]:
        if self._name() != _TABLE:
            return
        self._expect("set")
        pairs: list[tuple[str, str | None]] = []
        while self._token is not None and not self._is(";") and len(pairs) <= _MOST_COLUMNS:
            column = self._name()
            self._expect("=")
            pairs.append((column, self._value("where", "and")))
            while self._is(",", "where", "and"):
                self._take()
        yield _row(line, pairs)

    def _create(self) -> None:
        while self._is("temporary", "table", "if", "not", "exists"):
            self._take()
        if self._name() != _TABLE or not self._accept("("):
            return
        columns: list[str] = []
        while not self._accept(")") and len(columns) <= _MOST_COLUMNS:
            if not self._is(*_NO_COLUMNS):
                columns.append(self._name())
            self._value()  # its type
            self._accept(",")
        self._columns = columns

    def _value(self, *ends: str) -> str | None:
        """The text of a value, up to a comma, a bracket or a word of `ends`; None if it is NULL or computed."""
        first: list[Token] = []
        depth = 0
        while depth or not self._is(",", ")", ";", *ends):
            if self._is(";"):
                raise _SyntaxError("a bracket is open at its end")
            depth += self._is("(") - self._is(")")
            token = self._take()
            if len(first) < 3:
                first.append(token)
        if len(first) == 2 and first[1].kind == "text" and first[0].value.startswith("_"):  # a character set
            del first[0]
        if len(first) != 1 or first[0].kind == "sign" or (first[0].kind, first[0].value.lower()) == ("word", "null"):
            return None
        return first[0].value


def _row(line: int, pairs: Iterable[tuple[str, str | None]]) -> _Row:
    return _Row(line, {column: value for column, value in pairs if value is not None})
