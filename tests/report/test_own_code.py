"""The page on users' files: its claims, the numbers of the right rows, and what is missing."""

from __future__ import annotations

from learned_schedulers.blocks.order.targets import TARGETS
from learned_schedulers.figures import render
from pipeline.own_code.claims import PROCESSORS
from tests.report import shown


def test_the_names_are_those_of_the_command() -> None:
    """The claims do not import the command's rooms, which are slow to import."""
    assert PROCESSORS == TARGETS


def test_tables_and_figures_show_their_rows() -> None:
    text, figures = shown.page("own_code", shown.evidence("own_cycles", "own_run_times", "own_blocks"))
    assert shown.cells(text, "`tso`", "CP-SAT")[0][:2] == ["0.9293", "-"]
    assert shown.cells(text, "`tso`", "Best")[0][:2] == ["0.9293", "0.9761"]
    assert shown.cells(text, "pcre2") == [["1.000", "0.995", "1.015"]]
    assert shown.cells(text, "How many blocks compute something else in their new order?") == [["= 0", "0", "**yes**"]]
    assert set(figures) == {"opening_own_code", "own_code_memory"}
    assert all(render(draw()) for draw in figures.values())


def test_without_numbers_the_page_says_what_to_run() -> None:
    text, figures = shown.page("own_code", shown.evidence("paper"))
    assert not figures and "Not measured yet: `git restore reports/published/own_cycles`" in text
