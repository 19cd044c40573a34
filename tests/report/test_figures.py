"""Figures show the data; each is drawn once."""

from __future__ import annotations

import pandas as pd

from learned_schedulers.figures import render, subplots
from pipeline.lab.page import plots
from pipeline.lab.page.colours import colour, styles
from pipeline.reproduction.figures import example, figure_3
from tests.report import made, shown


def test_equal_frames_give_equal_bytes() -> None:
    paper = shown.evidence("paper")
    sweep, rows = paper.tables["sweep"], paper.results
    first = render(figure_3(sweep, rows))
    assert first == render(figure_3(sweep, rows.copy()))
    assert first != render(figure_3(sweep.assign(valid_share=sweep["valid_share"] - 0.01), rows))
    assert b"matplotlib" not in first.lower()


def test_an_example_marks_every_slot_twice() -> None:
    rows = made.examples()
    block = rows[rows["block_id"] == rows["block_id"].iloc[0]]
    figure = example(block)
    assert len(figure.axes) == 4 and all(len(ax.patches) == 5 for ax in figure.axes)
    labels = [text.get_text() for text in figure.axes[0].get_yticklabels()]
    assert labels == list(block.iloc[0]["instructions"])


def test_a_method_has_one_colour_wherever_it_stands() -> None:
    assert styles(["hdp", "go"])["hdp"]["color"] == styles(["go", "x", "hdp"])["hdp"]["color"] == colour("hdp")
    assert colour("placed_heft") == colour("heft") != colour("go") == colour("go_long")
    assert colour("go_untaught_short") == colour("go_untaught") != colour("go")


def test_an_axis_of_ratios_shows_what_is_saved() -> None:
    with subplots(2, 2) as (_, axes):
        plots.saving(axes[0, 0].xaxis)
    text = axes[0, 0].xaxis.get_major_formatter()
    assert [text(ratio) for ratio in (0.62, 1, 1.345)] == ["38%", "0%", "34.5%"]


def test_no_two_methods_have_one_style() -> None:
    names = [f"method_{k}" for k in range(20)]
    assert len({(style["color"], style["marker"]) for style in styles(names).values()}) == len(names)


def test_a_figure_without_rows_is_not_drawn() -> None:
    rows = pd.DataFrame({"x": [1]})
    assert set(plots.drawings(some=(len, rows), none=(len, rows[:0]))) == {"some"}
