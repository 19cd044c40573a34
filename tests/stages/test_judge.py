"""Without llvm-mca, what it would say is left out with a message, and the pipeline goes on."""

from __future__ import annotations

from pathlib import Path

import pytest

from learned_schedulers.blocks.processors import llvm_mca
from pipeline.lab import tables
from pipeline.lab.shared_tables import LATENCY
from pipeline.lab.stages import judge
from pipeline.processors.stages import machine_instructions
from pipeline.processors.tables import MACHINE_INSTRUCTIONS

SETTINGS = '{"cpu": "atom", "iterations": 1}'


def test_without_llvm_mca_tables_are_empty_and_say_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(llvm_mca, "find", lambda: None)
    unread, cycles, machine = tmp_path / "unread", tmp_path / "cycles", tmp_path / "machine"
    judge.main("atom", SETTINGS, [unread], [unread], cycles, [unread])
    assert tables.read(LATENCY, cycles).empty
    machine_instructions.main("atom", SETTINGS, unread, machine)
    assert tables.read(MACHINE_INSTRUCTIONS, machine).empty
    messages = capsys.readouterr().err
    assert messages.count("apt-get install llvm-19") == 2 and "judge atom" in messages
