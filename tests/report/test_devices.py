"""The page of computation graphs on several devices: its tables agree with the rows, its figures can be drawn."""

from __future__ import annotations

import pytest

from learned_schedulers.figures import render
from tests.report import shown


@pytest.mark.slow
def test_numbers_are_those_of_the_rows_and_figures_can_be_drawn() -> None:
    evidence = shown.evidence("devices", "excluded_optimum")
    text, figures = shown.page("devices", evidence)
    rows = evidence.of("devices")
    rows = rows[(rows["set"] == "unseen_real") & (rows["method"] == "randomised_list") & (rows["decoder"] == "best")]
    rows = rows[(rows["baseline"] == "list_scheduling") & (rows["metric"] == "makespan")]
    ratios = rows.set_index("target")["value"]
    first = shown.cells(text, "Randomised list")[0]
    assert first[:4] == [f"{ratios[target]:.4f}" for target in ("proxy", "noisy", "bandwidth", "latency")]
    (asked,) = shown.cells(text, "Do random priorities save time over list scheduling on `bandwidth`?")
    assert asked[1] == f"{100 * (1 - ratios['bandwidth']):.1f}%"
    assert {"opening_devices", "devices_gantt_1", "devices_memory", "devices_anytime"} <= {*figures}
    for draw in figures.values():
        assert render(draw())[:4] == b"\x89PNG"
    assert "Insertion into gaps, as HEFT" in text


def test_the_page_says_what_is_missing() -> None:
    text, figures = shown.page("devices", shown.evidence("simulator_speed"))
    assert "Not measured yet: `snakemake data/published/devices.done`." in text and not figures
    (asked,) = shown.cells(text, "Simulated schedules of 50 operations per second?")
    assert asked[0] == "≥ 200,000"
