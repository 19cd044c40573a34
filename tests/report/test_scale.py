"""The page on scale: growth, clusters, faults, and hours of random work."""

from __future__ import annotations

from learned_schedulers.figures import render
from tests.report import shown

EXPERIMENTS = ("blocks_scale", "cluster", "faults", "soak")


def test_every_section_shows_its_rows() -> None:
    evidence = shown.evidence(*EXPERIMENTS)
    text, figures = shown.page("scale", evidence)
    size = evidence.table("scale_sizes").sort_values("blocks").to_dict("records")[-1]
    (line,) = shown.cells(text, str(size["blocks"]))
    assert line[0] == f"{size['instructions']:,}" and line[-1] == f"{size['peak_memory_gb']:.2f}"
    (asked,) = shown.cells(text, "How many gigabytes do 30 million blocks need?")
    assert asked == ["≤ 2.50", f"{size['peak_memory_gb']:.2f}", "**yes**"]
    assert shown.cells(text, "one task of a training died")[0][5] == "0"
    assert (
        shown.cells(text, "all", "All")[0][0]
        == shown.cells(text, "How many faults were injected into runs of the pipeline?")[0][1]
    )
    (draw,) = figures.values()
    assert render(draw())[:4] == b"\x89PNG"


def test_each_missing_benchmark_is_named() -> None:
    text, figures = shown.page("scale", shown.evidence("graphs_stored"))
    for command in ("python -m benchmarks.cluster", "git restore reports/published/faults"):
        assert f"Not measured yet: `{command}`." in text
    assert not figures
