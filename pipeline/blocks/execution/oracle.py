"""What every executor takes and gives: pieces of code, start states, and how each run compares with the first piece's.

An executor is a context manager with one method, `execute`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, Self

from pipeline.blocks.execution.states import State


class OracleError(RuntimeError):
    """The oracle cannot be used at all here; the message says why and what to do."""


@dataclass(frozen=True)
class Task:
    """Pieces of code that lie behind one another from `address` on, and the states to run each of them from.

    Piece i starts at address + i * layout.slot_bytes(longest); its operands must be encoded for that place.
    """

    address: int
    pieces: list[bytes]
    states: list[State]
    segments: bool = False  # the code uses FS or GS
    undefined: int = 0  # flags that may differ: those left undefined at the end
    constants: frozenset[int] = frozenset()  # absolute addresses in the code, as far as they show
    registers: bool = False  # report them at the end of every run
    seconds: float = 10.0


@dataclass(frozen=True)
class Fault:
    """What ended a run."""

    reason: str
    offset: int  # of the instruction in its piece; -1 where not known


@dataclass(frozen=True)
class Run:
    """The runs from one state: of the first piece and, where it came to its end, of the others."""

    fault: Fault | None
    codes: tuple[int, ...] = ()  # per further piece: layout.EQUAL, UNDEFINED_FLAGS, DIFFERENT, FAULTED
    registers: tuple[tuple[int, ...], ...] = ()  # where asked for: 16 and the flags, per piece that did not fault


@dataclass(frozen=True)
class Execution:
    """What an executor found: one Run per state, or the reason why all is lost."""

    runs: list[Run]
    lost: str = ""
    different: int = -1  # the first piece that differs, and in what, for people
    difference: str = ""


@dataclass(frozen=True)
class TimedTask:
    """Pieces of code that time themselves (timed_code.py), each made for `address`.

    They are timed from the first of `states` from which all come to their end; the first `compared` of them must leave
    equal registers.
    """

    address: int
    pieces: list[bytes]
    compared: int
    states: list[State]
    trials: int
    seed: int  # of the sequence of the pieces in each trial
    segments: bool = False
    constants: frozenset[int] = frozenset()
    seconds: float = 10.0


@dataclass(frozen=True)
class Ticks:
    """What TimedTask found: ticks of the time-stamp counter per trial and piece, or the reason why there are none."""

    ticks: list[list[int]]
    pages: int = 0  # that the code touches
    fault: Fault | None = None  # where one ended every attempt: that of the first attempt
    piece: int = 0  # that it was in
    lost: str = ""


class Executor(Protocol):
    def execute(self, task: Task) -> Execution: ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...
