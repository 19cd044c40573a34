"""A sample of the two thousand cases of `benchmarks/mutated_graphs.py`."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from benchmarks.mutated_graphs import outcome, whole_models
from tests.graphs.corpus import mutated


def test_damaged_models_are_read_or_named(tmp_path: Path) -> None:
    outcomes: Counter[tuple[str, str]] = Counter()
    for number, (suffix, _, content) in enumerate(mutated.inputs(5, 60, whole_models())):
        path = tmp_path / f"model_{number}{suffix}"
        path.write_bytes(content)
        outcomes[suffix, outcome(path)] += 1
    assert outcomes[".json", "error"] > 10 and outcomes[".json", "read"] > 0


def test_a_whole_file_is_read_and_another_exception_is_a_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert outcome(mutated.WORKLOADS / "bert_l-3_inference.json") == "read"
    monkeypatch.setattr("benchmarks.mutated_graphs.read_file", lambda *_: {}["nothing"])
    with pytest.raises(KeyError):
        outcome(tmp_path / "any.json")
