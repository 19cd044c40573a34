"""Whether list scheduling and completions can reach the shortest schedule (benchmarks/excluded_optimum.py)."""

from __future__ import annotations

from typing import Any

from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.names import label
from pipeline.lab.page.numbers import share
from pipeline.lab.page.tables import Column, lines, metric, of, table

REACH = "excluded_optimum"
_LABELS = {"insertion": "Insertion into gaps, as HEFT", "completion": "The same, reluctant to cause transfers"}
_GAP = {"baseline": "annealing"}
_COLUMNS: list[Column] = [
    ("Best of 2,000 drawn priorities", of("method", lambda name: _LABELS.get(name, label(name)))),
    ("NVLink", metric(share, "gap", target="nvlink", **_GAP)),
    ("PCIe", metric(share, "gap", target="pcie", **_GAP)),
]


def section(evidence: Evidence) -> dict[str, Any]:
    """The share of excluded optima and the table of gaps; both are empty if the benchmark was not run."""
    rows = evidence.of(REACH)
    gaps = rows[rows["metric"] == "gap"]
    methods = ("list_scheduling", *_LABELS)
    of_metric = {row["metric"]: row for row in rows[rows["metric"] != "gap"].to_dict("records")}
    if not of_metric:
        return {"gaps": ""}
    decided, excluded = of_metric["decided"], of_metric["excluded_share"]
    return {
        "gaps": table(_COLUMNS, lines(gaps, ["method"], {"method": methods}), right=1),
        "graphs": f"{decided['n']}",
        "decided": f"{decided['value']:.0f}",
        "excluded": f"{decided['value'] * excluded['value']:.0f}",
        "share": share(excluded),
    }
