"""Numbers of executed schedules, from timings with known answers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from pipeline.execution.numbers import BASELINES, evaluate, points, reported
from pipeline.lab.config.intervals import Intervals
from pipeline.lab.evaluation import GraphInputs
from tests.analysis.timed import simulated, timings

INTERVALS = Intervals(bootstrap_samples=200, confidence=0.95)
RATES = {
    "operation_seconds": 1e-6,
    "flops_per_second": 1e10,
    "swept_bytes_per_second": 1e9,
    "written_bytes_per_second": 1e9,
    "copied_bytes_per_second": 1e9,
    "median_relative_error": 0.1,
}
LISTED, RANDOM = np.array([2.0]), np.array([8.0, 4.0, 1.0])  # seconds of schedules
COSTS = {"proxy": 1.0, "latency": -1.0}


def frames() -> dict[str, pd.DataFrame]:
    """Two graphs in two pairs of processes, by list scheduling and random; the second graph takes 3 times as long."""
    names, scale = ("a", "b"), {"a": 1.0, "b": 3.0}
    schedules = {"list_scheduling": LISTED, "random_valid": RANDOM, "one_device": np.array([4.0])}
    timed, costs = [], []
    for name in names:
        for method, seconds in schedules.items():
            timed.append(timings(np.tile(scale[name] * seconds, (2, 2, 1)), name, method))
            costs += [simulated(target, sign * seconds, name, method) for target, sign in COSTS.items()]
    described = {
        "name": [f"graph_{name}" for name in names],
        "family": ["x", "y"],
        "seconds": [np.full(5, 0.8), np.full(7, 12 / 7)],
    }
    graphs = pd.DataFrame({"graph_id": names, **described})
    of_set = {
        "graphs": graphs,
        "graph_timings": pd.concat(timed),
        "simulated_timings": pd.concat(costs),
        "machine_rates": pd.DataFrame([RATES | {"process": process} for process in (0, 1)]),
    }
    return {name: frame.assign(graph_set="s") for name, frame in of_set.items()}


def test_what_is_measured_twice_alike_is_reported_as_it_is() -> None:
    measured = evaluate(GraphInputs("e", INTERVALS, frames())).results
    makespans = measured[measured.metric == "makespan"].set_index(["method", "baseline"])
    assert makespans.value["random_valid", "list_scheduling"] == pytest.approx(0.5)
    assert makespans.value["list_scheduling", "one_device"] == pytest.approx(0.5)
    assert makespans.value["list_scheduling", "list_scheduling"] == pytest.approx(1.0)
    assert set(makespans.target) == set(makespans.judge) == {"this_machine"} and (makespans.n == 2).all()
    correlations = measured[measured.metric == "rank_correlation"].set_index("target").value
    assert correlations.round(12).to_dict() == {"proxy": 1.0, "latency": -1.0, "this_machine": 1.0}
    single_rows = measured[measured.metric.isin(["operations", "executed_schedules", "undisturbed_share"])].set_index(
        "metric"
    )
    assert single_rows.value.to_dict() == {"operations": 6.0, "executed_schedules": 4.0, "undisturbed_share": 0.5}
    assert single_rows.low["operations"] == 5 and single_rows.high["operations"] == 7


def test_a_lucky_measurement_is_no_gain() -> None:
    """The pair of processes that chooses a schedule does not report it."""
    lucky = np.array([[1.0, 0.5], [1.0, 2.0]])  # schedules, pairs: the first is better but for one measurement
    assert reported(lucky) == pytest.approx(np.sqrt(0.5 * 1.0))
    assert reported(np.array([[3.0, 5.0, 4.0]])) == pytest.approx(np.cbrt(4.5 * 3.5 * 4.0))


def test_each_graph_has_its_own_correlations() -> None:
    parts = evaluate(GraphInputs("e", INTERVALS, frames())).parts
    assert set(parts["by"]) == {"graph"} and set(parts["part"]) == {"graph_a", "graph_b"}
    assert len(parts) == 2 * 3


def test_points_of_the_graph_with_most_schedules() -> None:
    tables = frames()
    rows = tables["graph_timings"]
    few = rows[(rows["graph_id"] == "b") | (rows["method"] == "list_scheduling")]
    measured = points(tables["graphs"], few, tables["simulated_timings"])
    assert set(measured["graph"]) == {"graph_b"} and len(measured) == 2 * 4
    fastest = measured[(measured["method"] == "random_valid") & (measured["target"] == "proxy")].max(numeric_only=True)
    assert fastest["speedup"] == pytest.approx(4.0) and fastest["simulated_speedup"] == pytest.approx(12.0)


def test_without_a_baseline_there_is_nothing_to_compare_with() -> None:
    tables = frames()
    timed = tables["graph_timings"]
    tables["graph_timings"] = timed[~timed["method"].isin(BASELINES)]
    with pytest.raises(ValueError, match="e: no schedule of list_scheduling, one_device was executed"):
        evaluate(GraphInputs("e", INTERVALS, tables))
