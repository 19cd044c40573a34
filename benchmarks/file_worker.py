"""A process that says what becomes of files, with a limit of time; another takes its place after a hang or a death."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple

LIMIT_SECONDS = 10.0  # per file
_START_SECONDS = 300  # imports, and compilation of what is not in the cache


class Outcome(NamedTuple):
    """What became of a file."""

    name: str  # ordered | read, no choice | no blocks | refused | fault
    detail: str  # of a fault or a refusal
    seconds: float


Work = Callable[[Path], tuple[str, str]]


class Worker:
    """Reads files in another process."""

    def __init__(self, work: Callable[[], Work], first: Path) -> None:
        """work: makes, in the other process, what answers a path with name and detail. first: a path to begin with."""
        self._work, self._first = work, first
        self._start()

    def _start(self) -> None:
        self._connection, other = multiprocessing.Pipe()
        arguments = (other, self._work)
        self._process = multiprocessing.get_context("spawn").Process(target=_answer, args=arguments, daemon=True)
        self._process.start()
        other.close()
        self._connection.send(self._first)
        if not self._connection.poll(_START_SECONDS):
            raise TimeoutError(f"{self._first} was not read within {_START_SECONDS} s")
        self._connection.recv()

    def outcome(self, path: Path, limit: float = LIMIT_SECONDS) -> Outcome:
        """What becomes of a file; an exception, a death and a hang are faults."""
        began = time.perf_counter()
        self._connection.send(path)
        try:
            if self._connection.poll(limit):
                name, detail = self._connection.recv()
                return Outcome(name, detail, time.perf_counter() - began)
            detail = f"hang: more than {limit:.0f} s"
        except (EOFError, ConnectionError):
            self._process.join()
            detail = f"death: exit code {self._process.exitcode}"
        outcome = Outcome("fault", detail, time.perf_counter() - began)
        self.stop()
        self._start()
        return outcome

    def stop(self) -> None:
        """End the process, and those that it has started."""
        try:
            os.killpg(self._process.pid or 0, signal.SIGKILL)
        except ProcessLookupError:
            self._process.kill()
        self._process.join()
        self._connection.close()


def _answer(connection: Connection, work: Callable[[], Work]) -> None:
    os.setpgid(0, 0)
    answer = work()
    while True:
        path = connection.recv()
        try:
            connection.send(answer(path))
        except Exception as error:
            text = " ".join(str(error).split())
            connection.send(("fault", f"{type(error).__name__}: {text[:300]}"))
