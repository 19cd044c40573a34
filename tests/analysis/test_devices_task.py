"""Ratios, speedups, proofs and curves from makespans: known answers on two graphs of two families."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from pipeline.lab.config.intervals import Intervals
from pipeline.lab.evaluation import GraphInputs
from pipeline.lab.makespans import evaluate

INTERVALS = Intervals(bootstrap_samples=50, confidence=0.95)
GRAPHS = pd.DataFrame({"graph_set": "s", "graph_id": ["g", "h"], "family": ["f", "e"]})
CANDIDATES = pd.DataFrame(
    {"graph_set": "s", "family": ["f", "f", "e"], "variant": "drawn", "extent": "whole", "counts": [True, False, True]}
)


def makespan(graph_id: str, method: str, seconds: list[float], **columns: Any) -> dict[str, Any]:
    """The work is 8 s on four devices, so the bound is 2 s."""
    plain = {
        "graph_set": "s", "target": "proxy", "seed": 0, "kept_by": "best", "status": "ok", "message": "",
        "proxy_seconds": np.array(seconds), "diversity": 0.5, "evaluations": np.array([1, 3]),
        "best_seconds": np.array([8.0, 4.0]), "work": 8.0, "exact": False, "proven": False, "bound": 2.0,
    }  # fmt: skip
    return plain | {"graph_id": graph_id, "method": method, "seconds": np.array(seconds)} | columns


ROWS = [
    makespan("g", "list_scheduling", [4.0]),
    makespan("h", "list_scheduling", [4.0]),
    makespan("g", "search", [4.0, 2.0]),
    makespan("h", "search", [8.0, 4.0]),
    makespan("g", "search", [4.0, 4.0], seed=1),
    makespan("h", "search", [4.0, 4.0], seed=1),
    makespan("g", "solver", [2.0], exact=True, proven=True),
    makespan("h", "solver", [], status="unsupported", message="too large"),
]


def evaluated(rows: list[dict[str, Any]]) -> tuple[pd.DataFrame, pd.DataFrame]:
    frames = {"graphs": GRAPHS, "graph_candidates": CANDIDATES, "makespans": pd.DataFrame(rows)}
    evaluation = evaluate(GraphInputs("devices", INTERVALS, frames, strengths={"noisy": 0.5}))
    return evaluation.results, evaluation.parts


def value(results: pd.DataFrame, **columns: str) -> tuple[float, int]:
    key = {"set": "s", "target": "proxy", "decoder": "best", "seed": "all", "baseline": "none"} | columns
    (row,) = results[(results[list(key)] == pd.Series(key)).all(axis=1)].to_dict("records")
    return row["value"], row["n"]


def test_known_answers() -> None:
    """The search halves one of two graphs with one of two seeds; the solver has no schedule of the other graph."""
    results, _ = evaluated(ROWS)
    ratio, n = value(results, method="search", metric="makespan", baseline="list_scheduling")
    assert ratio == pytest.approx(0.5**0.25) and n == 2
    assert value(results, method="list_scheduling", metric="makespan", baseline="best")[0] == pytest.approx(2**0.5)
    assert value(results, method="list_scheduling", metric="makespan", baseline="bound")[0] == pytest.approx(2.0)
    assert value(results, method="list_scheduling", metric="makespan", baseline="optimum") == (pytest.approx(2.0), 1)
    assert value(results, method="search", metric="speedup")[0] == pytest.approx(np.mean([4.0, 2.0, 2.0, 2.0]))
    mean_speedup = np.mean([np.mean([2.0, 4.0]), np.mean([1.0, 2.0]), 2.0, 2.0])
    assert value(results, method="search", metric="kept_speedup")[0] == pytest.approx(mean_speedup)
    assert value(results, method="solver", metric="scheduled_share") == (0.5, 2)
    assert value(results, method="solver", metric="proven_optimal_share") == (1.0, 1)
    assert not len(results[(results["metric"] == "proven_optimal_share") & (results["method"] != "solver")])
    assert set(results["interval_of"]) <= {"families", "families and seeds", "none"}


def test_noise_has_no_ratio_to_a_bound_and_the_rule_spread_is_of_methods_with_a_choice() -> None:
    noisy = [row | {"target": "noisy"} for row in ROWS]
    results, _ = evaluated([*noisy, *(row | {"kept_by": "spread"} for row in noisy)])
    assert "bound" not in set(results["baseline"])
    assert set(results.loc[results["decoder"] == "spread", "method"]) == {"search"}


def test_parts_count_graphs_and_follow_the_curve() -> None:
    _, parts = evaluated(ROWS)
    counted = parts[parts["by"] == "kind"].set_index(["part", "metric"])["value"]
    assert counted["f drawn whole", "graphs_looked_at"] == 2 and counted["f drawn whole", "graphs_counted"] == 1
    curve = parts[(parts["by"] == "evaluations") & (parts["method"] == "search")].set_index("part")["value"]
    assert curve.to_dict() == {"1": pytest.approx(2.0), "3": pytest.approx(1.0)}
    family = parts[(parts["by"] == "family") & (parts["method"] == "search")].set_index("part")["value"]
    assert family.to_dict() == {"e": pytest.approx(1.0), "f": pytest.approx(0.5**0.5)}
    assert parts.loc[parts["metric"] == "strength", "value"].tolist() == [0.5]


def test_without_the_baseline_nothing_is_said() -> None:
    with pytest.raises(ValueError, match="devices: s has no schedules of list_scheduling"):
        evaluated([row for row in ROWS if row["method"] != "list_scheduling"])


def test_where_list_scheduling_fits_no_memory_ratios_to_it_are_of_the_other_graphs() -> None:
    unfit = makespan("h", "list_scheduling", [], status="no schedule fits")
    results, parts = evaluated([unfit, *(row for row in ROWS if row is not ROWS[1])])
    ratio, n = value(results, method="search", metric="makespan", baseline="list_scheduling")
    assert ratio == pytest.approx(0.5**0.5) and n == 1
    assert value(results, method="list_scheduling", metric="scheduled_share") == (0.5, 2)
    assert parts.loc[parts["by"] == "evaluations", "n"].max() == 2  # of one graph, two seeds
