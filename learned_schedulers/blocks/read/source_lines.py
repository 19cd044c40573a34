"""`.loc` lines: each instruction keeps its source line when instructions move.

The assembler writes a row of the line table for each `.loc`, and a row counts until the next one in its section. So a
`.loc` travels with the instruction behind it, and an instruction without one gets a copy where another row would be in
force. Copies start no statement (`is_stmt 0`), so that a debugger stops at a line as often as before.

`is_stmt` stays in force until a `.loc` changes it. Where the new sequence of `.loc` lines would change its value, it is
written out.
"""

from __future__ import annotations

from typing import NamedTuple


class Row(NamedTuple):
    """A row of the line table."""

    file: int
    line: int
    column: int
    discriminator: int


class Location(NamedTuple):
    """A `.loc` line: its row, with the value of `is_stmt` in force."""

    row: Row
    is_stmt: bool
    explicit: bool  # it names the value of `is_stmt` itself


def parse(operands: str, is_stmt: bool) -> Location | None:
    """The operands of `.loc`, where `is_stmt` is in force; None for operands that are not understood."""
    words = operands.split()
    numbers: list[int] = []
    while words and words[0].isascii() and words[0].isdigit():
        numbers.append(int(words.pop(0)))
    if len(numbers) not in (2, 3):
        return None
    discriminator, explicit = 0, False
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
        elif option != "view":
            return None
    file, line, column = (*numbers, 0)[:3]
    return Location(Row(file, line, column, discriminator), is_stmt, explicit)


def copy(row: Row, model: str) -> str:
    """A `.loc` line for a row, at which no statement starts; `model`: a line whose indentation and end it takes."""
    indentation = model[: len(model) - len(model.lstrip())] or "\t"
    option = f" discriminator {row.discriminator}" if row.discriminator else ""
    end = "\r\n" if model.endswith("\r\n") else "\n"
    return f"{indentation}.loc {row.file} {row.line} {row.column} is_stmt 0{option}{end}"


def with_is_stmt(line: str, is_stmt: bool) -> str:
    """A `.loc` line with its value of `is_stmt` written out, before a comment."""
    code, mark, comment = line.partition("#")
    text = code.rstrip()
    return f"{text} is_stmt {int(is_stmt)}{code[len(text) :]}{mark}{comment}"
