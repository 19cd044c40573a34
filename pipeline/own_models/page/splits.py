"""Modules that run by random splits, beside themselves (frozen)."""

from __future__ import annotations

from typing import Any

from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.numbers import count, percent
from pipeline.lab.page.tables import Column, lines, of, table, value

SMALL, NETWORKS = "own_split", "own_split_networks"
_WHICH = {SMALL: "small modules of all kinds", NETWORKS: "whole networks"}
_SPLITS: list[Column] = [
    ("Modules", of("experiment", lambda name: _WHICH[name])),
    ("Number", value(count, "modules")),
    ("Refused", value(count, "modules_refused")),
    ("Splits", value(count, "splits")),
    ("Tensors compared", value(count, "tensors")),
    ("Modules that differ", value(count, "modules_different")),
]


def section(evidence: Evidence) -> dict[str, Any]:
    """The section's table and the control's share; they are empty if the benchmark was not run."""
    rows = evidence.of(SMALL, NETWORKS)
    control = rows[(rows["method"] == "control") & (rows["metric"] == "share_detected")]
    every = lines(rows[rows["method"] == "random_splits"], ["experiment"], {"experiment": list(_WHICH)})
    return {
        "table": table(_SPLITS, every, right=1),
        "detected": percent(float(control["value"].iloc[0])) if len(control) else "",
        "cases": count(float(control["n"].iloc[0])) if len(control) else "",
        "missing": [name for name in _WHICH if not (rows["experiment"] == name).any()],
    }
