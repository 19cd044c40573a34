"""Damaged instances are read and scheduled, or refused with file, place and remedy; nothing crashes, nothing hangs.

`DAMAGED=5000 pytest tests/projects/test_mutated.py` tries as many files.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np

from learned_schedulers.projects import methods
from learned_schedulers.projects.method_settings import project_entry
from learned_schedulers.projects.read.best_known import read_best_known
from learned_schedulers.projects.read.reading import read
from tests import damaged
from tests.projects import mutated


def outcome(path: Path) -> str:
    """`read`, or `refused` by an error that names the file and a remedy. Raises whatever else comes: it is a fault."""
    try:
        if path.read_bytes().startswith(b"instance"):
            read_best_known(path)
            return "read"
        project = read(path)
    except ValueError as error:
        message = str(error)
        if not message.startswith(f"{path}") or "; " not in message or "\n" in message:
            raise AssertionError(f"the message lacks file or remedy, or has several lines: {message}") from error
        return "refused, with line" if message.startswith(f"{path}, line ") else "refused"
    answer = methods.make(project_entry("priority_rules")).schedule(project, np.random.default_rng(0), methods.Budget())
    assert methods.best(project, answer).makespan >= project.bound
    return "read"


def test_damaged_instances_are_read_or_refused(tmp_path: Path) -> None:
    outcomes: Counter[str] = Counter()
    path = tmp_path / "instance.txt"
    with damaged.limited_memory():
        for content in mutated.inputs(5, damaged.count(300)):
            path.write_bytes(content)
            with damaged.watched():
                outcomes[outcome(path)] += 1
    assert outcomes["read"] > 30 and outcomes["refused, with line"] > 100, outcomes


def test_sound_files_are_read(tmp_path: Path) -> None:
    for number, content in enumerate(mutated.sound()):
        path = tmp_path / f"{number}.txt"
        path.write_bytes(content)
        assert outcome(path) == "read"
