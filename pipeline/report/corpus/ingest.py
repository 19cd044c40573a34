"""How fast machine code becomes DAGs: from the frozen figures of benchmarks/ingest.py."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd
from matplotlib.figure import Figure

from pipeline.report.corpus import plots as corpus_plots
from pipeline.report.numbers import cell, count, number, percent

EXPERIMENT = "ingest"
GROWTH = ["share_of_corpus", "instructions", "seconds", "peak_memory_gb"]  # reports/published/ingest_growth.csv
_DIGITS = {"wall_over_objdump": 2, "peak_memory_gb": 2}  # others are whole numbers


@dataclass(frozen=True)
class Section:
    """Rows of the section's tables, as text; empty where the benchmark has not been run."""

    measured: list[list[str]]
    growth: list[list[str]]


def section(results: pd.DataFrame, growth: pd.DataFrame) -> Section:
    """`results`: the report's, of all experiments; `growth`: the frozen table."""
    own = results[results["experiment"] == EXPERIMENT].sort_values(["split", "metric"], kind="stable")
    return Section(
        measured=[
            [cell(row["metric"]).replace("_", " "), cell(row["split"]), _with_range(row)]
            for row in own.to_dict("records")
        ],
        growth=[
            [
                percent(row["share_of_corpus"], 0),
                count(row["instructions"]),
                number(row["seconds"], 1),
                count(row["instructions"] / row["seconds"]),
                number(row["peak_memory_gb"], 2),
            ]
            for row in growth.sort_values("instructions").to_dict("records")
        ],
    )


def figures(growth: pd.DataFrame) -> dict[str, Figure]:
    """The section's figure, where the growth was measured."""
    return {"ingest_growth": corpus_plots.growth(growth)} if len(growth) else {}


def _with_range(row: dict) -> str:
    """The value, and the smallest and largest of the repeats where there were some."""
    text = _value(row["metric"], row["value"])
    if pd.isna(row["ci_low"]) or row["ci_low"] == row["ci_high"]:
        return text
    low, high = (_value(row["metric"], row[end]) for end in ("ci_low", "ci_high"))
    return f"{text}<br><small>{low} to {high}</small>"


def _value(metric: str, value: float) -> str:
    if metric in _DIGITS or abs(value) < 10:
        return number(value, _DIGITS.get(metric, 2))
    return count(value)
