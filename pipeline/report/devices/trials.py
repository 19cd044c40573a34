"""What was tried of the operator's networks on development graphs, before any test graph was scheduled."""

from __future__ import annotations

from typing import Any

from pipeline.report.evidence import Evidence
from pipeline.report.numbers import Row, code, number, percent, ratio
from pipeline.report.tables import Column, lines, metric, of, table

EXPERIMENT = "slot_trials"
_RATIO = {"comparison": "ratio", "baseline": "list_scheduling", "judge": "simulator"}


def section(evidence: Evidence) -> dict[str, Any]:
    """The section's table, the shortest schedules first; without lines where nothing was published."""
    rows = evidence.of(EXPERIMENT)
    best = rows[rows["metric"] == "makespan"].sort_values(["value", "method"])
    shown: list[Column] = [
        ("Method", of("method", code)),
        ("Best of 1,000", metric(ratio, "makespan", **_RATIO)),
        ("First proposal", metric(ratio, "first_makespan", **_RATIO)),
        ("Loss", metric(_loss, "loss")),
        ("Legal by Hungarian", metric(_share, "valid_share")),
    ]
    return {"tried": table(shown, lines(rows, ["method"], {"method": best["method"]}), right=1)}


def _loss(row: Row | None) -> str:
    return number(None if row is None else row["value"], 3)


def _share(row: Row | None) -> str:
    return "-" if row is None else percent(row["value"])
