"""The console command is timed as it is typed: start-up told apart, on so many cores, the first run not counted."""

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
        assert [str(word) for word in words[1:3]] == ["order", "--blocks"]
        runs.append((len(Path(str(words[3])).read_text().split()), len(os.sched_getaffinity(0))))

    monkeypatch.setattr(subprocess, "run", run)
    whole, start_up = imitator_speed.timed(["90", "4889d8", "4889f1"], runs=2, cores=1)
    assert runs == [(3, 1), (1, 1), (3, 1), (1, 1), (3, 1)]
    assert (whole > 0).all() and (start_up > 0).all() and len(whole) == len(start_up) == 2
    assert os.sched_getaffinity(0) == before
