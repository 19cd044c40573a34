import json

import pandas as pd
import pytest

from pipeline.analysis import tidy
from tests.analysis import synthetic


def test_columns_are_the_agreed_ones() -> None:
    header = tidy.csv(synthetic.results()[tidy.COLUMNS]).splitlines()[0]
    assert header == "experiment,dependencies,split,scheduler,decoder,seed,metric,value,ci_low,ci_high,n_blocks"


def test_counts_keep_all_their_digits_and_measures_six() -> None:
    frame = pd.DataFrame({"value": [1_234_567.0, 0.123456789, 1.0, 2.5e20]})
    assert tidy.csv(frame).split() == ["value", "1234567", "0.123457", "1", "2.5e+20"]


def test_fresh_rows_win_over_published_ones() -> None:
    old = pd.concat([synthetic.results("quick", "full").assign(value=-1.0), synthetic.results("paper", "paper")])
    merged = tidy.merge(synthetic.results("quick", "full"), old)
    assert set(merged["experiment"]) == {"quick", "paper"}
    assert (merged.loc[merged["experiment"] == "quick", "value"] >= -0.5).all()
    assert len(merged) == 2 * len(synthetic.results("quick", "full"))


def test_order_of_rows_does_not_matter() -> None:
    rows = synthetic.results()
    nothing = rows.iloc[:0]
    shuffled = rows.sample(frac=1, random_state=3)
    assert tidy.csv(tidy.merge(rows, nothing)) == tidy.csv(tidy.merge(shuffled, nothing))


def test_metrics_tree_holds_aggregates_as_the_csv_shows_them() -> None:
    rows = synthetic.results()
    tree = json.loads(tidy.metrics_json(rows))
    want = rows.query(
        "seed == 'all' and scheduler == 'popocs_20' and decoder == 'hungarian' and metric == 'exact_match'"
    )
    assert tree["quick"]["full"]["popocs_20"]["hungarian"]["exact_match"] == pytest.approx(want["value"].item())
    assert not any("minus" in metric for metric in tree["quick"]["full"]["popocs_20"]["hungarian"])
