"""The page of policies: numbers beside the papers', gains, exactness; what is missing is said."""

from __future__ import annotations

import pytest

from learned_schedulers.figures import render
from tests.report import shown

SIZES = "gflownet_paper_sizes"


def test_speedups_stand_beside_the_papers_and_gains_are_those_of_the_rows() -> None:
    evidence = shown.evidence(SIZES)
    text, figures = shown.page("policies", evidence)
    rows = evidence.of(SIZES)
    rows = rows[(rows["method"] == "gflownet") & (rows["decoder"] == "best") & (rows["target"] == "latency")]
    (speedup,) = rows[rows["metric"] == "speedup"]["value"]
    (ratio,) = rows[(rows["metric"] == "makespan") & (rows["baseline"] == "ppo")]["value"]
    assert f"{speedup:.2f} | 1.95" in text.partition("| GFlowNet | ")[2].partition("\n")[0]
    gains = shown.cells(text, "GFlowNet", "PPO")
    assert len(gains) == 2 and gains[0][3] == f"{100 * (ratio - 1):+.1f}%"
    (asked,) = shown.cells(text, "Does BRKGA save time over list scheduling on slow links, as in the paper?")
    assert asked[0] == "> 0" and asked[3] == "**no**"
    assert set(figures) == {"front_gflownet", "policies_over_strength", f"policies_training_{SIZES}"}
    assert "Not measured yet: `snakemake data/published/gflownet.done`." in text


@pytest.mark.slow
def test_exactness_is_shown_for_every_graph_and_all_figures_can_be_drawn() -> None:
    text, figures = shown.page("policies", shown.evidence("exact_flow", "gflownet", "gflownet_one_graph"))
    (line,) = shown.cells(text, "in tree 7 on 3", "0.3")
    assert len(line) == 4 and all(0 <= float(cell) < 1 for cell in line)
    assert {"policies_exactness", "policies_probabilities", "policies_sigma", "policies_gantt_gflownet_1"} <= {*figures}
    for draw in figures.values():
        assert render(draw())[:4] == b"\x89PNG"
