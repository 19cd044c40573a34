"""A process that reads files may die or hang: both are faults, and the next file is read."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.file_worker import Work, Worker

FIRST = Path("first")


def _answers() -> Work:
    return lambda path: ("ordered", path.name)


def _dies() -> Work:
    return lambda path: ("ordered", "") if path == FIRST else os._exit(7)


def _sleeps() -> Work:
    return lambda path: ("ordered", "") if path == FIRST else (time.sleep(60), ("ordered", ""))[1]


def _raises() -> Work:
    return lambda path: ("ordered", str(1 // (path == FIRST)))


@pytest.mark.parametrize(
    ("work", "name", "detail"),
    [
        (_answers, "ordered", "a"),
        (_dies, "fault", "death: exit code 7"),
        (_sleeps, "fault", "hang: more than 1 s"),
        (_raises, "fault", "ZeroDivisionError: integer division or modulo by zero"),
    ],
)
def test_the_process_may_die_or_hang(work: Callable[[], Work], name: str, detail: str) -> None:
    worker = Worker(work, FIRST)
    for _ in range(2):  # a new process takes the place of a dead one
        outcome = worker.outcome(Path("a"), 1 if work is _sleeps else 60)
        assert (outcome.name, outcome.detail) == (name, detail) and 0 < outcome.seconds < 60
    worker.stop()
