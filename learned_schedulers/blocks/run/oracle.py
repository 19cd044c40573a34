"""Inputs and outputs of all executors: pieces of code, start states, and comparisons with the runs of the first piece.

An executor is a context manager with one method, `execute`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, Self

from learned_schedulers.blocks.run.states import State


class OracleError(RuntimeError):
    """The oracle cannot be used on this machine; the message says why and what to do."""


@dataclass(frozen=True)
class Task:
    """Pieces of code, one after the other from `address` on, and the states from which each of them runs.

    Piece i starts at address + i * layout.slot_bytes(longest); its operands must be encoded for that address.
    """

    address: int
    pieces: list[bytes]
    states: list[State]
    segments: bool = False  # the code uses FS or GS
    undefined: int = 0  # flags that may differ, because they are undefined at the end
    constants: frozenset[int] = frozenset()  # constants in the code that may be absolute addresses
    registers: bool = False  # report the registers at the end of every run
    seconds: float = 10.0


@dataclass(frozen=True)
class Fault:
    """The fault that ended a run."""

    reason: str
    offset: int  # of the instruction in its piece; -1 if unknown


@dataclass(frozen=True)
class Run:
    """The runs from one state: of the first piece and, if it reached its end, of the other pieces."""

    fault: Fault | None
    codes: tuple[int, ...] = ()  # per further piece: layout.EQUAL, UNDEFINED_FLAGS, DIFFERENT, FAULTED
    registers: tuple[tuple[int, ...], ...] = ()  # if requested: 16 and the flags, per piece that did not fault


@dataclass(frozen=True)
class Execution:
    """The result of a Task: one Run per state, or the reason why there is none."""

    runs: list[Run]
    lost: str = ""  # the reason if there are no runs
    different: int = -1  # the first piece that differs; the next field describes the difference
    difference: str = ""


class Executor(Protocol):
    def execute(self, task: Task) -> Execution: ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...
