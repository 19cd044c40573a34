"""How fast machine code becomes DAGs, as published by benchmarks/ingest.py."""

from __future__ import annotations

from typing import Any

from pipeline.lab.page.anchors import anchors
from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.names import spelt
from pipeline.lab.page.numbers import cell, count, number, percent, spread, two
from pipeline.lab.page.tables import Column, Line, columns, of, records, table

EXPERIMENT = "ingest"
_TWO_DIGITS = (
    *("wall_over_objdump", "processor_time_over_objdump", "peak_memory_gb"),
    *("program_seconds", "program_objdump_seconds", "program_over_allowed"),
)  # all further metrics are whole numbers


def measured(line: Line) -> str:
    """The value, and the smallest and largest of the repeats if it was repeated."""

    def write(size: float) -> str:
        return two(size) if line["metric"] in _TWO_DIGITS or abs(size) < 10 else count(size)

    same = line["low"] == line["high"]
    return anchors(line.rows[0]) + (write(line["value"]) if same else spread(line.rows[0], write))


MEASURED: list[Column] = [
    ("Quantity", of("metric", lambda name: spelt(cell(name)))),
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
    """The section's tables by name; they are empty if the benchmark was not run."""
    rows = evidence.results[evidence.results["experiment"] == EXPERIMENT]
    return {
        "measured": table(MEASURED, records(rows.sort_values(["set", "metric"], kind="stable")), right=2),
        "growth": table(GROWTH, records(evidence.table("growth").sort_values("instructions")), right=1),
    }
