"""A method that crashes, hangs, exits or writes is reported, and the checks behind it still run."""

from __future__ import annotations

from pathlib import Path

import pytest

from learned_schedulers.conformance.confined import STARTING, outcomes

pytestmark = pytest.mark.slow

SOURCE = """
import os, sys, time
import numpy as np
from learned_schedulers.graphs.methods import Proposals

class Base:
    def __init__(self, settings):
        pass
    def propose(self, problem, rng, budget):
        n = len(problem)
        if n == 48 + 2 and len(problem.children.targets) > 90:  # the wide one
            self.trouble()
        return Proposals(np.arange(n, dtype=np.int32)[None], np.arange(n, dtype=np.int32)[None] % problem.devices)

class Crashes(Base):
    def trouble(self):
        os.abort()

class Hangs(Base):
    def trouble(self):
        time.sleep(1000)

class Writes(Base):
    def trouble(self):
        print('["budgets_are_kept", []]')
        sys.stdout.flush()

class Raises(Base):
    def trouble(self):
        raise RuntimeError("no idea")
"""
CHECKS = ["budgets_are_kept", "memory_is_kept_or_refused"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "troubled.py").write_text(SOURCE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("name", "message"), [("Crashes", "it crashed with signal 6"), ("Raises", "it raised RuntimeError: no idea")]
)
def test_what_ends_a_check_is_told(folder: Path, name: str, message: str) -> None:
    first, second = outcomes(f"troubled:{name}", {}, CHECKS, 120)
    assert first.check == CHECKS[0] and message in first.failures[0].message
    assert second.check == CHECKS[1] and not second.failures


def test_a_hang_is_ended(folder: Path) -> None:
    first, second = outcomes("troubled:Hangs", {}, CHECKS, 30)
    assert "it took longer than 30 s" in first.failures[0].message and not second.failures


def test_what_a_method_writes_is_no_outcome(folder: Path) -> None:
    assert [(outcome.check, outcome.failures) for outcome in outcomes("troubled:Writes", {}, CHECKS, 120)] == [
        (check, []) for check in CHECKS
    ]


def test_a_method_that_cannot_start_is_told_once(folder: Path) -> None:
    [outcome] = outcomes("troubled:Missing", {}, CHECKS, 120)
    assert outcome.check == STARTING and "exit code 1" in outcome.failures[0].message
