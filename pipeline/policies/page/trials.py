"""Trials of the policies on development graphs, before any test graph was scheduled."""

from __future__ import annotations

from typing import Any

import pandas as pd

from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.graphs import LIST
from pipeline.lab.page.names import set_label
from pipeline.lab.page.numbers import code, ratio
from pipeline.lab.page.tables import Column, Table, lines, metric, of, table
from pipeline.policies.page.shared import RULES, targets, with_extensions

EXPERIMENT = "policy_trials"
_RATIO = {"comparison": "ratio", "baseline": LIST, "judge": "simulator"}


@with_extensions
def section(evidence: Evidence) -> dict[str, Any]:
    """A table for each development set and rule that selects the kept schedules; empty if nothing was published."""
    rows = evidence.of(EXPERIMENT)
    tables = {
        f"{set_label(str(name)).capitalize()}; {RULES.get(str(rule), str(rule))}": _table(frame)
        for (name, rule), frame in rows.groupby(["set", "decoder"], sort=True)
    }
    return {"tables": tables}


def _table(rows: pd.DataFrame) -> Table:
    """Makespans over list scheduling's, the shortest over all targets first."""
    products = rows[rows["metric"] == "makespan"].groupby("method")["value"].prod().sort_values(kind="stable")
    shown: list[Column] = [("Method", of("method", code))]
    shown += [(target, metric(ratio, "makespan", target=target, **_RATIO)) for target in targets(rows)]
    return table(shown, lines(rows, ["method"], {"method": map(str, products.index)}), right=1)
