"""The page of orders for processors: numbers of the right rows, figures, and what is missing."""

from __future__ import annotations

import numpy as np
import pandas as pd

from learned_schedulers.figures import render
from pipeline.processors import figures
from tests.report import shown

NAMES = ("first_guess", "guess_ablation", "equal_calls", "processors", "processors_speed", "processor_deviations")


def test_tables_show_their_rows() -> None:
    evidence = shown.evidence(*NAMES)
    text, drawn = shown.page("processors", evidence)
    rows = evidence.of("processors")
    rows = rows[(rows["set"] == "test_10_40") & (rows["method"] == "search") & (rows["baseline"] == "gcc")]
    ratios = rows[(rows["metric"] == "cycles") & (rows["comparison"] == "ratio")].set_index("judge")["value"]
    (cells,) = (line for line in shown.cells(text, "Search", "-") if line[-1] == "3,226")  # blocks of 10 to 40
    assert cells[:2] == [f"{ratios['atom']:.4f}", f"{ratios['silvermont']:.4f}"]
    (asked,) = shown.cells(text, "How far is the first guess above the best known order on atom?")
    assert asked == ["≤ 0.50%", "0.28%", "**yes**"]
    assert len(shown.cells(text, "nothing")) == 1 and shown.cells(text, "atom", "random sequences", "memory_barrier")
    for missing in ("snakemake data/published/schedulers.done", "git restore reports/published/processor_agreement"):
        assert f"Not measured yet: `{missing}`" in text
    assert set(drawn) == {
        "opening_processors", "guess_calls", "processors_pareto", *(f"processors_block_{k}" for k in range(1, 6))
    }  # fmt: skip
    for name in ("guess_calls", "processors_pareto"):
        assert render(drawn[name]())
    front = np.asarray(drawn["processors_pareto"]().axes[0].lines[0].get_ydata())
    assert (np.diff(front) < 0).all()  # no scheduler is better in both


def test_bars_reach_from_issue_to_write_back() -> None:
    order = {"place": 0, "title": "GCC", "slot": [0, 1], "instruction": "nop", "issue": [0, 3], "latency": [3, 1]}
    for ax in figures._timelines(pd.DataFrame(order | {"cycles": 5})).axes:
        assert [(bar.get_x(), bar.get_width()) for bar in ax.patches] == [(0, 3), (3, 1)]
        assert ax.get_title(loc="left") == "GCC: 5 cycles"
