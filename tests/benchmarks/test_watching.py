"""What the benchmark of ingest measures: a command with all processes below it."""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks.watching import run, watched

HOLDING = "held = b'x' * 200_000_000; import time; time.sleep(0.6)"
TWO = f"import subprocess, sys; code = [sys.executable, '-c', {HOLDING!r}]; p = [subprocess.Popen(code) for _ in '12']"


def test_memory_and_time_are_those_of_all_processes(tmp_path: Path) -> None:
    cost = watched(lambda: run([sys.executable, "-c", f"{TWO}; [each.wait() for each in p]"], tmp_path))
    assert cost.seconds > 0.6 and 0 < cost.processor_seconds < cost.seconds * 4
    assert 400e6 < cost.peak_bytes < 600e6
