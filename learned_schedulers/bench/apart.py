"""A method in a process of its own, with limits: it gets tasks and gives schedules, and the judge is not there."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property
from threading import Lock
from typing import Any, NamedTuple, Self, overload

from learned_schedulers.bench.confinement import MEMORY, close_memory
from learned_schedulers.bench.tasks import (
    LENGTHS,
    Answer,
    Content,
    Fault,
    Introduction,
    ProjectTask,
    Received,
    Task,
    nothing_more,
)
from learned_schedulers.files import printable
from learned_schedulers.graphs.methods import Proposals
from learned_schedulers.projects.methods import Schedules

MODULE = "learned_schedulers.bench"
_START = 300.0  # seconds until a process has imported its method
_PRINTED = 1 << 20  # bytes that a process may print
_PIECE = 1 << 20  # bytes of a pipe, too, so that few turns carry an answer
_GRACE = 1.0  # seconds in which a process that has closed its pipe ends
_FORGED = "its process wrote something else than its answer into the pipe of answers"


class Allowance(NamedTuple):
    """What a process may take."""

    seconds: float = 600.0  # for each call, of the wall
    memory: int = MEMORY  # bytes


class Apart:
    """A method whose process starts when it is first asked for something, and again after it was ended.

    The process is ended when the block of `with` ends.
    """

    def __init__(self, name: str, settings: dict[str, Any], allowance: Allowance) -> None:
        self._command = [sys.executable, "-m", MODULE, name, json.dumps(settings), str(allowance.memory)]
        self._seconds, self._closed = allowance.seconds, False
        self._process: subprocess.Popen[bytes] | None = None
        self._busy = Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._closed = True
        if process := self._process:
            process.kill()
        with self._busy:  # another thread may still wait for its answer
            self._end()

    @cached_property
    def introduction(self) -> Introduction:
        """What the method says of itself. Raises ValueError if it cannot be made."""
        try:
            return self._start()
        except Fault as fault:
            raise ValueError(f"{self._command[3]}: {fault}") from fault

    @overload
    def prepared(self, task: Task) -> Callable[[], Proposals]: ...
    @overload
    def prepared(self, task: ProjectTask) -> Callable[[], Schedules]: ...
    def prepared(self, task: Task | ProjectTask) -> Callable[[], Proposals | Schedules]:
        """The call of the method, whose process has read the task. Raises Fault: what it raised, or how it ended."""
        number = os.urandom(8).hex()  # so that nothing is answered before it was asked
        self._ask(task.message(number), nothing_more(), number)

        def call() -> Proposals | Schedules:
            received: Received[Any] = task.received()
            return self._ask(b"".ljust(LENGTHS, b"\0"), received, number)

        return call

    def _ask(self, request: bytes, received: Received[Content], number: str) -> Content:
        with self._busy:
            if self._process is None:
                self._start()
            answer, content = self._exchange(request, received, self._seconds)
            if answer.number != number:
                self._end()
                raise Fault(_FORGED)
        if answer.fault:
            raise Fault(printable(answer.fault))
        return content

    def _start(self) -> Introduction:
        close_memory()
        folders = os.pathsep.join(filter(None, [os.getcwd(), os.environ.get("PYTHONPATH")]))
        self._process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            pipesize=_PIECE,
            env=os.environ | {"PYTHONPATH": folders},
            start_new_session=True,  # so that an interrupt is of this process alone
        )
        self._printable = _PRINTED
        answer, _ = self._exchange(b"", nothing_more(), _START)
        if answer.introduction is None:
            self._end()
            raise ValueError(printable(answer.fault))
        return answer.introduction.model_copy(update={"name": self._command[3]})

    def _exchange(self, request: bytes, received: Received[Content], seconds: float) -> tuple[Answer, Content]:
        """Send the request, and receive an answer. The process is ended if it gives none in time."""
        assert self._process and self._process.stdin and self._process.stdout and self._process.stderr
        pipes = self._process.stdin, self._process.stdout, self._process.stderr
        tasks, answers, printed = (pipe.fileno() for pipe in pipes)
        poller, left, deadline = select.poll(), memoryview(request), time.monotonic() + seconds
        for pipe, event in ((tasks, select.POLLOUT), (answers, select.POLLIN), (printed, select.POLLIN)):
            os.set_blocking(pipe, False)
            poller.register(pipe, event)
        try:
            while (rest := deadline - time.monotonic()) > 0:
                for pipe, _ in poller.poll(1000 * rest):
                    if pipe == tasks and left:
                        left = left[os.write(tasks, left[:_PIECE]) :]
                    elif pipe == tasks:
                        poller.unregister(tasks)
                    elif part := os.read(pipe, _PIECE):
                        if pipe == printed:
                            self._print(part)
                        elif received.add(part):
                            return received.answer()
                    elif pipe == answers:
                        raise BrokenPipeError
                    else:
                        poller.unregister(printed)
            raise Fault(f"it took longer than {seconds:g} s, and was ended; look for a loop")
        except BrokenPipeError:
            ending = self._end()
        except ValueError:
            ending = _FORGED
        except Fault as fault:
            ending = str(fault)
        self._end()
        if self._closed:  # by another thread, because the comparison was interrupted
            raise KeyboardInterrupt
        raise Fault(ending)

    def _print(self, part: bytes) -> None:
        """Show what the method prints, up to a length."""
        sys.stderr.write(part[: self._printable].decode(errors="replace"))
        self._printable -= min(len(part), self._printable)

    def _end(self) -> str:
        """End the process; how it ended, if it did so of itself."""
        process, self._process = self._process, None
        if process is None:
            return ""
        assert process.stdin and process.stdout and process.stderr
        with suppress(subprocess.TimeoutExpired):
            process.wait(_GRACE)
        process.kill()
        status = process.wait()
        with suppress(OSError):
            self._print(os.read(process.stderr.fileno(), _PIECE))
        for pipe in (process.stdin, process.stdout, process.stderr):
            pipe.close()
        return f"its process crashed with signal {-status}" if status < 0 else f"its process ended with code {status}"
