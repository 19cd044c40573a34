"""The speed of the simulator of schedules by the size of graphs, and how exact it is."""

from __future__ import annotations

from typing import Any

from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.names import spelt
from pipeline.lab.page.numbers import Row, count, spread
from pipeline.lab.page.tables import Column, Line, columns, metric, of, records, table

EXPERIMENT = "simulator_speed"


def _per_second(row: Row | None) -> str:
    return spread(row, count)


SPEEDS: list[Column] = [
    ("Operations", of("lengths", lambda text: count(float(text)))),
    ("Schedules/s", metric(_per_second, "schedules_per_second")),
]


def section(evidence: Evidence) -> dict[str, Any]:
    """The section's tables; they are empty if nothing was published."""
    rows = evidence.results[evidence.results["experiment"] == EXPERIMENT]
    speeds = rows[rows["metric"] == "schedules_per_second"].assign(size=lambda frame: frame["lengths"].astype(float))
    lines = [Line({"lengths": row["lengths"]}, [row]) for row in speeds.sort_values("size").to_dict("records")]
    checked = rows[rows["metric"] != "schedules_per_second"].sort_values("metric")
    checks = columns(spelt, metric="Quantity", lengths="Operations")
    return {
        "speeds": table(SPEEDS, lines, right=1),
        "checks": table([*checks, ("Value", of("value", lambda size: f"{size:.3g}"))], records(checked), right=2),
    }
