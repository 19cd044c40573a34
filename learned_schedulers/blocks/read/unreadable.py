"""The one error of all readers: a file, or a part of it, that cannot be used."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from learned_schedulers.files import printable


class Unreadable(ValueError):
    """A file, or a part of it, cannot be used; `reason` says why (and where), `remedy` what to do about it."""

    def __init__(self, reason: str, remedy: str) -> None:
        self.reason, self.remedy = printable(reason), remedy
        super().__init__(f"{self.reason}; {remedy}")

    def __reduce__(self) -> tuple[type[Unreadable], tuple[str, str]]:
        """For its way from one process to another."""
        return type(self), (self.reason, self.remedy)


@contextmanager
def naming(file: Path) -> Iterator[None]:
    """The error of a file that cannot be used names it: Unreadable becomes a ValueError that begins with its path."""
    try:
        yield
    except Unreadable as error:
        raise ValueError(f"{file}: {error}") from error
