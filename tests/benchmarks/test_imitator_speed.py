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
        assert [str(word) for word in words[1:4]] == ["-m", "pipeline.command.main", "order"]
        assert [str(word) for word in words[5::2]] == ["-o", "--by", "--for"] and words[8] == "imitator"
        n = len(Path(str(words[4])).read_text().split())
        runs.append((n, len(os.sched_getaffinity(0))))
        Path(str(words[6])).write_text("90\n4889\n")

    monkeypatch.setattr(subprocess, "run", run)
    whole, start_up, lost = imitator_speed.timed(["90", "4889d8", "4889f1"], runs=2, cores=1)
    assert runs == [(3, 1), (1, 1), (3, 1), (1, 1), (3, 1)]
    assert (whole > 0).all() and (start_up > 0).all() and len(whole) == len(start_up) == 2
    assert os.sched_getaffinity(0) == before
    assert lost == 2  # a byte of the second is missing, and so is the third


def test_a_line_too_many_is_counted(tmp_path: Path) -> None:
    for text, lost in (("90\n4889f1\n", 0), ("90\n4889f1\n90\n", 1), ("", 2)):
        (tmp_path / "out.csv").write_text(text)
        assert imitator_speed._lost(tmp_path, ["90", "4889d8"]) == lost
