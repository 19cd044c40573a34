"""Candidates in separate processes, timed in turns on one core, so that a disturbance affects all of them."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from learned_schedulers.graphs.compilers.inductor.candidate import Compilable, serve
from learned_schedulers.graphs.compilers.inductor.levelled_choices import Levels

_WARMED = "learned_schedulers.graphs.compilers.inductor.warmed"
_LEAST = 2e-3  # seconds of a measurement
_END_SECONDS = 10.0  # time for a process to end by itself


class Candidate:
    """A model that is compiled in a process; as a context manager, it ends the process.

    Candidates that are opened one after the other compile at the same time.
    """

    def __init__(self, model: Compilable, levels: Levels | None, cache: Path, core: int | None = None) -> None:
        """core: the processor core on which it is timed."""
        cache.mkdir(parents=True, exist_ok=True)
        self._cache, self._core = cache, core
        self._connection, child_connection = _context().Pipe()
        self._process = _context().Process(target=serve, args=(model, levels, cache, child_connection), daemon=True)
        self._process.start()
        child_connection.close()

    @cached_property
    def answer(self) -> dict[str, Any]:
        """The outcome of compiling; it waits for the end. Raises RuntimeError if the model cannot be compiled."""
        outcome: dict[str, Any] = self._read()
        if self._core is not None:
            os.sched_setaffinity(self._process.pid or 0, {self._core})
        return outcome

    def seconds(self, calls: int) -> float:
        """Mean seconds of a call, over `calls` calls."""
        assert self.answer
        self._connection.send(calls)
        return float(self._read())

    def _read(self) -> Any:
        try:
            return self._connection.recv()
        except EOFError:
            self._process.join()
            log = self._cache / "log.txt"
            raise RuntimeError(f"a candidate ended without an answer; its messages are in {log}") from None

    def __enter__(self) -> Candidate:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process.is_alive() and kind is None:
            self._connection.send(None)
            self._process.join(_END_SECONDS)
        self._process.kill()
        self._process.join()
        self._connection.close()


def timed_in_turns(candidates: Sequence[Candidate], rounds: int) -> np.ndarray:
    """Seconds per call of each candidate in each round, (candidates, rounds), with equal numbers of calls."""
    calls = max(1, int(_LEAST / max(candidates[0].seconds(3), 1e-7)))
    for candidate in candidates:
        candidate.seconds(calls)
    return np.array([[candidate.seconds(calls) for candidate in candidates] for _ in range(rounds)]).T


def over_default(seconds: Mapping[str, np.ndarray], default: str) -> dict[str, float]:
    """For each candidate, the median over rounds of its time relative to the default's time in the same round."""
    return {name: float(np.median(values / seconds[default])) for name, values in seconds.items()}


def _context() -> multiprocessing.context.ForkServerContext:
    """Context whose processes are forks of one that has imported torch, which takes seconds, and compiled nothing."""
    os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"  # so torch starts no pool of compiling processes
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([serve.__module__, "torch._inductor.compile_fx", _WARMED])
    return context
