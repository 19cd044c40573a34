"""What a check finds wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeVar

from learned_schedulers.outside_methods import described

Candidate = TypeVar("Candidate")


class Failure(NamedTuple):
    """One fault of a method."""

    problem: str  # on which it shows
    message: str  # what is wrong, and the remedy

    def __str__(self) -> str:
        return f"{self.problem}: {self.message}"


class Raised(Exception):
    """A method raised an error on a problem; `__cause__` is that error."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem

    @property
    def error(self) -> str:
        """What was raised, and where."""
        assert self.__cause__ is not None
        return described(self.__cause__)


def failures_of(check: Callable[[Candidate], Iterator[Failure]], candidate: Candidate) -> Iterator[Failure]:
    """What a check finds wrong; an error that the method raises is the last failure."""
    try:
        yield from check(candidate)
    except Raised as raised:
        yield Failure(raised.problem, f"it raised {raised.error}; see its traceback, and mend it")
