"""The section on decoding: every cell from its own row, names and order, and no table without measurements."""

from __future__ import annotations

import pandas as pd
import pytest

from pipeline.analysis import tidy
from pipeline.report import plots
from pipeline.report.operator import decoding, decoding_plots
from pipeline.report.templates import template

NOISES, LENGTHS = ("noise_1.75", "noise_10"), (5, 10)


def measured() -> pd.DataFrame:
    """Two noises, two lengths, two relaxations, three decoders; every value says whose it is."""
    rows = []

    def add(split: str, relaxation: str, decoder: str, metric: str, value: float, spread: float = 0.01) -> None:
        names = (decoding.EXPERIMENT, "full", split, relaxation, decoder, "none", metric)
        rows.append((*names, value, value - spread, value + spread, 2000))

    for a, split in enumerate(NOISES):
        for n in LENGTHS:
            for b, relaxation in enumerate(("none", "time_indexed")):
                for c, decoder in enumerate(("hungarian", "topological", "best")):
                    value = 0.8 - 0.3 * a - n / 100 + 0.02 * b + 0.04 * c
                    add(split, relaxation, decoder, f"exact_match_{n}", value)
                    add(split, relaxation, decoder, f"kendall_tau_distance_{n}", 1 - value)
                    add(split, relaxation, decoder, f"valid_share_{n}", 1.0 if c else 0.9 + b / 100)
                    if b:
                        add(split, relaxation, decoder, f"exact_match_minus_none_{n}", 0.02)
                    if c:
                        add(split, relaxation, decoder, f"gap_{n}", 0.1 if c == 1 else 0.0)
                add(split, relaxation, "best", f"optimal_share_{n}", 0.999)
            add(split, "time_indexed", "none", f"converged_share_{n}", 0.995)
            add(split, "time_indexed", "none", f"residual_max_{n}", 2.5e-4, 0)
    for n in LENGTHS:
        add("speed", "none", "hungarian", f"blocks_per_second_{n}", 1e6 / n, 100)
    return pd.DataFrame(rows, columns=tidy.COLUMNS).sample(frac=1, random_state=0)


def test_cells_are_those_of_their_rows() -> None:
    found = decoding.section(measured())
    assert found.columns == [f"n = {n}, noise {noise}" for noise in ("1.75", "10") for n in (5, 10)]
    assert (
        found.lengths == ["n = 5", "n = 10"]
        and found.hardest == "10"
        and found.n_blocks == "2,000 of n = 5, 2,000 of n = 10"
    )
    assert found.exact[0] == ["row softmax", "Hungarian", "75.0%", "70.0%", "45.0%", "40.0%"]
    assert found.exact[-1] == ["Time indexed", "best legal order", "85.0%", "80.0%", "55.0%", "50.0%"]
    assert len(found.exact) == 6
    assert found.valid == [
        ["row softmax", "Hungarian"] + 4 * ["90.0%"],
        ["Time indexed", "Hungarian"] + 4 * ["91.0%"],
        ["all", "the others, least"] + 4 * ["100.0%"],
    ]
    assert found.added[0] == ["less row softmax", "Time indexed", "Hungarian"] + 4 * [
        "+2.0<br><small>+1.0 to +3.0</small>"
    ]
    assert found.distance[0] == ["row softmax", "Hungarian", "0.5500", "0.6000"]  # of the larger noise
    assert found.gap[:2] == [
        ["row softmax", "topological fill", "10.00%", "10.00%", "-", "-"],
        ["row softmax", "best legal order", "0.00%", "0.00%", "99.9%", "99.9%"],
    ]
    assert found.converged[0] == ["1.75", "5", "99.5%", "2.5e-04"] and len(found.converged) == 4
    assert found.speed == [
        [
            "Hungarian",
            "200,000<br><small>199,900 to 200,100</small>",
            "100,000<br><small>99,900 to 100,100</small>",
        ]
    ]


def test_the_winner_is_the_largest_and_those_in_its_interval_are_counted() -> None:
    assert decoding.section(measured()).best[0] == [
        "5", "1.75", "Time indexed", "best legal order", "85.0%<br><small>84.0% to 86.0%</small>", "1 of 5"
    ]  # fmt: skip


def test_an_illegal_order_of_a_legal_decoder_shows() -> None:
    rows = measured()
    rows.loc[(rows["metric"] == "valid_share_10") & (rows["decoder"] == "best"), "value"] = 0.5
    assert decoding.section(rows).valid[-1] == ["all", "the others, least", "100.0%", "50.0%", "100.0%", "50.0%"]


@pytest.mark.parametrize("rows", [measured(), measured()[:0], measured().query("split == 'speed'")])
def test_the_template_takes_what_there_is(rows: pd.DataFrame) -> None:
    text = template("operator/decoding.md.j2").render(decoding=decoding.section(rows))
    assert ("Not measured yet" in text) == rows[rows["split"] != "speed"].empty
    assert ("Blocks decoded in a second" in text) == (len(rows) > 0)
    heads = [line.count("|") for line in text.splitlines() if line.startswith("|---") or line.startswith("| ---")]
    assert len(heads) == (8 if len(rows) > 20 else min(1, len(rows)))


def test_other_experiments_are_left_out() -> None:
    other = measured().assign(experiment="quick")
    assert decoding.section(other) == decoding.Section() and decoding.figures(other) == {}


def test_the_figure_has_a_panel_for_each_noise_and_length() -> None:
    figure = decoding.figures(measured())["decoding"]
    assert [ax.get_title(loc="left") for ax in figure.axes] == decoding.section(measured()).columns
    values = {round(line.get_xdata()[0], 6) for line in figure.axes[0].lines if line.get_marker() != "None"}
    assert values == {0.75, 0.79, 0.83, 0.77, 0.81, 0.85}
    assert plots.render(figure, "png") == plots.render(decoding.figures(measured())["decoding"], "png")


def test_names_not_known_come_last() -> None:
    assert decoding_plots.in_order(["new", "best", "none", "hungarian"], decoding_plots.DECODERS) == [
        "hungarian", "best", "new"
    ]  # fmt: skip
    assert decoding_plots.decoder_label("new") == "new"
