"""Calls of the console command, and how a case ends other than well.

A call runs in a process that is forked from this one, which has imported what takes long, or as the real command in a
process of its own; both with limits of time and memory. A call ends as documented: with exit code 0, or with exit code
1 and a message that names file and remedy. All else is a crash.
"""

from __future__ import annotations

import os
import re
import resource
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from learned_schedulers.command import entry

COMMAND = Path(sys.executable).with_name("learned-schedulers")
PROCESSOR_SECONDS = 300  # for each process of a call; then it counts as one without an end
SECONDS = 3000.0  # of the clock, for a call: one that waits for ever uses no processor, and a machine may be busy
_MORE_BYTES = 6 << 30  # of addresses, beside what the process has
_REAL = 0.15  # share of the cases that run the real command alone
_TRACEBACK = "Traceback (most recent call last)"


class Finding(Exception):
    """A case ends other than well; its text says what is seen."""


class Crash(Finding):
    """A traceback, a signal, an end by the limits, or an exit code that is not documented."""


class Difference(Finding):
    """Something wrong without a message: another output, an illegal order or schedule, a file that is half written."""


class Refused(Finding):
    """The command refuses a file, and names the file and a remedy."""


class Unhelpful(Finding):
    """The command refuses a file by a message that lacks the file or the remedy, or is not a printable line."""


class Discarded(Finding):
    """There is nothing to try: a generator or compiler fails, or the program itself does not run."""


class Ended(NamedTuple):
    """How a call ended."""

    code: int  # exit code; negative for a signal
    out: str
    err: str


class Tools:
    """The command, called in a folder."""

    def __init__(self, folder: Path, cache: Path, is_real: bool) -> None:
        """cache: folder of what the command keeps between calls; is_real: whether all calls run the real command."""
        self.folder, self._cache, self._is_real, self._calls = folder, cache, is_real, 0

    @classmethod
    def drawn(cls, folder: Path, cache: Path, share: float) -> Tools:
        """share: a drawn number from 0 to 1."""
        return cls(folder, cache, share < _REAL)

    def call(self, *words: object, real: bool = False, threads: int = 1, seconds: float = SECONDS) -> Ended:
        """Call the command with these words. Raises Crash for an end that is not documented.

        real: run the real command, whatever the case does; threads: of numerical libraries.
        """
        self._calls += 1
        texts, streams = (
            [str(word) for word in words],
            [self.folder / f"call{self._calls}.{name}" for name in ("out", "err")],
        )
        names = {"OMP_NUM_THREADS": threads, "NUMBA_NUM_THREADS": threads, "MKL_NUM_THREADS": threads}
        caches = {"LEARNED_SCHEDULERS_CACHE": self._cache / "cc", "XDG_CACHE_HOME": self._cache}
        environment = os.environ | {name: str(value) for name, value in (names | caches).items()}
        is_forked = not (real or self._is_real or threads > 1)
        code = _waited((_forked if is_forked else _started)(texts, self.folder, streams, environment), seconds)
        ended = Ended(code, *(path.read_text(errors="replace") for path in streams))
        shown = f"{' '.join(texts)}: {ended.err[-1500:]}"
        if code in (-signal.SIGKILL, -signal.SIGXCPU):
            raise Crash(f"no end, or killed ({code}): {shown}")
        if _TRACEBACK in ended.err or _TRACEBACK in ended.out:
            raise Crash(f"traceback: {shown}")
        if code not in (0, 1):
            raise Crash(f"exit code {code}: {shown}")
        return ended

    def answered(self, path: Path, *words: object, output: Path | None = None, **options: float) -> Ended:
        """Call the command for a file, and read an answer. output: the only file that it may write, with exit code 0.

        Raises Refused or Unhelpful if the file is refused, Difference if files lie there that it must not leave, or if
        none lies there.
        """
        before = set(self.folder.iterdir())
        ended = self.call(*words, **options)
        written = {file for file in set(self.folder.iterdir()) - before if not file.name.startswith("call")}
        expected = {output} if output is not None and ended.code == 0 else set()
        if written != expected - before:
            raise Difference(f"exit code {ended.code}, and it left {sorted(file.name for file in written)}: {words}")
        if ended.code:
            raise refusal(path, ended)
        return ended


def refusal(path: Path, ended: Ended) -> Finding:
    """What a call with exit code 1 says of a file."""
    lines = [line for line in (ended.err + ended.out).split("\n") if re.match(r" *error: |.*\bdefect\b", line)]
    if any("defect" in line for line in lines):
        return Difference(f"a defect is reported: {lines}")
    helps = [line for line in lines if path.name in line and "; " in line.split(path.name, 1)[1] and line.isprintable()]
    return Refused(helps[0]) if helps else Unhelpful(f"{lines or ended.err[-500:]}")


def _forked(words: list[str], folder: Path, streams: Sequence[Path], environment: dict[str, str]) -> int:
    """Start a call in a process that is forked from this one; returns its number."""
    process = os.fork()
    if process:
        return process
    code = 70
    try:
        _confine()
        for descriptor, path in enumerate((Path(os.devnull), *streams)):
            opened = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC if descriptor else os.O_RDONLY, 0o644)
            os.dup2(opened, descriptor)
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        sys.stdin, sys.stdout, sys.stderr = (os.fdopen(descriptor, mode) for descriptor, mode in enumerate("rww"))
        sys.argv = ["learned-schedulers", *words]
        code = _code_of_main()
    finally:
        with suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def _code_of_main() -> int:
    try:
        entry.main()
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
        return 70
    return 0


def _started(words: list[str], folder: Path, streams: Sequence[Path], environment: dict[str, str]) -> int:
    """Start the real command; returns its number."""
    with streams[0].open("w") as out, streams[1].open("w") as err:
        return subprocess.Popen(
            [COMMAND, *words], cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
            preexec_fn=_confine,
        ).pid  # fmt: skip


def _confine() -> None:
    """In the process of a call: a session of its own, and limits."""
    os.setsid()
    spent = round(time.process_time())
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + _MORE_BYTES, used + _MORE_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (spent + PROCESSOR_SECONDS, spent + PROCESSOR_SECONDS + 10))


def _waited(process: int, seconds: float) -> int:
    """The exit code of a process, which is killed with its session when the time is over."""
    until = time.monotonic() + seconds
    while True:
        ended, status = os.waitpid(process, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > until:
            with suppress(ProcessLookupError):
                os.killpg(process, signal.SIGKILL)
            until += seconds
        time.sleep(0.005)
