"""Ratios to peers, differences of diversity, distances, effects of the temperature: known answers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from learned_schedulers.method_settings import MethodSettings, entry
from pipeline.lab.config.intervals import Intervals
from pipeline.lab.evaluation import GraphInputs
from pipeline.policies.numbers import evaluate

INTERVALS = Intervals(bootstrap_samples=50, confidence=0.95)
GRAPH_IDS, FAMILIES = ["g", "h", "i"], ["f", "f", "e"]
GRAPHS = pd.DataFrame({"graph_set": "s", "graph_id": GRAPH_IDS, "family": FAMILIES})
CANDIDATES = pd.DataFrame(
    {"graph_set": "s", "family": FAMILIES, "variant": "drawn", "extent": "whole", "counts": [True, True, True]}
)
DISTANCES = pd.DataFrame(
    columns=["graph_set", "graph_id", "method", "seed", "kept_by", "start_distance", "placed_start_distance"]
)
Costs = Sequence[Sequence[float]]  # of each graph, the kept schedules; none where there is no schedule


def judged(method: str, costs: Costs, diversity: float | Sequence[float] = 0.0, **columns: Any) -> list[dict[str, Any]]:
    """The work is 8 s in all graphs."""
    plain = {
        "graph_set": "s", "target": "proxy", "seed": 0, "kept_by": "best", "status": "ok", "message": "",
        "evaluations": np.array([1]), "best_seconds": np.array([8.0]), "work": 8.0,
        "exact": False, "proven": False, "bound": 1.0, "method": method,
    }  # fmt: skip
    each = zip(GRAPH_IDS, costs, np.broadcast_to(diversity, 3), strict=True)
    return [
        plain
        | {"graph_id": graph_id, "seconds": np.array(cost, float), "proxy_seconds": np.array(cost, float)}
        | {"diversity": float(different)}
        | columns
        for graph_id, cost, different in each
    ]


LISTED = judged("list_scheduling", [[4], [4], [4]])


def evaluated(
    rows: list[dict[str, Any]],
    peers: Sequence[str] = (),
    methods: dict[str, MethodSettings] | None = None,
    distances: pd.DataFrame = DISTANCES,
    **further: pd.DataFrame,
) -> pd.DataFrame:
    frames = {"graphs": GRAPHS, "graph_candidates": CANDIDATES, "schedule_distances": distances, **further}
    frames["makespans"] = pd.DataFrame([*LISTED, *rows])
    settings = json.dumps({name: entry.model_dump() for name, entry in (methods or {}).items()})
    return evaluate(GraphInputs("e", INTERVALS, frames, peers, methods=settings)).results


def chosen(results: pd.DataFrame, **columns: str) -> pd.DataFrame:
    return results[(results[list(columns)] == pd.Series(columns)).all(axis=1)]


def only(results: pd.DataFrame, **columns: str) -> dict[str, Any]:
    plain = {"target": "proxy", "decoder": "best", "seed": "all"}
    (row,) = chosen(results, **plain | columns).to_dict("records")
    return {str(name): value for name, value in row.items()}


def test_ratios_to_a_peer_by_hand() -> None:
    """The best kept schedule counts; a graph without a schedule of either method does not."""
    rows = [*judged("ours", [[3, 1], [4, 2], [2, 2]]), *judged("peer", [[2, 5], [4, 4], []])]
    row = only(evaluated(rows, ["peer"]), method="ours", metric="makespan", baseline="peer")
    assert row["value"] == pytest.approx(0.5) and row["n"] == 2  # 1/2 and 2/4
    assert row["comparison"] == row["unit"] == "ratio" and row["judge"] == "simulator" and row["set"] == "s"
    assert row["low"] == row["high"] == pytest.approx(0.5) and row["interval_of"] == "families"


def test_seeds_are_paired_and_a_method_without_is_compared_with_each() -> None:
    ours = [*judged("ours", [[1], [1], [1]]), *judged("ours", [[4], [4], [4]], seed=1)]
    peer = [*judged("peer", [[2], [2], [2]]), *judged("peer", [[2], [2], [8]], seed=1)]
    fixed = judged("fixed", [[2], [2], [2]])
    results = evaluated([*ours, *peer, *fixed], ["peer", "fixed"])
    row = only(results, method="ours", metric="makespan", baseline="peer")
    assert row["value"] == pytest.approx(np.exp(np.mean(np.log([[1 / 2] * 3, [4 / 2, 4 / 2, 4 / 8]]))))
    assert row["interval_of"] == "families and seeds" and row["low"] < row["value"] < row["high"]
    assert only(results, method="ours", metric="makespan", baseline="fixed")["value"] == pytest.approx(1.0)
    of_fixed = only(results, method="fixed", metric="makespan", baseline="peer")
    assert of_fixed["value"] == pytest.approx((2 / 8) ** (1 / 6)) and of_fixed["interval_of"] == "families and seeds"


def test_differences_of_diversity_by_hand() -> None:
    """There is no difference to a peer with one schedule, or on another target than the proxy."""
    several: Costs = [[2, 2], [2, 2], [2, 2]]
    ours, peer = judged("ours", several, [0.9, 0.7, 0.5]), judged("peer", several, [0.4, 0.4, 0.1])
    on_target = [row | {"target": "noisy"} for row in [*LISTED, *ours, *peer]]
    results = evaluated([*ours, *peer, *judged("one", [[2], [2], [2]]), *on_target], ["peer", "one"])
    differences = chosen(results, comparison="difference")
    assert set(differences["metric"]) == {"diversity"} and set(differences["baseline"]) == {"peer"}
    assert set(differences["target"]) == {"proxy"}
    assert only(differences, method="ours")["value"] == pytest.approx(np.mean([0.5, 0.3, 0.4]))
    assert only(differences, method="one")["value"] == pytest.approx(-0.3)
    ratio = only(results, method="ours", metric="makespan", baseline="peer", target="noisy")
    assert ratio["value"] == pytest.approx(1.0)


def test_the_rule_spread_is_compared_with_the_same_rule_where_the_peer_has_it() -> None:
    several: Costs = [[2, 3], [2, 3], [2, 3]]
    rows = [
        *judged("ours", several),
        *judged("ours", [[3, 3]] * 3, kept_by="spread"),
        *judged("peer", [[1, 1]] * 3),
        *judged("peer", [[4, 4]] * 3, kept_by="spread"),
        *judged("best_only", [[6]] * 3),
        *judged("one", [[5]] * 3),
        *judged("one", [[5]] * 3, kept_by="spread"),
    ]
    results = evaluated(rows, ["peer", "best_only"])
    ratios = chosen(results, comparison="ratio", metric="makespan")
    assert only(ratios, method="ours", baseline="peer")["value"] == pytest.approx(2.0)
    assert only(ratios, method="ours", baseline="peer", decoder="spread")["value"] == pytest.approx(3 / 4)
    assert only(ratios, method="ours", baseline="best_only", decoder="spread")["value"] == pytest.approx(3 / 6)
    assert not len(chosen(ratios, method="one", decoder="spread"))  # nothing to choose from


SECONDS = st.lists(st.lists(st.floats(0.5, 20), min_size=2, max_size=2), min_size=3, max_size=3)


@pytest.mark.slow
@given(st.lists(SECONDS, min_size=2, max_size=2), st.lists(SECONDS, min_size=2, max_size=2))
@settings(max_examples=10)
def test_peers_are_symmetrical(first: list[Costs], second: list[Costs]) -> None:
    rows: list[dict[str, Any]] = []
    for method, costs in (("a", first), ("b", second)):
        for seed, of_seed in enumerate(costs):
            rows += judged(method, of_seed, [cost[1] / 20 for cost in of_seed], seed=seed)
    results = evaluated(rows, ["a", "b"])
    a, b = (only(results, method=m, baseline=p, metric="makespan") for m, p in (("a", "b"), ("b", "a")))
    assert np.log(a["value"]) == pytest.approx(-np.log(b["value"]), abs=1e-9)
    assert np.log([a["low"], a["high"]]) == pytest.approx(-np.log([b["high"], b["low"]]), abs=1e-9)
    a, b = (only(results, method=m, baseline=p, metric="diversity") for m, p in (("a", "b"), ("b", "a")))
    assert a["value"] == pytest.approx(-b["value"], abs=1e-12)
    assert not len(results[results["method"] == results["baseline"]].query("method != 'list_scheduling'"))


def test_distances_of_start_times_by_hand() -> None:
    """Means over graphs, then over seeds; a graph without a row does not enter."""
    plain = {"graph_set": "s", "method": "ours", "kept_by": "best"}
    distances = [(0, "g", 1.0, 3.0), (0, "h", 2.0, 5.0), (0, "i", 6.0, 7.0), (1, "h", 4.0, 8.0), (1, "i", 6.0, 8.0)]
    frame = pd.DataFrame(
        plain | {"seed": seed, "graph_id": graph_id, "start_distance": when, "placed_start_distance": placed}
        for seed, graph_id, when, placed in distances
    )
    elsewhere = frame.assign(graph_set="other", start_distance=99.0)
    results = evaluated(judged("ours", [[2]] * 3), distances=pd.concat([frame, elsewhere]))
    row = only(results, method="ours", metric="start_distance")
    assert row["value"] == pytest.approx(np.mean([3.0, 5.0])) and row["unit"] == "mean run times" and row["n"] == 3
    assert row["interval_of"] == "families and seeds"
    assert only(results, method="ours", metric="placed_start_distance")["value"] == pytest.approx(6.5)


SIGMAS = {"cold": 0.001, "mild": 0.1, "hot": 9.0}


def by_sigma(metric: str, methods: dict[str, MethodSettings], *rows: list[dict[str, Any]]) -> pd.DataFrame:
    return chosen(evaluated(list(chain(*rows)), methods=methods), metric="rank_correlation", baseline=metric)


def test_what_the_temperature_changes_by_hand() -> None:
    """A higher temperature gives more diversity on g and h, less on i; the speedup is the mean of kept schedules."""
    methods = {name: entry("graph", "gflownet", sigma=sigma) for name, sigma in reversed(SIGMAS.items())}
    rows = [
        judged("cold", [[2, 2]] * 3, [0.1, 0.0, 0.9]),
        judged("mild", [[1, 4]] * 3, [0.2, 0.1, 0.8]),  # speedups 8 and 2
        judged("hot", [[3, 3]] * 3, [0.3, 0.9, 0.1]),
    ]
    (row,) = by_sigma("diversity", methods, *rows).to_dict("records")
    assert row["method"] == "gflownet" and row["value"] == pytest.approx(1 / 3) and row["n"] == 3
    assert row["target"] == "proxy" and row["unit"] == "1"
    (row,) = by_sigma("kept_speedup", methods, *rows).to_dict("records")
    assert row["value"] == pytest.approx(-0.5)  # 4, 5, 8/3: ranks 2, 3, 1


def test_temperatures_are_compared_within_a_network_that_sees_the_proxy_with_at_least_three() -> None:
    several = [judged(name, [[2, 2 + k]] * 3, 0.1 * k) for k, name in enumerate([*SIGMAS, "other", "told"], 1)]
    same = {name: entry("graph", "gflownet", sigma=sigma) for name, sigma in SIGMAS.items()}
    more = {
        "other": entry("graph", "gflownet", sigma=0.01, model="another"),
        "told": entry("graph", "gflownet", sigma=20.0, told="drawn"),
        "not_scheduled": entry("graph", "gflownet", sigma=30.0),
        "list_scheduling": entry("graph", "list_scheduling"),
    }
    (row,) = by_sigma("diversity", same | more, *several).to_dict("records")
    assert row["method"] == "gflownet" and row["value"] == pytest.approx(1.0)
    del same["mild"]
    assert not len(by_sigma("diversity", same | more, *several))


@pytest.mark.filterwarnings("ignore::scipy.stats.ConstantInputWarning")
def test_seeds_that_all_temperatures_have_count() -> None:
    methods = {name: entry("graph", "gflownet", sigma=sigma) for name, sigma in SIGMAS.items()}
    up = [judged(name, [[2, 3]] * 3, 0.1 * k, seed=0) for k, name in enumerate(SIGMAS)]
    down = [judged(name, [[2, 3]] * 3, 1 - 0.1 * k, seed=1) for k, name in enumerate(SIGMAS)]
    (row,) = by_sigma("diversity", methods, *up, *down).to_dict("records")
    assert row["value"] == pytest.approx(0.0, abs=1e-12) and row["interval_of"] == "families and seeds"
    (row,) = by_sigma("diversity", methods, *up, *down[:2]).to_dict("records")
    assert row["value"] == pytest.approx(1.0) and row["interval_of"] == "families"


@pytest.mark.filterwarnings("ignore::scipy.stats.ConstantInputWarning")
def test_graphs_on_which_nothing_changes_or_a_schedule_is_missing_do_not_enter() -> None:
    methods = {name: entry("graph", "gflownet", sigma=sigma) for name, sigma in SIGMAS.items()}
    rows = [
        judged(name, [[2, 3], [2, 3], [] if name == "hot" else [2, 3]], [0.1 * k, 0.5, 0.1 * k])
        for k, name in enumerate(SIGMAS)
    ]
    (row,) = by_sigma("diversity", methods, *rows).to_dict("records")
    assert row["value"] == pytest.approx(1.0) and row["n"] == 1


def test_what_the_last_doubling_of_a_training_changed_by_hand() -> None:
    """Sixteen measurements: numbers 7 and 8 are the eighth before the half, numbers 15 and 16 the last eighth."""
    steps = {"step": [50 * k for k in range(1, 17)], "split": "development"}
    of_step = {400: 2.0, 350: 1.0, 800: 2.0, 750: 1.5}  # before: the mean of 1 and 2; last: that of 1.5 and 2
    seeds = [
        pd.DataFrame(
            steps | {"model": "robust", "seed": "0", "mean": [of_step.get(step, 9.0) for step in steps["step"]]}
        ),
        pd.DataFrame(steps | {"model": "robust", "seed": "1", "mean": 0.75}),
    ]
    training = seeds[0].assign(split="training", mean=100.0)
    results = evaluated([], policy_history=pd.concat([*seeds, training]))
    (row,) = chosen(results, metric="curve_change").to_dict("records")
    assert (row["set"], row["method"], row["n"]) == ("development", "robust", 2)
    assert row["value"] == pytest.approx((1.75 / 1.5 - 1) / 2)
    assert (row["low"], row["high"]) == pytest.approx((0.0, 1.75 / 1.5 - 1))
    assert chosen(evaluated([]), metric="curve_change").empty
