"""Published speeds follow from the times of rounds that take turns; a method that proposes too little has no result."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import speed
from benchmarks.publishing import in_turns, of_rounds
from pipeline.lab.rows import Quantity


def test_rounds_take_turns_and_the_first_is_not_counted() -> None:
    calls: list[str] = []
    seconds = in_turns({name: lambda name=name: calls.append(name) for name in "ab"}, 2)
    assert calls == list("ababab") and {name: times.shape for name, times in seconds.items()} == {"a": (2,), "b": (2,)}
    row = of_rounds({"method": "x"}, Quantity("seconds"), np.array([1.0, 4.0, 2.0]))
    assert (row["value"], row["low"], row["high"], row["n"], row["seed"]) == (2.0, 1.0, 4.0, 3, "all")


def test_the_exponent_of_times_that_grow_with_the_square_is_two() -> None:
    speeds = {n: np.array([0.9, 1.0, 1.2]) * 1e9 / n**2 for n in (10, 100, 1000)}
    assert speed.growth(speeds) == pytest.approx(2.0)


def test_every_way_of_building_schedules_is_compared_with_single_ones() -> None:
    rows = list(speed.environment(1, batch=3, singles=1, operations=5))
    ratios = {(row["target"], row["method"]) for row in rows if row["comparison"] == "ratio"}
    assert len(ratios) == 4 and {method for _, method in ratios} == {"compiled", "compiled_on_two"}
    assert all(row["value"] > 0 and row["lengths"] == "5" for row in rows)
