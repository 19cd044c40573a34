"""POCSNet's numbers by hand: two seeds, paired differences, cycles of valid and known orders."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from learned_schedulers.blocks.processors.settings import Judge
from pipeline.lab.config.intervals import Intervals
from pipeline.lab.inputs import Inputs
from pipeline.lab.shared_tables import KEY, RESULTS
from pipeline.reproduction.numbers import evaluate
from tests.analysis import laid

LENGTHS = dict.fromkeys("abcd", 3)
EDGES: dict[str, list[laid.Order]] = {block: [(0, 1)] for block in "abc"} | {"d": [(0, 1), (1, 2)]}
GCC, LATE, WRONG = (0, 1, 2), (0, 2, 1), (1, 0, 2)
PLACE = {"experiment": "quick", "set": "test_5_paper", "target": "gcc"}
MADE: list[tuple[str, int, list[laid.Order]]] = [
    ("sinkhorn", 0, [WRONG, WRONG, GCC, GCC]),
    ("sinkhorn", 1, [WRONG, GCC, GCC, GCC]),
    ("popocs_20", 0, [GCC, LATE, LATE, WRONG]),
    ("popocs_20", 1, [GCC, GCC, GCC, GCC]),
    ("gcc", 0, [GCC] * 4),
    ("gcc", 1, [GCC] * 4),
]


def inputs(root: Path, scheduled: list[tuple[str, int, list[laid.Order]]] = MADE, **more: list[Path]) -> Inputs:
    """GCC's order costs 2, the late one 3; the judge does not know block c."""
    cycles = {(b, o): np.nan if b == "c" else 2.0 + (o == LATE) for b in LENGTHS for o in (GCC, LATE)}
    splits = pd.DataFrame({"block_id": ["t", *LENGTHS], "split": ["training"] + ["test"] * 4})
    tables = {
        "sets": [laid.a_set(root, "test_5_paper", LENGTHS)],
        "dags": [laid.graphs(root, LENGTHS, EDGES, mode="paper")],
        "splits": [laid.lay(root, "splits", splits.assign(input_order=[[0, 1, 2]] * 5), dependencies="paper")],
        "schedules": [
            laid.schedules(
                root,
                dict(zip(LENGTHS, orders, strict=True)),
                method,
                seed,
                "none" if method == "gcc" else "hungarian",
                **PLACE,
            )
            for method, seed, orders in scheduled
        ][::-1],
        "latency": [laid.judged(root, cycles, "atom", experiment="quick", set="test_5_paper")],
    }
    intervals = Intervals(bootstrap_samples=100, confidence=0.9)
    judges = {"atom": Judge(cpu="atom", iterations=1)}
    return Inputs("quick", intervals, judges, {"test_5_paper": "paper"}, **(tables | more))


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    return evaluate(inputs(tmp_path_factory.mktemp("quick"))).results


@pytest.mark.parametrize(
    ("method", "seed", "metric", "baseline", "value", "n"),
    [
        ("popocs_20", "0", "exact_match", "none", 0.25, 4),
        ("popocs_20", "all", "exact_match", "none", 0.625, 4),
        ("popocs_20", "0", "exact_match_multi_order", "none", 1 / 3, 3),
        ("popocs_20", "0", "valid_share", "none", 0.75, 4),
        ("popocs_20", "0", "violations_per_block", "none", 0.25, 4),
        ("popocs_20", "0", "kendall_tau_distance", "none", (1 + 1 + 1) / 3 / 4, 4),
        ("popocs_20", "0", "cycles", "none", 2.5, 2),  # a and b: c is unknown to the judge, d is not valid
        ("popocs_20", "0", "cycles", "gcc", 0.5, 2),
        ("popocs_20", "all", "cycles", "gcc", 0.25, 3),
        ("gcc", "all", "cycles", "none", 2.0, 3),
        ("popocs_20", "0", "exact_match", "sinkhorn", -0.25, 4),
        ("popocs_20", "all", "exact_match", "sinkhorn", (-0.25 + 0.25) / 2, 4),
        ("popocs_20", "all", "valid_share", "sinkhorn", (0.25 + 0.25) / 2, 4),
        ("sinkhorn", "all", "train_blocks", "none", 1, 1),
    ],
)
def test_numbers_by_hand(
    table: pd.DataFrame, method: str, seed: str, metric: str, baseline: str, value: float, n: int
) -> None:
    comparison = "value" if baseline == "none" else "difference"
    key = {"method": method, "seed": seed, "metric": metric, "baseline": baseline, "comparison": comparison}
    assert laid.number(table, **key) == (pytest.approx(value), n)


