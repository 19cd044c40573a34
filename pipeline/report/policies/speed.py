"""How fast schedules are built, by random actions and by policies: environment_speed and sampling_speed."""

from __future__ import annotations

from typing import Any

import pandas as pd

from pipeline.report.evidence import Evidence
from pipeline.report.names import in_order, label, spelt
from pipeline.report.numbers import Row, count, spread
from pipeline.report.tables import Column, Table, lines, metric, of, table

ENVIRONMENT, SAMPLING = "environment_speed", "sampling_speed"
_PLACES = {"set": "Graphs", "lengths": "Operations", "target": "Sequence"}  # shown where they differ


def section(evidence: Evidence) -> dict[str, Any]:
    """The two tables; without lines where nothing was published."""
    return {"environment": _speeds(evidence.of(ENVIRONMENT)), "sampling": _speeds(evidence.of(SAMPLING))}


def _speeds(rows: pd.DataFrame) -> Table:
    """A line for each method, graph, size and sequence that was timed, a column for each metric."""
    told = [name for name in _PLACES if len(set(rows[name])) > 1]
    shown: list[Column] = [("What", of("method", label))]
    shown += [(_PLACES[name], of(name, spelt)) for name in told]
    pairs = rows[["metric", "comparison", "baseline"]].drop_duplicates()
    by_metric = pairs.sort_values(["comparison", "metric", "baseline"], ascending=[False, True, True])
    for found in by_metric.to_dict("records"):
        over = f", over {spelt(found['baseline'])}" if found["baseline"] != "none" else ""
        query = {name: str(found[name]) for name in ("comparison", "baseline")}
        shown.append((_heading(str(found["metric"])) + over, metric(_short, str(found["metric"]), **query)))
    order = {"method": in_order(rows["method"], ("batched", "single", "gflownet"))}
    return table(shown, lines(rows, ["method", *told], order), right=1 + len(told))


def _heading(name: str) -> str:
    return spelt(name).capitalize().replace(" per second", "/s")


def _short(row: Row | None) -> str:
    return spread(row, lambda found: count(found) if abs(found) >= 100 else f"{found:.3g}")
