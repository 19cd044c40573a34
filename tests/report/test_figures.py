"""Figures show the data; each is drawn once."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from learned_schedulers.figures import render
from pipeline.lab.page import build, plots
from pipeline.processors.page import cycles
from pipeline.reproduction.page.plots import figure_3
from tests.report import imitations, made, processors
from tests.report.test_operator import decoded

PARTS = imitations.parts()


@pytest.fixture(scope="module")
def drawn() -> dict[str, Figure]:
    """All figures of blocks and processors."""
    history = made.history("imitation", ("attention_pointer",), 3)
    evidence = made.evidence(
        made.reproduction(),
        imitations.results(),
        processors.results(),
        decoded(),
        history=history,
        sweep=made.sweep(),
        examples=made.examples(),
        parts=PARTS,
        residuals=made.residuals(),
        peers=made.peers(),
        timelines=processors.examples(),
    )
    return {name: draw() for name, draw in build.figures(evidence).items()}


def panels(figure: Figure) -> list[str]:
    return [ax.get_title(loc="left") for ax in figure.axes]


@pytest.mark.slow
def test_everything_is_drawn(drawn: dict[str, Figure]) -> None:
    assert set(drawn) == {
        *("accuracy_quick_full", "figure_3_quick_full", "example_quick_full_1", "example_quick_full_2"),
        *("operator_residuals", "operator_speed", "decoding"),
        *(f"imitation_{name}" for name in ("length", "legal_orders", "class", "reliability", "training")),
        *("processors_pareto", "processors_block_1", "processors_block_2", "corpus", "front_pocsnet"),
    }


def test_equal_frames_give_equal_bytes() -> None:
    rows = made.reproduction()
    first = render(figure_3(made.sweep(), rows))
    assert first == render(figure_3(made.sweep(), rows.copy()))
    assert first != render(figure_3(made.sweep(shift=0.01), rows))
    assert b"matplotlib" not in first.lower()


@pytest.mark.slow
def test_an_example_marks_every_slot_twice(drawn: dict[str, Figure]) -> None:
    figure = drawn["example_quick_full_1"]
    assert len(figure.axes) == 4 and all(len(ax.patches) == 5 for ax in figure.axes)
    labels = [text.get_text() for text in figure.axes[0].get_yticklabels()]
    assert labels == list(made.examples().iloc[0]["instructions"])


def test_the_corpus_has_a_line_for_every_source(drawn: dict[str, Figure]) -> None:
    lengths, orders, ready = drawn["corpus"].axes
    assert [line.get_label() for line in lengths.lines] == ["ffprobe", "qt56"]
    for ax in (lengths, orders):
        assert all(np.sum(line.get_ydata()) == pytest.approx(1) for line in ax.lines)  # shares of the source's blocks
    assert len(ready.lines) == 3


def test_operators_have_a_panel_for_each_length_and_a_line_for_each_peer(drawn: dict[str, Figure]) -> None:
    residuals = drawn["operator_residuals"]
    assert panels(residuals) == ["5 instructions", "10 instructions"]
    assert all(len(ax.lines) == 3 * 2 + 1 for ax in residuals.axes)
    seconds, memory = drawn["operator_speed"].axes
    assert len(seconds.lines) == 6 and len(memory.lines) == 5
    scaled = [line.get_ydata() for line in seconds.lines if line.get_linestyle() == ":"]
    assert np.asarray(scaled[0])[-1] == pytest.approx(8e-6 * 64**2)  # from a batch of 32 to one of 256
    decoding = drawn["decoding"]
    assert panels(decoding) == [f"n = {n}, noise {noise}" for noise in ("1.75", "10") for n in (5, 10)]
    points = [line for line in decoding.axes[0].lines if line.get_marker() != "None"]
    values = {round(float(np.asarray(line.get_xdata())[0]), 6) for line in points}
    assert values == {0.75, 0.79, 0.83, 0.77, 0.81, 0.85}


def test_figures_of_imitators_show_the_parts(drawn: dict[str, Figure]) -> None:
    length = drawn["imitation_length"]
    assert panels(length) == ["4 to 40, same programs", "4 to 40, other programs"]
    rows = PARTS.query(
        "method == 'attention_pointer' and decoder == 'greedy' and by == 'length' and set == 'test_4_40'"
    )
    assert list(length.axes[0].lines[0].get_ydata()) == list(rows["value"])
    assert len(length.axes[0].lines) == 4 and len(length.axes[0].collections) == 4  # curves and intervals
    orders = drawn["imitation_legal_orders"].axes[1]
    assert orders.get_xscale() == "log"
    classes = drawn["imitation_class"].axes
    labels = [[text.get_text() for text in ax.get_xticklabels()] for ax in classes]
    assert [label[0] for label in labels] == [f"integer\nn={n}" for n in ("5k", "20k", "20k")]  # most frequent first
    assert "string\nn=0" in labels[0] and "string\nn=40" in labels[1]
    beliefs = drawn["imitation_reliability"].axes
    rows = PARTS.query("by == 'confidence' and set == 'test_5'")
    assert len(beliefs) == 6 and list(beliefs[0].lines[1].get_xdata()) == list(rows["confidence"])
    assert [bar.get_height() for bar in beliefs[3].patches] == list(rows["n"])


def test_trainings_have_a_line_for_each_seed_and_their_mean(drawn: dict[str, Figure]) -> None:
    loss, exact = drawn["imitation_training"].axes
    assert len(loss.lines) == len(exact.lines) == 2 * 4  # two splits, three seeds and their mean


def test_the_line_joins_the_pareto_front(drawn: dict[str, Figure]) -> None:
    (ax,) = drawn["processors_pareto"].axes
    front = np.asarray(ax.lines[0].get_ydata())
    assert list(front) == pytest.approx([0.92])  # CP-SAT is made up to be the fastest, too
    names = [f"method_{k}" for k in range(20)]
    styles = cycles.styles(names).values()
    assert len({(style["color"], style["marker"]) for style in styles}) == len(names)


def test_bars_reach_from_issue_to_write_back() -> None:
    order = {"place": 0, "title": "GCC", "slot": [0, 1], "instruction": "nop", "issue": [0, 3], "latency": [3, 1]}
    for ax in cycles.timelines(pd.DataFrame(order | {"cycles": 5})).axes:
        assert [(bar.get_x(), bar.get_width()) for bar in ax.patches] == [(0, 3), (3, 1)]
        assert ax.get_title(loc="left") == "GCC: 5 cycles"


def test_a_figure_without_rows_is_not_drawn() -> None:
    rows = pd.DataFrame({"x": [1]})
    assert set(plots.drawings(some=(len, rows), none=(len, rows[:0]))) == {"some"}
