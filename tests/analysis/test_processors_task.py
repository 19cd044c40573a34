"""Cycles of orders against GCC's and the best, by hand; and blocks that a judge does not know."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from learned_schedulers.blocks.processors.settings import Judge
from pipeline.lab import cycles
from pipeline.lab.config.intervals import Intervals
from pipeline.lab.cycles import Orders
from pipeline.lab.evaluation import Evaluation
from pipeline.lab.inputs import Inputs
from pipeline.processors.numbers import evaluate
from tests.analysis import laid

LENGTHS = {"a": 3, "b": 3, "c": 4, "unknown": 3}
GCC: dict[str, laid.Order] = {block: tuple(range(n)) for block, n in LENGTHS.items()}
LATE: dict[str, laid.Order] = {block: (0, 2, 1, *range(3, n)) for block, n in LENGTHS.items()}
CYCLES = {
    ("a", GCC["a"]): 10.0,
    ("a", LATE["a"]): 5.0,
    ("b", GCC["b"]): 4.0,
    ("b", LATE["b"]): 8.0,
    ("c", GCC["c"]): 6.0,
    ("c", LATE["c"]): 6.0,
    ("unknown", GCC["unknown"]): np.nan,
}
PLACE = {"experiment": "processors", "set": "test_5", "target": "atom"}
JUDGES = {"atom": Judge(cpu="atom", iterations=1), "haswell_100": Judge(cpu="haswell", iterations=100)}


def test_ratios_to_gcc_and_to_the_best_order_of_all() -> None:
    late = Orders("late", "greedy", 1, {"a": LATE["a"]})
    orders = [Orders("gcc", "none", 0, GCC), Orders("late", "greedy", 0, LATE), late]
    to_gcc = cycles.ratios(CYCLES, pd.Series(LENGTHS), orders, "gcc")
    np.testing.assert_array_equal(to_gcc["gcc", "none"][0].ratio, [1, 1, 1, np.nan])
    np.testing.assert_array_equal(to_gcc["late", "greedy"][0].ratio, [0.5, 2, 1, np.nan])
    np.testing.assert_array_equal(to_gcc["late", "greedy"][1].ratio, [0.5, np.nan, np.nan, np.nan])
    np.testing.assert_array_equal(to_gcc["gcc", "none"][0].as_gcc, [1, 1, 1, np.nan])
    np.testing.assert_array_equal(to_gcc["late", "greedy"][1].as_gcc, [0, np.nan, np.nan, np.nan])
    to_best = cycles.ratios(CYCLES, pd.Series(LENGTHS), orders, "best")
    np.testing.assert_array_equal(to_best["gcc", "none"][0].ratio, [2, 1, 1, np.nan])
    np.testing.assert_array_equal(to_best["late", "greedy"][0].ratio, [1, 2, 1, np.nan])


def test_ratios_to_a_method_are_to_its_orders_of_the_same_seed() -> None:
    peers = [Orders("peer", "none", 0, GCC), Orders("peer", "none", 1, LATE)]
    compared = cycles.ratios(
        CYCLES, pd.Series(LENGTHS), [*peers, *(Orders("late", "x", k, LATE) for k in (0, 1, 2))], "peer"
    )
    np.testing.assert_array_equal(compared["peer", "none"][1].ratio, [1, 1, 1, np.nan])
    np.testing.assert_array_equal(compared["late", "x"][0].ratio, [0.5, 2, 1, np.nan])
    np.testing.assert_array_equal(compared["late", "x"][1].ratio, [1, 1, 1, np.nan])
    np.testing.assert_array_equal(compared["late", "x"][2].ratio, [0.5, 2, 1, np.nan], "else its first seed")


def inputs(root: Path, judges: dict[str, Judge]) -> Inputs:
    """Two seeds of `late` for atom, the second `unsupported` except for one block; one seed for haswell."""
    one_block: dict[str, laid.Order | str] = dict.fromkeys(LENGTHS, "unsupported: no model") | {"a": LATE["a"]}
    proven = pd.DataFrame({"block_id": list("abc"), "order": [GCC[b] for b in "abc"], "proven": [True, False, True]})
    proven = proven.assign(model_cycles=1, bound=1, cycles=1.0, gcc_cycles=1.0)
    return Inputs(
        "processors",
        Intervals(bootstrap_samples=200, confidence=0.95),
        judges,
        sets=[laid.a_set(root, "test_5", LENGTHS)],
        dags=[laid.graphs(root, LENGTHS, {})],
        schedules=[
            laid.schedules(root, one_block, "late", 1, "greedy", **PLACE),
            laid.schedules(root, LATE, "late", 0, "greedy", **PLACE),
            laid.schedules(root, GCC, "other", 0, **(PLACE | {"target": "haswell"})),
        ],
        latency=[
            laid.judged(root, CYCLES, judge, experiment="processors", set="test_5") for judge in ("atom", "haswell_100")
        ],
        optima=[laid.lay(root, "optima", proven, machine="atom", method="cp_sat", set="test_5")],
    )


@pytest.fixture(scope="module")
def evaluation(tmp_path_factory: pytest.TempPathFactory) -> Evaluation:
    return evaluate(inputs(tmp_path_factory.mktemp("processors"), JUDGES))


@pytest.mark.parametrize(
    ("method", "metric", "baseline", "value"),
    [
        ("late", "cycles", "gcc", 1.0),  # 0.5 x 2 x 1
        ("late", "mean_cycles", "gcc", 3.5 / 3),
        ("late", "cycles", "best", 2 ** (1 / 3)),
        ("gcc", "cycles", "best", 2 ** (1 / 3)),
        ("late", "fewer_cycles_share", "gcc", 1 / 3),
        ("late", "equal_cycles_share", "gcc", 1 / 3),
        ("late", "more_cycles_share", "gcc", 1 / 3),
        ("late", "same_order_share", "gcc", 0),
        ("gcc", "same_order_share", "gcc", 1),
    ],
)
def test_numbers_by_hand(evaluation: Evaluation, method: str, metric: str, baseline: str, value: float) -> None:
    comparison = "ratio" if "share" not in metric else "value"
    key = {"method": method, "metric": metric, "baseline": baseline, "comparison": comparison, "judge": "atom"}
    assert laid.number(evaluation.results, seed="0", **key) == (pytest.approx(value), 3)


def test_each_judge_is_asked_about_its_own_processor(evaluation: Evaluation) -> None:
    pairs = evaluation.results.groupby(["judge", "target"])["method"].unique().map(sorted).to_dict()
    assert pairs == {("atom", "atom"): ["cp_sat", "gcc", "late"], ("haswell_100", "haswell"): ["gcc", "other"]}
    key = {"method": "late", "metric": "cycles", "baseline": "gcc", "comparison": "ratio"}
    assert laid.number(evaluation.results, seed="1", **key) == (pytest.approx(0.5), 1)
    assert laid.number(evaluation.results, **key) == (pytest.approx(0.5**0.5), 3)
    assert set(evaluation.results.loc[evaluation.results["comparison"] == "ratio", "unit"]) == {"ratio"}


def test_proofs_of_all_and_of_short_blocks(evaluation: Evaluation) -> None:
    for lengths in ("all", "2-20"):
        key = {"method": "cp_sat", "metric": "proven_optimal_share", "lengths": lengths}
        assert laid.number(evaluation.results, **key) == (pytest.approx(2 / 3), 3)


def test_by_length_the_first_seed_counts(evaluation: Evaluation) -> None:
    pieces = evaluation.parts[evaluation.parts["method"] == "late"]
    assert pieces[["target", "judge", "by", "part", "seed", "n"]].values.tolist() == [
        ["atom", "atom", "length", "2-4", "0", 3]
    ]
    assert pieces["value"].iloc[0] == pytest.approx(1)


def test_a_processor_needs_a_judge(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"no judge is for the processors \['haswell'\]"):
        evaluate(inputs(tmp_path, {"atom": JUDGES["atom"]}))
