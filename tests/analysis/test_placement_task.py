"""Numbers of placed graphs, compared with numbers by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest

from pipeline.lab.config.intervals import Intervals
from pipeline.lab.evaluation import Evaluation, GraphInputs
from pipeline.lab.ratios import RatioBootstrap
from pipeline.placement import numbers

INTERVALS = Intervals(bootstrap_samples=200, confidence=0.95)
GRAPHS = {"a": ("family a", 10.0, False), "b": ("family b", 4.0, True)}  # seconds on one device, whether it fits
SECONDS = {  # method -> seed -> seconds of graphs a, b
    "layers": {0: (8.0, 6.0)},
    "hdp": {0: (6.0, 5.0), 1: (6.5, np.nan)},
    "go": {0: (4.0, 3.0), 1: (5.0, 3.5)},
}


def costs(seconds: dict[str, dict[int, tuple[float, float]]] = SECONDS, bound: float = 3.0) -> pd.DataFrame:
    rows: list[dict[str, Any]] = []
    for method, by_seed in seconds.items():
        for seed, of in by_seed.items():
            for graph, cost in zip(GRAPHS, of, strict=True):
                family, alone, fits = GRAPHS[graph]
                curve = ([1, 10, 40], [2 * cost, 1.005 * cost, cost]) if cost == cost else ([], [])
                rows.append(
                    {
                        "experiment": "e", "graph_set": "s", "graph_id": graph, "graph": f"{graph} forward",
                        "family": family, "operations": 7, "link": "pcie", "method": method, "seed": seed,
                        "status": "ok", "message": "", "seconds": cost, "memory_share": 0.5, "alone": alone,
                        "fits_alone": fits, "bound": bound,
                        "evaluations": np.array(curve[0]), "best_seconds": np.array(curve[1]),
                    }
                )  # fmt: skip
    return pd.DataFrame(rows)


def evaluate(placed: pd.DataFrame, peers: Sequence[str] = (), experts: Sequence[str] = ()) -> Evaluation:
    return numbers.evaluate(GraphInputs("e", INTERVALS, {"placement_costs": placed}, peers, experts))


def number(
    results: pd.DataFrame,
    method: str,
    metric: str,
    baseline: str = "none",
    lengths: str = "all",
    iterations: str = "none",
) -> float:
    chosen = results[
        (results["method"] == method) & (results["metric"] == metric) & (results["baseline"] == baseline)
        & (results["lengths"] == lengths) & (results["target"] == "pcie") & (results["iterations"] == iterations)
    ]  # fmt: skip
    (value,) = chosen["value"]
    return float(value)


RESULTS, PARTS = (lambda evaluation: (evaluation.results, evaluation.parts))(evaluate(costs(), ["hdp"], ["layers"]))


def test_ratios_are_geometric_means_over_graphs_and_seeds() -> None:
    assert number(RESULTS, "go", "makespan", "default") == pytest.approx((0.4 * 0.75 * 0.5 * 0.875) ** (1 / 4))
    # The expert of b is one device, which fits and is faster than its layers; that of a is by layers.
    assert number(RESULTS, "go", "makespan", "expert") == pytest.approx((0.5 * 0.75 * 0.625 * 0.875) ** (1 / 4))
    assert number(RESULTS, "go", "makespan", "best") == pytest.approx((1 * 1 * 1.25 * 3.5 / 3) ** (1 / 4))
    assert number(RESULTS, "go", "makespan", "optimum") == pytest.approx((1 * 3.5 / 3) ** (1 / 2))  # of b alone


def test_a_seed_without_a_schedule_does_not_enter() -> None:
    expected = np.exp((np.log([4 / 6, 3 / 5]).mean() + np.log(5 / 6.5)) / 2)
    assert number(RESULTS, "go", "makespan", "hdp") == pytest.approx(expected)
    assert number(RESULTS, "hdp", "placed_share") == pytest.approx(0.75)


def test_the_share_of_the_head_room_is_that_of_the_sums() -> None:
    winnable = (1 - 4 / 8) + (1 - 3 / 4)
    won = [(1 - 4 / 8) + (1 - 3 / 4), (1 - 5 / 8) + (1 - 3.5 / 4)]
    assert number(RESULTS, "go", "share_of_head_room", "expert") == pytest.approx(np.mean(won) / winnable)


def test_what_is_not_placed_counts_with_heft() -> None:
    heft = {"placed_heft": {0: (8.0, 4.0)}}
    of_all = evaluate(costs(SECONDS | heft), ["hdp"], ["layers"]).results
    expected = np.exp((np.log([4 / 6, 3 / 5]).mean() + np.log([5 / 6.5, 3.5 / 4]).mean()) / 2)  # HDP's b of seed 1
    assert number(of_all, "go", "makespan", "hdp", "every") == pytest.approx(expected)
    assert number(of_all, "hdp", "makespan", "expert", "every") == pytest.approx(
        (6 / 8 * 5 / 4 * 6.5 / 8 * 4 / 4) ** 0.25
    )
    assert "every" not in set(RESULTS["lengths"])  # without HEFT there is no rule


def test_evaluations_are_counted_until_hdps_value_is_near() -> None:
    # HDP comes within 1% of its own after 10 evaluations; GO's first costs 8 and 10 on a, 6 and 7 on b.
    assert number(RESULTS, "go", "evaluations", "hdp") == pytest.approx(np.exp(np.log([10 / 10, 10 / 10]).mean()))
    slow = evaluate(costs(SECONDS | {"go": {0: (4.0, 2.0), 1: (3.0, 2.0)}}, 2.0), [], []).results
    # Seed 0: b is there after one, a after ten; seed 1 has HDP's a alone, after one.
    assert number(slow, "go", "evaluations", "hdp") == pytest.approx(
        np.exp((np.log([1, 0.1]).mean() + np.log(0.1)) / 2)
    )


def test_the_best_so_far_and_the_placed_share_after_few_evaluations() -> None:
    # Curves: twice the cost after one evaluation, 1.005 times after ten. GO is the best known, with seed 0.
    assert number(RESULTS, "layers", "makespan", "best", iterations="1") == pytest.approx((16 / 4 * 12 / 3) ** 0.5)
    ten = 1.005 * (8 / 4 * 6 / 3) ** 0.5
    assert [number(RESULTS, "layers", "makespan", "best", iterations=n) for n in ("10", "100")] == pytest.approx(
        [ten, 2]
    )
    assert number(RESULTS, "hdp", "placed_share", iterations="1") == pytest.approx(0.75)
    every = RESULTS[(RESULTS["metric"] == "members_placed") & (RESULTS["set"] == "s") & (RESULTS["target"] == "all")]
    assert every["value"].tolist() == [2.0]


def test_what_is_shorter_than_its_bound_is_refused() -> None:
    with pytest.raises(ValueError, match="go, b forward, pcie: shorter than the bound"):
        evaluate(costs(bound=3.2), [], [])


def test_a_seed_that_was_not_run_on_a_member_takes_the_first_one() -> None:
    some = costs()
    some = some[~((some["method"] == "go") & (some["seed"] == 1) & (some["graph_id"] == "b"))]
    evaluation = evaluate(some, [], ["layers"]).results
    assert number(evaluation, "go", "makespan", "default") == pytest.approx((0.4 * 0.75 * 0.5 * 0.75) ** (1 / 4))


def test_curves_and_graphs_are_parts() -> None:
    curve = PARTS[(PARTS["by"] == "evaluations") & (PARTS["method"] == "layers")]
    assert dict(zip(curve["part"], curve["value"], strict=True)) == pytest.approx(
        {"1": 4.0, "2": 4.0, "5": 4.0, "10": 2.01, "20": 2.01}
    )
    of_graph = PARTS[(PARTS["part"] == "a forward") & (PARTS["method"] == "go")].iloc[0]
    assert (of_graph["low"], of_graph["high"]) == (0.5, 0.625)


def test_a_ratio_of_sums_resamples_both_together() -> None:
    bootstrap = RatioBootstrap(["a", "b", "c"], 500, 0.95)
    wholes = np.array([[1.0, 2.0, 3.0]])
    estimate = bootstrap.ratio(0.5 * wholes, wholes)
    assert (estimate.value, estimate.low, estimate.high, estimate.n) == (0.5, 0.5, 0.5, 3)
    assert np.isnan(bootstrap.ratio(wholes, 0 * wholes).value)
    missing = bootstrap.ratio(np.array([[1.0, np.nan, 0.0]]), wholes)
    assert (missing.value, missing.n) == (0.25, 2)
