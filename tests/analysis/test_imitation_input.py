"""GCC 7.3's experiment in the report: each network on its own blocks, beside the simple schedulers."""

from __future__ import annotations

import pandas as pd
import pytest

from pipeline.config.params import load
from pipeline.report.imitation import input as imitation_input
from pipeline.report.templates import template
from pipeline.wiring import ROOT
from tests.analysis import imitations, limits

PARAMS = load(ROOT / "params.yaml")


def section(results: pd.DataFrame | None = None, imitated: dict | None = None) -> imitation_input.Section:
    """Of made-up rows in no order of their own, or of those given."""
    shown = limits.input_results().sample(frac=1, random_state=0) if results is None else results
    return imitation_input.section(shown, PARAMS.imitations if imitated is None else imitated, PARAMS.sets)


def render(found: imitation_input.Section) -> str:
    return template("imitation/input.md.j2").render(input=found)


def test_either_network_is_shown_on_its_own_blocks() -> None:
    rows = section().rows
    assert [line[:3] for line in rows] == [
        [f"GCC 7.3, {order}", name, decoder]
        for order, model in (("order before scheduling", "From input"), ("random order", "From shuffled"))
        for name, decoder in (
            *((model, "greedy"), (model, "beam search")),
            *(("Random legal", "-"), ("Input order", "-"), ("Critical path", "-")),
        )
    ]
    assert rows[0][3:] == [
        "70.0%<br><small>69.0 to 71.0</small>",
        "60.0%<br><small>59.0 to 61.0</small>",
        "0.060<br><small>0.050 to 0.070</small>",
        "900",
    ]


def test_the_two_are_compared_by_the_leading_decoder() -> None:
    found = section()
    assert found.decoder == "greedy"
    exact, several, tau = found.against
    assert exact[1].startswith("70.0%") and exact[2].startswith("60.0%")
    assert [line[3:] for line in (exact, several, tau)] == [
        ["+10.0 points", "yes"],
        ["+10.0 points", "yes"],
        ["-0.020", "no"],  # 0.050 to 0.070 against 0.070 to 0.090
    ]


def test_intervals_that_meet_are_said_to() -> None:
    results = limits.input_results()
    drawn = (results["scheduler"] == "from_shuffled") & (results["metric"] == "exact_match")
    results.loc[drawn, "ci_high"] = 0.695
    assert section(results).against[0][4] == "no"


def test_one_network_alone_is_shown_without_a_comparison() -> None:
    results = limits.input_results()
    found = section(results[results["scheduler"] != "from_shuffled"])
    assert found.against == [] and len(found.rows) == 2 + 3 + 3
    assert "Difference" not in render(found)


def test_published_rows_are_shown_without_the_parameters() -> None:
    found = section(imitated={})
    assert len(found.rows) == 2 * (2 * 2 + 3) and found.against == []


def test_what_was_not_measured_is_named_with_its_command() -> None:
    text = render(section(imitations.results()))
    assert "Not measured yet: `snakemake data/published/imitation_input.done`" in text and "|" not in text


def test_it_is_labelled_gcc_7_and_shown_apart() -> None:
    text = render(section())
    assert "**GCC 7.3**" in text and "Not measured" not in text
    assert "4 to 40" not in text
    both = pd.concat([limits.input_results(), imitations.results()])
    assert section(both) == section()


@pytest.mark.parametrize("name", ["compiled_test", "shuffled_test"])
def test_the_parameters_still_name_these_sets(name: str) -> None:
    assert name in PARAMS.imitations["imitation_input"].tested
