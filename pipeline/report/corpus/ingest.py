"""How fast machine code becomes DAGs: what benchmarks/ingest.py published."""

from __future__ import annotations

from functools import partial
from typing import Any

import pandas as pd

from pipeline.report.corpus import plots
from pipeline.report.evidence import Evidence
from pipeline.report.names import spelt
from pipeline.report.numbers import cell, count, number, percent, spread
from pipeline.report.plots import Drawing
from pipeline.report.tables import Column, Line, of, records, table

EXPERIMENT = "ingest"
_DIGITS = {"wall_over_objdump": 2, "peak_memory_gb": 2}  # others are whole numbers


def measured(line: Line) -> str:
    """The value, and the smallest and largest of the repeats where there were some."""

    def write(size: float) -> str:
        name = line["metric"]
        return number(size, _DIGITS.get(name, 2)) if name in _DIGITS or abs(size) < 10 else count(size)

    same = line["low"] == line["high"]
    return write(line["value"]) if same else spread(line.rows[0], write)


MEASURED: list[Column] = [
    ("What", of("metric", lambda name: spelt(cell(name)))),
    ("Source", of("set", cell)),
    ("Measured", measured),
]
GROWTH: list[Column] = [
    ("Share of the corpus", of("share_of_corpus", lambda share: percent(share, 0))),
    ("Instructions", of("instructions", count)),
    ("Seconds", of("seconds", lambda seconds: number(seconds, 1))),
    ("Instructions per second", lambda line: count(line["instructions"] / line["seconds"])),
    ("Peak memory, GB", of("peak_memory_gb", lambda size: number(size, 2))),
]


def section(evidence: Evidence) -> dict[str, Any]:
    """The section's tables by name; without lines where the benchmark has not been run."""
    rows = evidence.results[evidence.results["experiment"] == EXPERIMENT]
    return {
        "measured": table(MEASURED, records(rows.sort_values(["set", "metric"], kind="stable")), right=2),
        "growth": table(GROWTH, records(_growth(evidence)), right=1),
    }


def figures(evidence: Evidence) -> dict[str, Drawing]:
    """The section's figure, where the growth was measured."""
    points = _growth(evidence)
    return {"ingest_growth": partial(plots.growth, points)} if len(points) else {}


def _growth(evidence: Evidence) -> pd.DataFrame:
    points = evidence.table("growth")
    return points.sort_values("instructions") if len(points) else points
