"""Declared tables: each cell comes from its row, lines are in their order, the Markdown is valid."""

from __future__ import annotations

import pandas as pd

from pipeline.lab.page.names import decoder_label, in_order, label, set_label
from pipeline.lab.page.numbers import cell, count, percent, saves, shown, with_interval
from pipeline.lab.page.tables import Table, columns, lines, metric, of, ordered, records, table, value
from tests.report import made

ROWS = made.results(
    [
        {"method": "b", "metric": "exact_match", "value": 0.5, "n": 1234},
        {"method": "b", "metric": "exact_match", "value": 0.1, "comparison": "difference", "baseline": "a"},
        {"method": "a", "metric": "exact_match", "value": 0.25},
        {"method": "c", "metric": "cycles", "value": 7.0, "judge": "atom"},
    ]
)
COLUMNS = [
    ("Method", of("method")),
    ("Exact match", metric(with_interval, "exact_match")),
    ("less a", value(percent, "exact_match", comparison="difference", baseline="a")),
    ("Blocks", value(count, "exact_match", "n")),
]


def test_every_cell_is_found_by_its_query() -> None:
    shown_ = table(COLUMNS, lines(ROWS, ["method"], {"method": ["b"]}, {"metric": "exact_match"}), right=1)
    assert shown_.head == ["Method", "Exact match", "less a", "Blocks"]
    assert shown_.lines == [
        ["b", "50.0% <small>[49.0 to 51.0]</small>", "10.0%", "1,234"],
        ["a", "25.0% <small>[24.0 to 26.0]</small>", "-", "100"],
    ]


def test_a_query_without_a_judge_finds_no_judged_row() -> None:
    (line,) = lines(ROWS[ROWS["method"] == "c"], ["method"])
    assert line.find(metric="cycles") is None and line.find(metric="cycles", judge="atom") is not None


def test_markdown() -> None:
    assert str(Table(["A", "B"], [["1", "2"]], right=1)) == "| A | B |\n| --- | ---: |\n| 1 | 2 |"
    assert not Table(["A"]) and Table(["A"], [["1"]])
    (line,) = records(pd.DataFrame([{"reason": "a | b"}]))
    assert table([("Reason", of("reason", cell))], [line]).lines == [["a \\| b"]]


def test_lines_are_in_their_order_then_by_name() -> None:
    frame = made.results([{"method": name, "value": 1.0} for name in ("x_10", "x_2", "z", "first")])
    assert [line["method"] for line in lines(frame, ["method"], {"method": ["first", "gone"]})] == [
        *("first", "x_2", "x_10", "z")
    ]
    assert lines(frame[:0], ["method"]) == []


def test_numbers_in_their_usual_unit() -> None:
    assert shown("exact_match", 0.123) == "12.3%" and shown("kendall_tau_distance", 0.123) == "0.123"
    assert shown("cycles", 2.34) == "2.3400" and shown("cycles", None) == "-"
    assert with_interval({"metric": "valid_share", "value": 1.0, "low": float("nan"), "high": float("nan")}) == "100.0%"


def test_a_gain_is_told_in_words() -> None:
    assert saves(0.34, 0.13, 0.52, percent) == "saves 34.0% <small>[13.0 to 52.0]</small>"
    assert saves(-0.345, -1.2, 0.02, percent) == "takes 34.5% longer <small>[-2.0 to 120.0]</small>"


def test_names_as_the_paper_writes_them() -> None:
    assert [label(name) for name in ("popocs_150", "sinkhorn", "random_legal", "popocs_nearest")] == [
        *("POPOCS @150", "Sinkhorn", "Random legal", "POPOCS nearest")
    ]
    assert set_label("only_qtgui") == "qtgui alone" and set_label("test_5") == "5 instructions"
    assert decoder_label("best") == "best legal order" and decoder_label("of_tomorrow") == "of tomorrow"
    assert in_order(["new", "best", "none", "hungarian"], ["hungarian", "best"]) == ["hungarian", "best", "new", "none"]


def test_columns_that_are_written_alike_have_their_headings() -> None:
    frame = pd.DataFrame({"name": ["10", "2", "x"], "n": [1000, 2, 3], "share": [0.5, 0.25, 1.0]})
    shown_ = table([*columns(name="Name"), *columns(count, n="Number")], ordered(frame, {"name": ["x"]}))
    assert shown_.head == ["Name", "Number"] and shown_.lines == [["x", "3"], ["2", "2"], ["10", "1,000"]]
