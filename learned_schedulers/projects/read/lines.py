"""The lines of a text file of instances, their numbers in it, and the one error of all readers of instances."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from learned_schedulers.files import content, printable

_LARGEST = 2**26  # bytes of a file
_DIGITS = 18  # of an integer; more would not fit into 64 bits


class Unreadable(ValueError):
    """A file of instances cannot be used; the message names file and line, and says what to do about it."""

    def __init__(self, path: Path, line: int | None, reason: str, remedy: str) -> None:
        place = f"{path}" if line is None else f"{path}, line {line}"
        super().__init__(printable(f"{place}: {reason}; {remedy}"))


class Line(NamedTuple):
    """A line of a file."""

    path: Path
    number: int  # from 1 on
    text: str

    def unreadable(self, reason: str, remedy: str) -> Unreadable:
        """The error that names this line."""
        return Unreadable(self.path, self.number, reason, remedy)

    def integers(self) -> list[int]:
        """All integers of the line. Raises Unreadable for a word that is none."""
        words = self.text.split()
        for word in words:
            if not _is_integer(word):
                raise self.unreadable(f"{word[:40]!r} is no integer of at most {_DIGITS} digits", "correct it")
        return [int(word) for word in words]

    def is_integers(self, count: int) -> bool:
        """Whether the line has this many integers, and nothing else."""
        words = self.text.split()
        return len(words) == count and all(map(_is_integer, words))


def _is_integer(word: str) -> bool:
    digits = word.removeprefix("-")
    return word.isascii() and digits.isdecimal() and len(digits) <= _DIGITS


def lines_of(path: Path) -> list[Line]:
    """The lines of a file that are not blank. Raises ValueError for a file that cannot be read, or is too large."""
    text = content(path, _LARGEST).decode("utf-8-sig", "replace")
    return [Line(path, number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
