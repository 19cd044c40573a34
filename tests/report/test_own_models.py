"""The page of users' own models: what is read, what it costs, splits and waiting."""

from __future__ import annotations

from learned_schedulers.figures import render
from tests.report import shown

EXPERIMENTS = ("own_models", "own_model_times", "own_model_memory", "own_split", "own_graph_answer")


def test_every_section_shows_its_rows() -> None:
    evidence = shown.evidence(*EXPERIMENTS)
    text, figures = shown.page("own_models", evidence)
    rows = evidence.of("own_models").set_index(["set", "method", "metric"])["value"]
    assert shown.cells(text, "torch modules")[0][0] == f"{rows['modules', 'graph', 'models']:.0f}"
    (asked,) = shown.cells(text, "How far are FLOPs from hand calculation and torch's counter?")
    assert asked == ["≤ 5.00%", f"{100 * rows['all', 'all', 'flops_error']:.2f}%", "**yes**"]
    refused = shown.cells(text, "`graph`", "Ssdlite")
    assert len(refused) == 1 and "\\_" in refused[0][0] and "__" not in refused[0][0]
    assert shown.cells(text, "Random splits")[0][-2] == "0" and len(shown.cells(text, "`--by go`")) == 2
    assert set(figures) == {"own_models_totals", "own_models_times"}
    for draw in figures.values():
        assert render(draw())[:4] == b"\x89PNG"


def test_each_missing_benchmark_is_named() -> None:
    text, _ = shown.page("own_models", shown.evidence("own_split_answer"))
    for name in ("own_model_times", "gpu_times", "own_model_memory", "graph_answer"):
        assert f"Not measured yet: `python -m benchmarks.{name}`." in text, name
    for name in ("own_models", "own_split", "own_split_networks"):
        assert f"Not measured yet: `git restore reports/published/{name}`." in text, name
