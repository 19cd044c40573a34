"""The console command is timed as it is typed: start-up apart, on that many cores, the first run not counted."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from benchmarks import imitator_speed


def test_start_up_is_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    before, runs = os.sched_getaffinity(0), []

    def run(words: list[object], **_: Any) -> None:
        assert [str(word) for word in words[1:5]] == ["-m", "pipeline.command.main", "order", "--blocks"]
        n = len(Path(str(words[5])).read_text().split())
        runs.append((n, len(os.sched_getaffinity(0))))
        Path(str(words[7])).write_text("line\n1\n3\n3\n")

    monkeypatch.setattr(subprocess, "run", run)
    whole, start_up, lost = imitator_speed.timed(["90", "4889d8", "4889f1"], runs=2, cores=1)
    assert runs == [(3, 1), (1, 1), (3, 1), (1, 1), (3, 1)]
    assert (whole > 0).all() and (start_up > 0).all() and len(whole) == len(start_up) == 2
    assert os.sched_getaffinity(0) == before
    assert lost == 2  # the second has no row, the third has two
