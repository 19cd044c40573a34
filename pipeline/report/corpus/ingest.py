"""How fast machine code becomes DAGs: what benchmarks/ingest.py published."""

from __future__ import annotations

from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from pipeline.report.evidence import Evidence
from pipeline.report.names import spelt
from pipeline.report.numbers import cell, count, number, percent, spread, two
from pipeline.report.plots import drawings, subplots, thousands
from pipeline.report.tables import Column, Line, columns, of, records, table

EXPERIMENT = "ingest"
_TWO_DIGITS = (
    *("wall_over_objdump", "processor_time_over_objdump", "peak_memory_gb"),
    *("program_seconds", "program_objdump_seconds", "program_over_allowed"),
)  # others are whole numbers


def measured(line: Line) -> str:
    """The value, and the smallest and largest of the repeats where there were some."""

    def write(size: float) -> str:
        return two(size) if line["metric"] in _TWO_DIGITS or abs(size) < 10 else count(size)

    same = line["low"] == line["high"]
    return write(line["value"]) if same else spread(line.rows[0], write)


MEASURED: list[Column] = [
    ("What", of("metric", lambda name: spelt(cell(name)))),
    *columns(cell, set="Program"),
    ("Measured", measured),
]
GROWTH: list[Column] = [
    ("Share of the corpus", of("share_of_corpus", lambda share: percent(share, 0))),
    *columns(count, instructions="Instructions"),
    ("Seconds", of("seconds", lambda seconds: number(seconds, 1))),
    ("Instructions per second", lambda line: count(line["instructions"] / line["seconds"])),
    *columns(two, peak_memory_gb="Peak memory, GB"),
]


def section(evidence: Evidence) -> dict[str, Any]:
    """The section's tables by name, and its figure; without lines where the benchmark has not been run."""
    rows = evidence.results[evidence.results["experiment"] == EXPERIMENT]
    points = evidence.table("growth").sort_values("instructions")
    return {
        "measured": table(MEASURED, records(rows.sort_values(["set", "metric"], kind="stable")), right=2),
        "growth": table(GROWTH, records(points), right=1),
        "figures": drawings(ingest_growth=(growth, points)),
    }


def growth(points: pd.DataFrame) -> Figure:
    """Time and peak memory against the instructions read; `points`: table `growth`, sorted by instructions."""
    panels = {"seconds": "ELF to DAG table, seconds", "peak_memory_gb": "Peak memory, GB"}
    with subplots(8, 2.9, 1, 2) as (figure, axes):
        for ax, (name, title) in zip(axes[0], panels.items(), strict=True):
            ax.plot(points["instructions"], points[name], "-o", color="#0072b2", markersize=4)
            ax.set(title=title, xlabel="instructions in the files", ylim=(0, 1.1 * points[name].max()))
            ax.set_xlim(left=0)
            thousands(ax.xaxis)
        last = points.iloc[-1]
        axes[0, 0].plot([0, last["instructions"]], [0, last["seconds"]], ":", color="#8a8a8a", zorder=0)
    return figure
