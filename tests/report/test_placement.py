"""The page of placed graphs: its tables agree with the rows, its figures can be drawn, missing numbers are said."""

from __future__ import annotations

import pytest

from learned_schedulers.figures import render
from tests.report import shown


@pytest.mark.slow
def test_every_pair_counts_and_figures_can_be_drawn() -> None:
    evidence = shown.evidence("placement_few", "placement_node_by_node", "placing_speed", "whole_graph_scale")
    text, figures = shown.page("placement", evidence)
    rows = evidence.of("placement_few")
    rows = rows[(rows["method"] == "go") & (rows["set"] == "all") & (rows["target"] == "all")]
    every = rows[(rows["metric"] == "makespan") & (rows["baseline"] == "expert") & (rows["lengths"] == "every")]
    (ratio,) = every[every["iterations"] == "none"]["value"]
    methods = text.partition("## Today's methods on every pair")[2].partition("\n## ")[0]
    assert shown.cells(methods, "GO")[0][1] == f"{100 * (ratio - 1):.1f}%"
    assert set(figures) == {
        *("front_go", "placement_few", "placement_few_seconds", "placement_convergence_seconds", "placement_scale"),
    }
    for draw in figures.values():
        assert render(draw())[:4] == b"\x89PNG"


def test_without_numbers_the_page_says_how_to_make_them() -> None:
    text, figures = shown.page("placement", shown.evidence("decision_speed"))
    assert "Not measured yet: `snakemake data/published/this_machine_placed.done`." in text and not figures
    assert "| Operations | Without a network, seconds |" in text
