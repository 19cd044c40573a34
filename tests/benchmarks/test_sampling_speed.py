"""Published numbers of drawing follow from the times; a method that proposes too little has no result."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks import sampling_speed
from pipeline.config.graph_methods import graph_entry
from pipeline.graphs.schedulers import make


def test_rows_are_the_median_round_and_the_compilation() -> None:
    rows = sampling_speed.rows_of("sampling_speed", {("layered", 50): np.array([1.0, 4.0, 2.0])}, 9.0)
    assert [row["metric"] for row in rows] == ["seconds_per_1000_schedules", "compile_seconds"]
    assert (rows[0]["value"], rows[0]["low"], rows[0]["high"]) == (2.0, 1.0, 4.0)
    assert (rows[0]["set"], rows[0]["lengths"], rows[1]["value"]) == ("layered", "50", 9.0)


def test_every_graph_is_timed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling_speed, "SIZES", (5, 20))
    method = make(graph_entry("gflownet"), {"weights": sampling_speed.untrained(tmp_path)})
    durations = sampling_speed.measured(method, 2, seed=0, schedules=3)
    assert set(durations) == {(family, n) for family in sampling_speed.FAMILIES for n in (5, 20)}
    assert all(len(of_graph) == 2 and (of_graph > 0).all() for of_graph in durations.values())


def test_a_graph_that_is_too_large_is_no_result(tmp_path: Path) -> None:
    weights = sampling_speed.untrained(tmp_path)
    method = make(graph_entry("gflownet", most_operations=10), {"weights": weights})
    with pytest.raises(ValueError, match="at most 10"):
        sampling_speed.seconds(method, sampling_speed.problems(0)["layered", 50], 2, 0)
