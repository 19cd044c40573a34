"""Candidates in processes of their own, timed in turns on one core, so that what disturbs one disturbs all."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from pipeline.graphs.compilers.inductor.policy import Levels

_MODULE = "pipeline.graphs.compilers.inductor.candidate"
_LEAST = 2e-3  # seconds of a measurement


class Candidate:
    """One compiled model in a process; a context manager that ends it. `answer` says how compiling went."""

    def __init__(self, model: str, levels: Levels | None, cache: Path, core: int | None = None) -> None:
        """core: the processor core that it is bound to. Raises RuntimeError where it cannot be compiled."""
        cache.mkdir(parents=True, exist_ok=True)
        self._log = cache / "log.txt"
        with self._log.open("w") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", _MODULE, model, json.dumps(levels), str(cache)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env=os.environ | {"OMP_NUM_THREADS": "1"},
            )
        if core is not None:
            os.sched_setaffinity(self._process.pid, {core})
        self.answer: dict[str, Any] = self._read()

    def seconds(self, calls: int) -> float:
        """Of one call, the mean of so many."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{calls}\n")
        self._process.stdin.flush()
        return float(self._read())

    def _read(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self._process.wait()
            raise RuntimeError(f"a candidate ended without an answer; its messages: {self._log}")
        return json.loads(line)

    def __enter__(self) -> Candidate:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.communicate("\n")


def timed_in_turns(candidates: Sequence[Candidate], rounds: int) -> np.ndarray:
    """Seconds of a call of each candidate in each round, (candidates, rounds); all have the same number of calls."""
    calls = max(1, int(_LEAST / max(candidates[0].seconds(3), 1e-7)))
    for candidate in candidates:
        candidate.seconds(calls)
    return np.array([[candidate.seconds(calls) for candidate in candidates] for _ in range(rounds)]).T


def over_default(seconds: Mapping[str, np.ndarray], default: str) -> dict[str, float]:
    """Of each candidate the median over rounds of its time over the default's in the same round."""
    return {name: float(np.median(values / seconds[default])) for name, values in seconds.items()}
