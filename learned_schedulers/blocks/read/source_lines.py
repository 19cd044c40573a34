"""`.loc` lines: which source line a debugger shows at each instruction, and how it stays so when instructions move.

The assembler writes one row of the line table for each `.loc`, at the address of the next instruction; before padding
only if it has a view (GCC's `view .LVU5`), or if another `.loc` follows. A row counts until the next one.

If several rows stand at one address, most tools take the last. gdb takes the last that starts a statement
(`is_stmt 1`), or the last if none does; and it skips rows that repeat the line of the row before, if that line has a
discriminator (gdb 13, `dwarf2/read.c`: `lnp_state_machine::record_line`, `dwarf_record_line_p`). `advance` follows
both kinds of tools, so that both show the same line at each instruction after the instructions have moved.

`is_stmt` stays in force until a `.loc` changes it. Where the new sequence of `.loc` lines would change its value, it is
written out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple


class Row(NamedTuple):
    """A row of the line table."""

    file: int
    line: int
    column: int
    discriminator: int
    is_stmt: bool

    def same_line(self, other: Row) -> bool:
        """Whether both rows are of one source line."""
        return (self.file, self.line) == (other.file, other.line)


class Location(NamedTuple):
    """A `.loc` line: its row, with the value of `is_stmt` in force."""

    row: Row
    explicit: bool  # it names the value of `is_stmt` itself
    immediate: bool  # its row is at the place of the line (it has a view), not at the next instruction or `.loc`


class Shown(NamedTuple):
    """What debuggers show at an instruction."""

    last: Row  # by the last row
    gdb: Row


class State(NamedTuple):
    """The state of a reader of the line table after some rows."""

    shown: Shown | None = None  # None: nothing, or it is not known
    register: int = 0  # line of the last row
    recorded: tuple[int, int] = (0, 0)  # file and line of the last row that gdb did not ignore
    discriminated: bool = False  # a row of the line in `register` has a discriminator


def parse(operands: str, is_stmt: bool) -> Location | None:
    """The operands of `.loc`, where `is_stmt` is in force; None for operands that are not understood."""
    words = operands.split()
    numbers: list[int] = []
    while words and words[0].isascii() and words[0].isdigit():
        numbers.append(int(words.pop(0)))
    if len(numbers) not in (2, 3):
        return None
    discriminator, explicit, immediate = 0, False, False
    while words:
        option = words.pop(0)
        if option in ("basic_block", "prologue_end", "epilogue_begin"):
            continue
        if not words:
            return None
        value = words.pop(0)
        if option == "is_stmt" and value in ("0", "1"):
            is_stmt, explicit = value == "1", True
        elif option == "discriminator" and value.isascii() and value.isdigit():
            discriminator = int(value)
        elif option == "view":
            immediate = True
        else:
            return None
    file, line, column = (*numbers, 0)[:3]
    return Location(Row(file, line, column, discriminator, is_stmt), explicit, immediate)


def advance(state: State, rows: Sequence[Row]) -> State:
    """The state after the rows at one address."""
    shown, register, recorded, discriminated = state
    starts = False
    accepted: list[Row] = []
    for row in rows:
        changes_file = row.file != recorded[0]
        repeats = row.line == register and not changes_file
        discriminated = row.discriminator != 0 or (repeats and discriminated)
        register = row.line
        if row.line == 0 or (changes_file and not row.is_stmt and starts):
            continue
        starts |= row.is_stmt
        if changes_file or row.line != recorded[1] or not discriminated:
            accepted.append(row)
        recorded = (row.file, row.line)
    if any(row.line == 0 for row in rows):  # "no line": tools differ in what they show, and for how long
        return State(None, register, recorded, discriminated)
    if accepted:
        gdb = next((row for row in reversed(accepted) if row.is_stmt), accepted[-1])
    else:
        gdb = shown.gdb if shown is not None else rows[-1]
    return State(Shown(rows[-1], gdb), register, recorded, discriminated)


def equal(shown: Shown | None, other: Shown | None) -> bool:
    """Whether debuggers show the same lines."""
    if shown is None or other is None:
        return shown is other
    return shown.last[:3] == other.last[:3] and shown.gdb.same_line(other.gdb)


def equivalent(state: State, other: State) -> bool:
    """Whether debuggers show the same lines now, and after any further rows."""
    return equal(state.shown, other.shown) and state[1:] == other[1:]


def copies(shown: Shown) -> tuple[Row, ...]:
    """New rows for an instruction that has none of its own; no statement starts there, if that can be."""
    last = shown.last._replace(is_stmt=False)
    if shown.gdb.same_line(last):
        return (last,)
    return (shown.gdb._replace(is_stmt=True), last)


def additions(
    state: State, rows: Sequence[Row], shown: Shown, padded: bool = False
) -> tuple[tuple[Row, ...], tuple[Row, ...]]:
    """Rows to add before and after an instruction's `rows`, so that debuggers show what they should.

    padded: the rows stand before padding, and what is added before them would not be at the instruction. Without any
    that help, none.
    """
    for before, after in _attempts(state, rows, shown):
        if not (padded and before) and equal(advance(state, (*before, *rows, *after)).shown, shown):
            return before, after
    return (), ()


def _attempts(state: State, rows: Sequence[Row], shown: Shown) -> Iterator[tuple[tuple[Row, ...], tuple[Row, ...]]]:
    yield (), ()
    last, gdb = (row._replace(is_stmt=False, discriminator=0) for row in shown)
    others = [last, gdb]
    others += [row._replace(is_stmt=False, discriminator=0) for row in (*(state.shown or ()), *rows)]
    for row in others:
        yield (row,), ()
    for row in others:
        yield (), (row, gdb._replace(is_stmt=True), last)
    yield (), (gdb._replace(is_stmt=True), last)


def lines_of(rows: Sequence[Row], model: str) -> list[str]:
    """`.loc` lines for rows; `model`: a line whose indentation and end they take."""
    indentation = model[: len(model) - len(model.lstrip())] or "\t"
    end = "\r\n" if model.endswith("\r\n") else "\n"
    lines = []
    for row in rows:
        option = f" discriminator {row.discriminator}" if row.discriminator else ""
        lines.append(f"{indentation}.loc {row.file} {row.line} {row.column} is_stmt {int(row.is_stmt)}{option}{end}")
    return lines


def with_is_stmt(line: str, is_stmt: bool) -> str:
    """A `.loc` line with its value of `is_stmt` written out, before a comment."""
    code, mark, comment = line.partition("#")
    text = code.rstrip()
    return f"{text} is_stmt {int(is_stmt)}{code[len(text) :]}{mark}{comment}"
