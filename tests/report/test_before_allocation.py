"""The page of orders before registers are allocated: numbers of the right rows, and what is missing."""

from __future__ import annotations

from learned_schedulers.figures import render
from tests.report import shown


def test_tables_and_the_figure_show_their_rows() -> None:
    text, figures = shown.page("before_allocation", shown.evidence("before_allocation", "before_allocation_states"))
    assert shown.cells(text, "**the learned order**", "candidates 1") == [["0.975", "50", "1.002"]]
    assert shown.cells(text, "fftw3") == [["14", "0.982", "0.987", "0.974", "0.950", "0.936"]]
    assert shown.cells(text, "How many runs compute something else?") == [["= 0", "0", "**yes**"]]
    assert render(figures["before_allocation_candidates"]())


def test_without_numbers_the_page_says_what_to_run() -> None:
    text, figures = shown.page("before_allocation", shown.evidence("paper"))
    assert not figures and text.count("Not measured yet: `git restore reports/published/before_allocation") == 2
