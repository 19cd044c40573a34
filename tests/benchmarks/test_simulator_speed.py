"""Published numbers of the simulator's speed follow from the times; a wrong makespan ends the comparison."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import simulator_speed


def test_the_exponent_of_times_that_grow_with_the_square_is_two() -> None:
    rows = simulator_speed.speed_rows("speed", {n: np.array([0.9, 1.0, 1.2]) * 1e9 / n**2 for n in (10, 100, 1000)})
    (exponent,) = [row for row in rows if row["metric"] == "growth_exponent"]
    assert exponent["value"] == pytest.approx(2.0) and exponent["lengths"] == "10-1000"
    first = rows[0]
    assert (first["value"], first["low"], first["high"]) == pytest.approx((1e7, 9e6, 1.2e7))


def test_graphs_that_are_timed_grow_in_edges_as_in_operations() -> None:
    rng = np.random.default_rng(0)
    edges = {n: len(simulator_speed.near(n, rng).children.targets) for n in (1000, 10_000)}
    assert edges[10_000] / edges[1000] == pytest.approx(10, rel=0.02) and 2.7 < edges[1000] / 1000 <= 3


def test_a_wrong_makespan_is_no_rounding(monkeypatch: pytest.MonkeyPatch) -> None:
    assert simulator_speed.largest_difference(np.random.default_rng(0), 200) < simulator_speed.TOLERANCE
    right = simulator_speed.makespans
    monkeypatch.setattr(simulator_speed, "makespans", lambda *schedules: right(*schedules) * (1 + 1e-9))
    with pytest.raises(ValueError, match="placement"):
        simulator_speed.largest_difference(np.random.default_rng(0), 200)
