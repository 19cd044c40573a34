"""Files are read in a process of their own, with limits, so that a hang or a crash does not end the benchmark."""

from __future__ import annotations

import contextlib
import resource
import signal
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Self

from benchmarks.mutated_instances.outcomes import WRONG, Outcome, outcome

SECONDS = 5.0  # of the processor, for a file
MORE_BYTES = 1 << 30  # of memory, beside what the process has once it has read a file of each form
_FIRST_SECONDS = 600.0  # for sound files, before which numba may have to compile
_ASLEEP = 600.0  # of the clock: a reader that waits for something uses no processor

Reading = Callable[[Path], Outcome]


class Watched:
    """Reads files while it is open. warm: sound files that the process reads before the limits begin."""

    def __init__(self, warm: list[Path], seconds: float = SECONDS, reading: Reading = outcome) -> None:
        self._warm, self._seconds, self._reading = warm, seconds, reading

    def __enter__(self) -> Self:
        context = get_context("spawn")
        self._pipe, of_child = context.Pipe()
        arguments = (of_child, self._warm, self._seconds, self._reading)
        self._process = context.Process(target=_serve, args=arguments, daemon=True)
        self._process.start()
        of_child.close()  # so that the end of the process is noticed
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.join()
        self._pipe.close()

    def outcome(self, path: Path) -> Outcome:
        """What comes of a file; wrong if the process ends by it, which is started anew then."""
        answer = None
        with contextlib.suppress(EOFError, ConnectionError):
            self._pipe.send(path)
            answer = self._pipe.recv() if self._pipe.poll(_ASLEEP) else None
        if answer is None:
            self._process.join(1)
            status = self._process.exitcode
            self.__exit__()
            self.__enter__()
            reason = f"took more than {self._seconds:g} s of the processor" if status == -signal.SIGPROF else "ended"
            return Outcome(WRONG, f"the process {reason} ({status})")
        return Outcome(*answer)


def _serve(pipe: Connection, warm: list[Path], seconds: float, reading: Reading) -> None:
    """Answer one path after the other. Where the processor's time is over, SIGPROF ends the process."""
    for path in warm:
        signal.setitimer(signal.ITIMER_PROF, _FIRST_SECONDS)
        reading(path)
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MORE_BYTES, used + MORE_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    while True:
        signal.setitimer(signal.ITIMER_PROF, 0)
        try:
            path = pipe.recv()
        except EOFError:
            return
        signal.setitimer(signal.ITIMER_PROF, seconds)
        answer = reading(path)
        signal.setitimer(signal.ITIMER_PROF, 0)
        pipe.send(tuple(answer))
