"""Damaged models through the console command's reader: a graph that can be scheduled, or an error that names the file.

`DAMAGED=2000 pytest tests/graphs/read/test_mutated.py` tries as many files, two minutes.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from learned_schedulers.graphs.devices.simulator import makespans
from learned_schedulers.graphs.methods.rules.listing import by_critical_path
from learned_schedulers.graphs.plans.model_files import read_graph
from learned_schedulers.graphs.plans.sources import on_devices
from tests import damaged
from tests.trial import damaged_models

_ROUNDING = 1e-9


def outcome(path: Path) -> str:
    """`read`, or `error` for an error that names the file. Raises any other exception, which is a fault."""
    try:
        problem = on_devices(read_graph(path, {}))
    except ValueError as error:
        message = str(error)
        if not (str(path) in message or f"graph {path.stem}" in message) or "\n" in message:
            raise AssertionError(f"the message does not name the file, or not in one line: {message}") from error
        return "error"
    order, placement = by_critical_path(problem)
    seconds = float(makespans(problem, order[None], placement[None])[0])
    assert np.isfinite(seconds) and seconds >= problem.bound * (1 - _ROUNDING), f"{seconds} s, bound {problem.bound}"
    return "read"


def test_damaged_models_are_read_or_named(tmp_path: Path) -> None:
    outcomes: Counter[tuple[str, str]] = Counter()
    with damaged.limited_memory():
        for number, (suffix, _, content) in enumerate(
            damaged_models.inputs(5, damaged.count(60), damaged_models.whole_models())
        ):
            path = tmp_path / f"model_{number}{suffix}"
            path.write_bytes(content)
            with damaged.watched():
                outcomes[suffix, outcome(path)] += 1
            path.unlink()
    assert outcomes[".json", "error"] > 10 and outcomes[".json", "read"] > 0


def test_a_whole_file_is_read_and_another_exception_is_a_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert outcome(damaged_models.WORKLOADS / "bert_l-3_inference.json") == "read"
    monkeypatch.setattr("tests.graphs.read.test_mutated.read_graph", lambda *_: {}["nothing"])
    with pytest.raises(KeyError):
        outcome(tmp_path / "any.json")
