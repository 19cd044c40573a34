"""Forms of functions that were run from equal states (frozen)."""

from __future__ import annotations

from typing import Any

from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.numbers import count, percent
from pipeline.lab.page.tables import Column, lines, of, table, value

EXPERIMENT, SETS = "before_allocation_states", ("training", "development", "test", "all")
_COLUMNS: list[Column] = [
    ("Functions", of("set")),
    ("Number", value(count, "functions_run", column="n")),
    ("Of these run", value(percent, "functions_run")),
    ("Comparisons", value(count, "state_runs")),
    ("Differ", value(count, "different")),
    ("States left out", value(percent, "states_undefined")),
    ("Controls that differ", value(percent, "controls_noticed")),
]


def section(evidence: Evidence) -> dict[str, Any]:
    """The section's table; it is empty if the benchmark was not run."""
    return {"table": table(_COLUMNS, lines(evidence.of(EXPERIMENT), ["set"], {"set": SETS}), right=1)}
