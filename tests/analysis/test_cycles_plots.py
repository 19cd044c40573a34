"""Figures of cycles: every scheduler is there, told apart by colour and mark, and the front is what nothing beats."""

from __future__ import annotations

import numpy as np
import pandas as pd

from pipeline.report.plots import render
from pipeline.report.processors import plots as cycles_plots

NAMES = [f"scheduler_{k}" for k in range(20)]
MACHINES = ["atom", "silvermont", "btver2", "haswell"]


def points() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    ratios = 0.9 + 0.2 * rng.random(len(NAMES))
    rows = [
        (name, 10.0 ** (k % 6), ratio, ratio - 0.01, ratio + 0.01)
        for k, (name, ratio) in enumerate(zip(NAMES, ratios, strict=True))
    ]
    return pd.DataFrame(rows, columns=["name", "microseconds", "ratio", "ci_low", "ci_high"])


def test_schedulers_are_told_apart() -> None:
    found = cycles_plots.styles(NAMES)
    assert len({(style["color"], style["marker"]) for style in found.values()}) == len(NAMES)


def test_the_front_holds_what_no_other_beats_in_both() -> None:
    own = points()
    figure = cycles_plots.pareto(own, NAMES)
    (ax,) = figure.axes
    marks = [line for line in ax.lines[1:] if line.get_marker() != "None"]
    drawn = [(float(line.get_xdata()[0]), float(line.get_ydata()[0])) for line in marks]  # type: ignore[index, arg-type]
    assert sorted(drawn) == sorted(zip(own["microseconds"], own["ratio"], strict=True))
    front = set(zip(*map(list, ax.lines[0].get_data()), strict=True))
    for x, y in zip(own["microseconds"], own["ratio"], strict=True):
        beaten = ((own["microseconds"] <= x) & (own["ratio"] < y)).any()
        assert ((x, y) in front) != beaten
    assert render(figure, "png") == render(cycles_plots.pareto(own, NAMES), "png")


def test_lengths_stand_in_their_order() -> None:
    parts = ["5-7", "8-10", "11-15", "16-20"]
    rows = [(m, n, p, k, 1 - 0.01 * k) for m in MACHINES for n in NAMES[:3] for k, p in enumerate(parts)]
    table = pd.DataFrame(rows, columns=["machine", "name", "part", "rank", "ratio"])
    table = table.assign(ci_low=table["ratio"] - 0.01, ci_high=table["ratio"] + 0.01).sample(frac=1, random_state=0)
    figure = cycles_plots.by_length(table, MACHINES, NAMES[:3])
    assert [ax.get_title(loc="left") for ax in figure.axes] == MACHINES
    for ax in figure.axes:
        assert [tick.get_text() for tick in ax.get_xticklabels()] == parts
        curves = [line for line in ax.lines if len(np.asarray(line.get_xdata())) == 4]
        assert len(curves) == 3
        for line in curves:
            np.testing.assert_allclose(line.get_ydata(), [1, 0.99, 0.98, 0.97])


def test_bars_reach_from_issue_to_write_back() -> None:
    one = cycles_plots.Timeline("GCC", ["nop", "nop"], np.array([0, 3]), np.array([3, 1]), 5)
    figure = cycles_plots.timelines([one, one])
    for ax in figure.axes:
        assert [(bar.get_x(), bar.get_width()) for bar in ax.patches] == [(0, 3), (3, 1)]  # type: ignore[attr-defined]
        assert ax.get_title(loc="left") == "GCC: 5 cycles"
