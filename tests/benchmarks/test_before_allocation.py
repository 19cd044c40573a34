"""Rows of measurements say what was measured."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmarks.before_allocation.numbers import read, rows
from benchmarks.before_allocation.shares import shares, slopes
from pipeline.lab.rows import results

PLACE = {"experiment": "before_allocation", "set": "test", "target": "this_machine"}


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """Two series of three functions: one that spills and gains, one that spills and loses, one that fits."""
    ratios = {"a": (0.8, 0.9), "b": (1.1, 1.2), "c": (1.0, 1.0)}
    for name, (learned, evolved) in ratios.items():
        counts = {f"sample {k}": [100 + k * k, k, k] for k in range(5)} | {"learned_evolution 10": [100, 0, 0]}
        facts = {
            "instructions": 50,
            "seconds": {"learned 1": 1e-4},
            "default": [100, 0 if name == "c" else 5, 0],
            "counts": counts,
            "confirmed": {"learned_evolution 10": learned < 1},
        }
        (tmp_path / f"{name}.json").write_text(json.dumps(facts))
        forms = {"llvm unscheduled": 1.0, "learned_evolution 10": learned, "evolution 10": evolved, "control": 1.001}
        forms |= {f"sample {k}": 1 + k / 10 for k in range(5)}
        for series in (1, 2):
            with (tmp_path / f"series_{series}.jsonl").open("a") as file:
                line = {"function": name, "ratios": {form: [ratio] * 3 for form, ratio in forms.items()}}
                file.write(json.dumps(line) + "\n")
    return tmp_path


def test_rows(work: Path) -> None:
    table = pd.DataFrame({"name": ["a", "b", "c"], "project": ["p", "q", "q"], "kind": ["k"] * 3})
    frame = results(rows(PLACE, read(work), table))
    over_all = frame[frame.seed == "all"].set_index(["set", "method", "decoder", "metric", "baseline"])["value"]
    searched = over_all["test", "learned_evolution", "candidates_10", "cycles"]
    assert searched["llvm default"] == pytest.approx(np.sqrt(0.8 * 1.1))
    assert searched["evolution"] == pytest.approx(np.sqrt(0.8 / 0.9 * 1.1 / 1.2))
    fallen_back = over_all["test", "learned_evolution_or_default", "candidates_10", "cycles", "llvm default"]
    assert fallen_back == pytest.approx(np.sqrt(0.8 * 1.001))
    assert over_all["test", "chosen", "none", "slower", "control"] == pytest.approx(0.0)
    assert over_all["test_fitting", "learned_evolution", "candidates_10", "cycles", "llvm default"] == 1.0
    correlations = frame[(frame.metric == "rank_correlation") & (frame.set == "test")].set_index("judge")["value"]
    of_time = frame[(frame.metric == "microseconds_per_instruction") & (frame.set == "test")]
    assert of_time.value.tolist() == pytest.approx([2.0])
    explained = frame[(frame.metric == "cycles_explained") & (frame.set == "test")].set_index("judge")["value"]
    assert explained.prod() == pytest.approx(np.sqrt(0.8 * 1.1)) and explained["spills_and_reloads"] < 1
    assert correlations["cost"] == pytest.approx(1.0)
    assert set(frame[frame.metric == "cycles"].seed) == {"1", "2", "all"}


def test_shares_of_what_an_order_saves() -> None:
    """Cycles that are made of the counts are explained by them, whatever a function's level is."""
    rng = np.random.default_rng(2)
    truth = np.array([0.5, 0.2])
    counts = rng.random((4, 9, 2))
    slope = slopes([(of, of @ truth + level) for level, of in enumerate(counts)])
    assert slope == pytest.approx(truth)
    parts = shares(counts[:, 0], counts[:, 1], (counts[:, 0] - counts[:, 1]) @ truth + 0.01, slope)
    assert parts[:, 2] == pytest.approx(0.01) and parts[:, 0] == pytest.approx((counts[:, 0] - counts[:, 1])[:, 0] / 2)