def test_rows_have_every_column_once(table: pd.DataFrame) -> None:
    assert table.columns.tolist() == RESULTS.schema.names and not table.duplicated(KEY).any()
    assert table.equals(table.sort_values(KEY, ignore_index=True))
    assert {column: set(table[column]) for column in ("set", "dependencies", "target", "experiment")} == {
        "set": {"test_5_paper"},
        "dependencies": {"paper"},
        "target": {"gcc"},
        "experiment": {"quick"},
    }
    units = dict(zip(table["metric"], table["unit"], strict=True))
    assert (units["cycles"], units["violations_per_block"], units["exact_match"]) == ("cycles", "dependencies", "share")
    measured = table[table["metric"] != "train_blocks"]
    assert ((measured["low"] <= measured["value"]) & (measured["value"] <= measured["high"])).all()
    over = measured.groupby("seed")["interval_of"].unique().map(list).to_dict()
    assert over == {"0": ["blocks"], "1": ["blocks"], "all": ["blocks and seeds"]}
    assert not ((table["method"] == "gcc") & (table["metric"] == "train_blocks")).any()


def test_a_judge_that_knows_nothing_has_no_rows(tmp_path: Path) -> None:
    empty = laid.judged(tmp_path, {}, "atom", experiment="paper", set="test_5_paper")
    metrics = set(evaluate(inputs(tmp_path, MADE[:1], latency=[empty])).results["metric"])
    assert "exact_match" in metrics and "cycles" not in metrics


def test_no_valid_schedule_gives_no_mean_and_no_block(tmp_path: Path) -> None:
    results_found = evaluate(inputs(tmp_path, [("sinkhorn", 0, [WRONG] * 4)])).results
    value, n = laid.number(results_found, metric="cycles", seed="0")
    assert np.isnan(value) and n == 0
    assert set(results_found.loc[results_found["metric"] == "cycles", "interval_of"]) == {"none"}


def test_what_does_not_belong_together_is_refused(tmp_path: Path) -> None:
    judged_elsewhere = laid.judged(tmp_path, {("a", LATE): 1.0}, "haswell", experiment="paper", set="test_5_paper")
    with pytest.raises(KeyError, match="haswell"):
        evaluate(inputs(tmp_path, MADE[-1:], latency=[judged_elsewhere]))
    unknown = laid.judged(tmp_path / "unknown", {("a", LATE): 1.0}, "atom", experiment="quick", set="test_5_paper")
    with pytest.raises(ValueError, match=r"block a .* judge again"):
        evaluate(inputs(tmp_path, MADE[-1:], latency=[unknown]))
    part = laid.schedules(tmp_path / "part", {"a": GCC, "b": GCC}, "sinkhorn", **PLACE)
    with pytest.raises(ValueError, match=r"sinkhorn/0\.parquet: decoder none has other blocks"):
        evaluate(inputs(tmp_path, schedules=[part]))
    with pytest.raises(ValueError, match="no table dags"):
        evaluate(inputs(tmp_path, dags=[laid.graphs(tmp_path, LENGTHS, EDGES)]))
    with pytest.raises(ValueError, match="1 blocks of test_5_paper have no DAG, d first"):
        evaluate(inputs(tmp_path, dags=[laid.graphs(tmp_path / "abc", dict.fromkeys("abc", 3), EDGES, mode="paper")]))
