"""Executed schedules on the page of devices: correlations, makespans, their figure."""

from __future__ import annotations

from learned_schedulers.figures import render
from pipeline.execution import figures
from tests.report import shown


def test_targets_and_methods_are_shown() -> None:
    evidence = shown.evidence("this_machine")
    text, _ = shown.page("devices", evidence)
    rows = evidence.of("this_machine")
    ratios = rows[(rows["method"] == "brkga") & (rows["metric"] == "makespan")].set_index("baseline")["value"]
    expected = [f"{ratios['list_scheduling']:.4f}", f"{ratios['one_device']:.4f}"]
    assert [line[:2] for line in shown.cells(text, "BRKGA")] == [expected]
    assert text.index("| proxy |") < text.index("| bandwidth |") < text.index("| the same schedules in other processes")
    (draw,) = figures.figures(evidence).values()
    assert render(draw())[:4] == b"\x89PNG"


def test_a_missing_execution_is_said() -> None:
    text, drawn = shown.page("devices", shown.evidence("simulator_speed"))
    assert "Not measured yet: `snakemake data/published/this_machine.done`." in text and not drawn
