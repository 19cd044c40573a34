"""Time and memory of work and of all processes that it starts.

Memory is their resident sets added up, pages that they share counted in each; sampled twenty times a second.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import psutil

_SAMPLE_SECONDS = 0.05
_ENVIRONMENT = os.environ | {
    "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    "OMP_NUM_THREADS": "1",  # as pipeline/lab/rules/common.smk
}


class Cost(NamedTuple):
    """Of all processes that were started."""

    seconds: float
    processor_seconds: float  # of processes that have ended
    peak_bytes: int


def run(command: list[str], folder: Path | None = None) -> None:
    """Run a command to its end. Raises RuntimeError with the end of its output if it fails."""
    with tempfile.TemporaryFile("w+") as output:
        streams = {"stdin": subprocess.DEVNULL, "stdout": output, "stderr": subprocess.STDOUT}
        ended = subprocess.run(command, cwd=folder, env=_ENVIRONMENT, **streams)
        if ended.returncode:
            output.seek(0)
            raise RuntimeError(f"{' '.join(command)[:200]} ended with {ended.returncode}:\n{output.read()[-3000:]}")


def watched(work: Callable[[], object]) -> Cost:
    """Do the work, and watch all processes below this one meanwhile, but for those that ran before."""
    root, finished, peak = psutil.Process(), threading.Event(), 0
    earlier_ones = set(root.children(recursive=True))

    def watch() -> None:
        nonlocal peak
        while not finished.wait(_SAMPLE_SECONDS):
            resident = 0
            for process in set(root.children(recursive=True)) - earlier_ones:
                try:
                    resident += process.memory_info().rss
                except psutil.Error:
                    continue  # it has just ended
            peak = max(peak, resident)

    watcher = threading.Thread(target=watch)
    before, start = os.times(), time.perf_counter()
    watcher.start()
    try:
        work()
    finally:
        finished.set()
        watcher.join()
    after = os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return Cost(time.perf_counter() - start, used, peak)
