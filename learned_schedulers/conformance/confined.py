"""Checks in a process of their own: a stranger's method that crashes or hangs ends that process, and is reported.

The process runs one check after the other, and writes a line for each; after a crash or a hang another process goes on
with the checks that are left.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from pydantic import TypeAdapter, ValidationError

from learned_schedulers.conformance.failures import Failure

MODULE = "learned_schedulers.conformance"
STARTING = "starting"  # what comes before the first check: imports


class Outcome(NamedTuple):
    """One check of one method."""

    check: str
    failures: list[Failure]


_LINE = TypeAdapter(Outcome)


def outcomes(name: str, keys: dict[str, Any], checks: Sequence[str], seconds: float) -> Iterator[Outcome]:
    """The outcome of each check in turn. keys: settings of the method; seconds: that a check may take."""
    left = list(checks)
    while left:
        command = [sys.executable, "-m", MODULE, name, json.dumps(keys), *left]
        folders = os.pathsep.join(filter(None, [os.getcwd(), os.environ.get("PYTHONPATH")]))
        environment = os.environ | {"PYTHONPATH": folders}
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as child:
            lines = _lines(child)
            started = False
            while left:
                try:
                    line = lines.get(timeout=seconds)
                except queue.Empty:
                    child.kill()
                    yield _ended(left, started, f"it took longer than {seconds:g} s, and was ended; look for a loop")
                    break
                if line is None:
                    yield _ended(left, started, f"{_exit(child.wait())}; its messages are above")
                    break
                if line.strip() == STARTING:
                    started = True
                    continue
                try:
                    yield _LINE.validate_json(line)
                    left.pop(0)
                except ValidationError:
                    continue  # a line that the method wrote
            child.kill()
        if not started:
            return  # it would not start again either


def _ended(left: list[str], started: bool, message: str) -> Outcome:
    """The outcome of the check that ended the process."""
    return Outcome(left.pop(0) if started else STARTING, [Failure("the process", message)])


def _exit(status: int) -> str:
    return f"it crashed with signal {-status}" if status < 0 else f"the process ended with exit code {status}"


def _lines(child: subprocess.Popen[str]) -> queue.Queue[str | None]:
    """Lines of the child as they come, then None."""
    lines: queue.Queue[str | None] = queue.Queue()

    def read() -> None:
        assert child.stdout is not None
        for line in child.stdout:
            lines.put(line)
        lines.put(None)

    threading.Thread(target=read, daemon=True).start()
    return lines
