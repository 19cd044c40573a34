"""The page of the reproduction: the paper's tables, its claims with sign and size, what is missing."""

from __future__ import annotations

from learned_schedulers.figures import render
from tests.report import made, shown

PAPER = "paper"


def test_tables_and_claims_show_their_rows() -> None:
    text, figures = shown.page("reproduction", shown.evidence(PAPER))
    results = shown.evidence(PAPER).of(PAPER)
    exact = results[(results["metric"] == "exact_match") & (results["method"] == "popocs_20")]
    (value,) = exact[(exact["decoder"] == "hungarian") & (exact["comparison"] == "value")]["value"]
    (accuracy, latency) = shown.cells(text, "POPOCS @20", "Hungarian")
    assert accuracy[0] == f"{100 * value:.1f}%" and len(latency) == 6
    (asked,) = shown.cells(text, "Is accuracy (exact match) higher than Sinkhorn's? POPOCS @20")
    assert asked[:2] == ["> 0", "+4.1 pp"] and asked[3] == "**yes**"
    assert "Not measured yet: `make reproduce`." in text  # experiment quick
    assert set(figures) == {f"{name}_paper_paper" for name in ("accuracy", "figure_3", "training")}


def test_figures_of_a_run_can_be_drawn() -> None:
    rows = made.reproduction()
    run = {"sweep": made.sweep(), "history": made.history(), "examples": made.examples()}
    _, figures = shown.page("reproduction", shown.evidence(results=rows, **run))
    places = {f"{name}_quick_full" for name in ("accuracy", "figure_3", "training")}
    assert set(figures) == places | {"front_pocsnet", "example_quick_full_1", "example_quick_full_2"}
    for draw in figures.values():
        assert render(draw())
