"""Trials of the operator's networks on development graphs, before any test graph was scheduled."""

from __future__ import annotations

from typing import Any

from pipeline.report.devices.shared import LIST
from pipeline.report.evidence import Evidence
from pipeline.report.numbers import code, number, percent, ratio
from pipeline.report.tables import Column, lines, metric, of, table, value

EXPERIMENT = "slot_trials"
_RATIO = {"comparison": "ratio", "baseline": LIST, "judge": "simulator"}


def section(evidence: Evidence) -> dict[str, Any]:
    """The section's table, the shortest schedules first; it is empty if nothing was published."""
    rows = evidence.of(EXPERIMENT)
    best = rows[rows["metric"] == "makespan"].sort_values(["value", "method"])
    shown: list[Column] = [
        ("Method", of("method", code)),
        ("Best of 1,000", metric(ratio, "makespan", **_RATIO)),
        ("First proposal", metric(ratio, "first_makespan", **_RATIO)),
        ("Loss", value(number, "loss")),
        ("Legal by Hungarian", value(percent, "valid_share")),
    ]
    return {"tried": table(shown, lines(rows, ["method"], {"method": best["method"]}), right=1)}
