"""Errors of the cost model for each kind of operation, against run times on one core of a machine."""

from __future__ import annotations

from typing import Any

from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.graphs import short
from pipeline.lab.page.names import label, spelt
from pipeline.lab.page.numbers import percent, spread
from pipeline.lab.page.tables import Column, lines, metric, of, table
from pipeline.placement.page.shared import COSTS


def section(evidence: Evidence) -> dict[str, Any]:
    """A line for each kind of operation; kinds that take most of the time come first."""
    rows = evidence.of(COSTS)
    shares = rows[rows["metric"] == "time_share"].sort_values("value", ascending=False)
    order = {"method": shares["method"].tolist()}
    shown: list[Column] = [
        ("Kind", of("method", lambda kind: label("all") if kind == "all" else f"`{spelt(kind)}`")),
        ("Share of the time", metric(lambda row: spread(row, percent), "time_share")),
        ("Predicted over measured", metric(short, "predicted_over_measured")),
        ("Wrong by a factor of", metric(short, "wrong_by_factor")),
    ]
    return {"kinds": table(shown, lines(rows, ["method"], order, {"metric": "time_share"}), right=1)}
