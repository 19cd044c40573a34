"""What a check finds wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeVar

from learned_schedulers.bench.tasks import Fault
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

    def __str__(self) -> str:
        """What was raised, and where; or what is wrong with the answer, or how its process ended."""
        assert self.__cause__ is not None
        if isinstance(self.__cause__, Fault):
            return str(self.__cause__)
        return f"it raised {described(self.__cause__)}; see its traceback, and mend it"


def failures_of(check: Callable[[Candidate], Iterator[Failure]], candidate: Candidate) -> Iterator[Failure]:
    """What a check finds wrong; an error that the method raises is the last failure."""
    try:
        yield from check(candidate)
    except Raised as raised:
        yield Failure(raised.problem, str(raised))
