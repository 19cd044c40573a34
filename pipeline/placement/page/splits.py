"""Splits of profiled workloads by the rules of their files: milliseconds of each method, and proven optima."""

from __future__ import annotations

from typing import Any

from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.names import label
from pipeline.lab.page.numbers import Row, spread
from pipeline.lab.page.tables import Cell, Column, Line, lines, of, table
from pipeline.placement.page.shared import SPLITS

_METHODS = ("expert", "programme", "go", "go_untaught", "go_open", "go_untaught_open")
_OBJECTIVES = {"load": "largest load", "latency": "latency"}


def section(evidence: Evidence) -> dict[str, Any]:
    """A line for each workload and objective."""
    rows = evidence.of(SPLITS)
    order = {"target": list(_OBJECTIVES)}
    shown: list[Column] = [("Workload", of("set", str)), ("Objective, ms", of("target", _OBJECTIVES.__getitem__))]
    shown += [(label(method), _cell(method)) for method in _METHODS]
    return {"workloads": table(shown, lines(rows[rows["set"] != "all"], ["set", "target"], order), right=2)}


def _cell(method: str) -> Cell:
    def write(line: Line) -> str:
        broken = _row_of(line, method, "rules_broken")
        note = f", breaks {broken['value']:.0f} rules" if broken and broken["value"] else ""
        if method == "programme" and _row_of(line, "optimum", "objective"):
            note = ", proven"
        return spread(_row_of(line, method, "objective"), lambda ms: f"{ms:.1f}{note}", lambda ms: f"{ms:.1f}")

    return write


def _row_of(line: Line, method: str, name: str) -> Row | None:
    return line.find(method=method, metric=name)
