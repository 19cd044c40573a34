"""A user's benchmark: its command, and what of it says how fast the program is.

That is a rate that it prints, as MB/s, where it prints one: such benchmarks run for a fixed time. Otherwise it is the
time that its processes spend on processors.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np

_RATE = re.compile(
    r"(?<![A-Za-z])(?:[kmgt]?i?(?:b|bytes?|bits?|ops?|calls|blocks|frames|flops?|pixels|iter(?:ation)?s?|sign(?:ature)?s?|x)"
    r"(?:/|\s?per[ -])(?:s|sec|second)\b|[kmgt]?i?(?:bps|flops|b/s|fps)\b)",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?:[eE][-+]?\d+)?(?![\w.]*\w)")
_GLUED = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)(?=[A-Za-z])")
_BEHIND = re.compile(r"['\")\]]*\s*[:=]\s*(\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)")
_WORDS = 600  # characters of a failed benchmark's words that an error repeats
# Student's t for two-sided 95% by degrees of freedom; of the last ones the larger value is taken.
_T95 = (np.inf, 12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20, 2.18, 2.16, 2.14, 2.13, 2.12)
SHORTEST = 0.05  # seconds of a run that tells something


class BenchmarkError(ValueError):
    """The benchmark cannot be used; the message says what to do."""


class Run(NamedTuple):
    """One run of a benchmark."""

    time: float  # per work done: seconds, or one over the geometric mean of the rates
    seconds: float  # from its begin to its end
    rates: tuple[float, ...]  # that it printed


class Benchmark(NamedTuple):
    """A command for a shell, and where it is typed."""

    command: str
    work: Path
    rate: str | None = None  # pattern of the user's whose first group is a rate
    by_time: bool = False  # whatever it prints
    at_once: bool = False  # whether two runs that are compared share a processor

    def run(self) -> Run:
        """Run it. Raises BenchmarkError if it fails, or prints no rate where one is wanted."""
        return self.together([("sh", "-c")])[0]

    def together(self, shells: Sequence[Sequence[str]]) -> list[Run]:
        """Run it by several shells at the same time: words before its command. Raises as `run` does."""
        with ExitStack() as stack:
            outputs = [stack.enter_context(tempfile.TemporaryFile("w+", errors="replace")) for _ in shells]
            began = time.monotonic()
            processes = [
                subprocess.Popen(
                    [*shell, self.command], cwd=self.work, stdin=subprocess.DEVNULL, stdout=output,
                    stderr=subprocess.STDOUT,
                )
                for shell, output in zip(shells, outputs, strict=True)
            ]  # fmt: skip
            for process in processes:
                stack.callback(process.wait)
                stack.callback(process.kill)
            return [self._ended(process, output, began) for process, output in zip(processes, outputs, strict=True)]

    def _ended(self, process: subprocess.Popen[bytes], output: IO[str], began: float) -> Run:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.monotonic() - began
        output.seek(0)
        text = output.read()
        if process.returncode:
            raise BenchmarkError(
                f"--bench {self.command!r} ended with exit code {process.returncode}: {text[-_WORDS:]}"
            )
        numbers: tuple[float, ...] = ()
        if not self.by_time:
            numbers = tuple(rates(text) if self.rate is None else _by(self.rate, text))
        used = usage.ru_utime + usage.ru_stime
        return Run(float(np.exp(-np.mean(np.log(numbers)))) if numbers else max(used, 1e-3), seconds, numbers)

    def run_until(self, enough: Callable[[bool], bool], environment: dict[str, str]) -> None:
        """Run it, again and again, until it has done enough; then it is ended with all that it began.

        enough: of whether a run is over. Raises BenchmarkError if it fails before.
        """
        began = time.monotonic()
        while True:
            process = subprocess.Popen(
                ["sh", "-c", self.command], cwd=self.work, env=os.environ | environment, start_new_session=True,
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )  # fmt: skip
            try:
                while process.poll() is None:
                    if enough(False):
                        return
                    time.sleep(0.004 + 0.02 * (time.monotonic() - began))
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()
            if process.returncode:
                raise BenchmarkError(f"--bench {self.command!r} ended with exit code {process.returncode}")
            if enough(True):
                return


def _by(pattern: str, text: str) -> list[float]:
    try:
        numbers = [float(match[1]) for match in re.finditer(pattern, text, re.MULTILINE)]
    except (re.error, IndexError, ValueError, TypeError) as error:
        raise BenchmarkError(f"--rate {pattern!r}: {error}; it needs one group ( ) around a number") from error
    if not numbers or min(numbers) <= 0:
        raise BenchmarkError(
            f"--rate {pattern!r}: the benchmark prints no such number; its last words: {text[-_WORDS:]}"
        )
    return numbers


def rates(text: str) -> list[float]:
    """The rates in what a benchmark printed: numbers before a unit of rate in a line, or in its column below."""
    printed: list[float] = []
    columns: list[tuple[int, int]] = []
    for line in map(_shown, text.replace("\r\n", "\n").expandtabs().split("\n")):
        units = [*_RATE.finditer(line)]
        numbers = [(match.span(), float(match[0])) for match in _NUMBER.finditer(line)]
        numbers += [(match.span(1), float(match[1])) for match in _GLUED.finditer(line)]
        numbers.sort()
        if units:
            behind = [_BEHIND.match(line, unit.end()) for unit in units]
            if any(behind):
                printed += [float(match[1]) for match in behind if match]
                continue
            before = [[value for (_, end), value in numbers if end <= unit.start()] for unit in units]
            before = [values for values in before if values]
            printed += [values[-1] for values in before]
            if not before and not numbers:
                columns = [unit.span() for unit in units]
        elif columns:
            in_column = [
                value for column in columns for (begin, end), value in numbers if begin < column[1] and end > column[0]
            ]
            printed += in_column
            if not line.strip():
                columns = []
    return [rate for rate in printed if rate > 0]


def _shown(line: str) -> str:
    """What a terminal shows of a line: what comes after a carriage return overwrites what is there."""
    shown = ""
    for part in line.split("\r"):
        shown = part + shown[len(part) :]
    return shown


def ratio(first: Sequence[float], second: Sequence[float]) -> tuple[float, float, float]:
    """The geometric mean of second over first, pair by pair, and its 95% interval by Student's t."""
    logs = np.log(np.divide(second, first))
    mean, half = logs.mean(), _T95[min(len(logs) - 1, len(_T95) - 1)] * logs.std(ddof=1) / len(logs) ** 0.5
    low, middle, high = np.exp([mean - half, mean, mean + half]).tolist()
    return middle, low, high
