"""The page on the projection: numbers of the right rows, and what is missing."""

from __future__ import annotations

from learned_schedulers.figures import render
from tests.report import made, shown

NAMES = ("operator_learning", "operator_speed", "operator_decoding")


def test_tables_and_figures_show_what_is_published() -> None:
    text, figures = shown.page("operator", shown.evidence(*NAMES, residuals=made.residuals()))
    assert shown.cells(text, "`full`", "Sinkhorn")[0][:2] == ["56.5%", "-"]
    assert shown.cells(text, "row softmax", "Hungarian")[0][:3] == ["86.3%", "50.3%", "7.6%"]
    (cyclic,) = shown.cells(text, "5", "Cyclic", "20")
    assert cyclic[:3] == ["0.25", "0.50", "0.75"]  # medians, 99th percentiles, maxima of softmax proposals
    assert shown.cells(text, "5", "Nearest", "-")[0][2] == "4.0e-07"
    (asked,) = shown.cells(text, "How many times as fast is `nearest` as `qpth`, at the size where it is least ahead?")
    assert asked == ["≥ 100×", "99.58×", "**no**"]
    assert set(figures) == {"opening_operator", "operator_residuals", "operator_speed", "decoding"}
    for draw in figures.values():
        assert render(draw())


def test_without_numbers_the_page_says_what_to_run() -> None:
    text, figures = shown.page("operator", shown.evidence("paper"))
    assert not figures
    assert "`snakemake data/published/operator_learning.done`" in text and "`python -m benchmarks.operator`" in text
