"""The section on learning: rows only for what was measured, and the numbers of the right rows."""

from __future__ import annotations

import pandas as pd

from pipeline.report.operator import learning
from tests.analysis import synthetic


def trial(operator: str, method: str, exact: float, steps: int = 1200, **more: object) -> dict:
    base = {"operator": operator, "method": method, "loss": "cross_entropy", "proposal": "logits", "optimiser": "adam"}
    return base | {"learning_rate": 0.002, "steps": steps, "exact_match": exact, "valid_share": 0.9} | more


def test_the_table_has_one_row_for_each_measured_operator() -> None:
    found = learning.section(synthetic.results(learning.EXPERIMENT), pd.DataFrame())
    assert [row[:2] for row in found.learned] == [["`full`", "Sinkhorn"], ["`full`", "POPOCS @20"]]
    sinkhorn, popocs = found.learned
    assert sinkhorn[3] == "-" and popocs[3].startswith("+0.0120<br>")
    assert sinkhorn[2].startswith("58.0%") and sinkhorn[7].startswith("60.0%") and sinkhorn[8] == "-"
    assert found.tried == found.attribution == []


def test_other_experiments_are_left_out() -> None:
    assert learning.section(synthetic.results("quick"), pd.DataFrame()).learned == []


def test_the_best_trial_of_each_operator_is_named() -> None:
    tried = pd.DataFrame(
        [
            trial("sinkhorn", "cyclic", 0.5),
            trial("sinkhorn", "cyclic", 0.6, loss="fenchel_young", learning_rate=0.005),
            trial("popocs", "nearest", 0.7),
            trial("popocs", "nearest", 0.9, steps=5000),  # longer: not comparable
            trial("popocs", "cyclic", 0.95, optimiser="sgd"),
        ]
    )
    assert [row[:6] for row in learning.section(synthetic.results("quick"), tried).tried] == [
        ["nearest", "1", "cross entropy", "logits", "0.002", "70.0%"],
        ["sinkhorn", "2", "fenchel young", "logits", "0.005", "60.0%"],
    ]


def test_the_attribution_stands_with_its_range() -> None:
    rows = [
        (learning.EXPERIMENT, "full", "development", "popocs_nearest", "none", "all", metric, 0.25, 0.2, 0.3, 4000)
        for metric in learning._ATTRIBUTION
    ]
    results = pd.DataFrame(rows, columns=synthetic.tidy.COLUMNS)
    cell = "25.0%<br><small>20.0% to 30.0%</small>"
    assert learning.section(results, pd.DataFrame()).attribution == [["`full`", "POPOCS nearest", cell, cell, cell]]
