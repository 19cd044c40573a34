import io

import pandas as pd
import pytest

from pipeline.lab import rows, tidy

PLACE = {"experiment": "quick", "set": "test_5", "target": "gcc", "method": "popocs_20", "decoder": "hungarian"}


def results(experiment: str = "quick", value: float = 0.123456789) -> pd.DataFrame:
    ours = PLACE | {"experiment": experiment, "seed": "all"}
    gained = {"comparison": "difference", "baseline": "gcc", "judge": "atom"}
    return rows.results(
        [
            *(rows.row(ours | {"seed": seed}, "exact_match", value + k, n=5) for k, seed in enumerate(("all", "0"))),
            rows.row(ours, "cycles", 9.0, n=5, judge="atom"),
            rows.row(ours, "cycles", 0.1, n=5, **gained),
            rows.row(ours | {"set": "development"}, "exact_match", 0.5, n=5),
        ]
    )


def test_counts_keep_all_their_digits_and_measures_six() -> None:
    frame = pd.DataFrame({"value": [1_234_567.0, 0.123456789, 1.0, 2.5e20]})
    assert tidy.csv(frame).split() == ["value", "1234567", "0.123457", "1", "2.5e+20"]


def test_fresh_rows_win_over_published_ones() -> None:
    old = pd.concat([results("quick", -1.0), results("paper", -1.0)])
    merged = tidy.merge(results("quick"), old)
    assert set(merged["experiment"]) == {"quick", "paper"}
    assert (merged.loc[merged["experiment"] == "quick", "value"] >= 0).all()
    assert len(merged) == 2 * len(results("quick"))


def test_metrics_for_people_are_the_main_numbers_as_the_csv_shows_them() -> None:
    tree = tidy.metrics_of(results())
    assert tree == {"quick": {"POPOCS @20": {"exact_match": 0.5}}}  # of the first set
    of_one_set = results()[results()["set"] == "test_5"]
    tree = tidy.metrics_of(of_one_set)
    assert tree == {"quick": {"POPOCS @20": {"exact_match": 0.123457, "cycles.atom": 9.0}}}


@pytest.mark.parametrize(
    ("columns", "name"),
    [
        ({}, "cycles"),
        ({"judge": "atom"}, "cycles.atom"),
        ({"comparison": "ratio", "baseline": "best"}, "cycles.ratio.best"),
    ],
)
def test_a_number_is_named_by_the_columns_that_say_anything(columns: dict[str, str], name: str) -> None:
    assert tidy.name(rows.row(PLACE, "cycles", 1.0, **columns), "method") == f"popocs_20.{name}"


def test_what_is_read_again_is_written_the_same() -> None:
    frame = pd.DataFrame({"value": [12_018_412_345.6, 1e-9 / 3, 2.0**60, 123_456.5]})
    once = tidy.csv(frame)
    assert tidy.csv(pd.read_csv(io.StringIO(once))) == once
    assert once.split()[1] == "12018400000"
