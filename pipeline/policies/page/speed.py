"""Speeds of building schedules by random actions and by policies: environment_speed and sampling_speed."""

from __future__ import annotations

from typing import Any

import pandas as pd

from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.graphs import METHOD, digits
from pipeline.lab.page.names import in_order, spelt
from pipeline.lab.page.tables import Column, Table, lines, metric, of, table
from pipeline.policies.page.shared import with_extensions

ENVIRONMENT, SAMPLING = "environment_speed", "sampling_speed"
_PLACES = {"set": "Graphs", "lengths": "Operations", "target": "Sequence"}  # shown if they differ


@with_extensions
def section(evidence: Evidence) -> dict[str, Any]:
    """The two tables; they are empty if nothing was published."""
    return {"environment": _speeds(evidence.of(ENVIRONMENT)), "sampling": _speeds(evidence.of(SAMPLING))}


def _speeds(rows: pd.DataFrame) -> Table:
    """A line for each method, graph, size and sequence that was timed, a column for each metric."""
    places = [name for name in _PLACES if len(set(rows[name])) > 1]
    shown: list[Column] = [METHOD]
    shown += [(_PLACES[name], of(name, spelt)) for name in places]
    pairs = rows[["metric", "comparison", "baseline"]].drop_duplicates()
    by_metric = pairs.sort_values(["comparison", "metric", "baseline"], ascending=[False, True, True])
    for row in by_metric.to_dict("records"):
        over = f", over {spelt(row['baseline'])}" if row["baseline"] != "none" else ""
        query = {name: str(row[name]) for name in ("comparison", "baseline")}
        shown.append((_heading(str(row["metric"])) + over, metric(digits, str(row["metric"]), **query)))
    order = {"method": in_order(rows["method"], ("batched", "single", "gflownet"))}
    return table(shown, lines(rows, ["method", *places], order), right=1 + len(places))


def _heading(name: str) -> str:
    return spelt(name).capitalize().replace(" per second", "/s")
