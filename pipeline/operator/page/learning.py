"""Experiment `operator_learning`: does a network learn better with the projection?"""

from __future__ import annotations

from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.names import label, mode
from pipeline.lab.page.numbers import difference, with_interval
from pipeline.lab.page.tables import Table, lines, measured, metric, of, table

MODELS = ("sinkhorn", "popocs_20", "popocs_extrapolated", "popocs_nearest")  # methods of the results
_LESS_SINKHORN = {"metric": "exact_match", "comparison": "difference", "baseline": "sinkhorn"}
LEARNED = [
    ("Dependencies", of("dependencies", mode)),
    ("Operator", of("method", label)),
    *measured("exact_match", decoder="hungarian"),
    ("less Sinkhorn", metric(difference, decoder="hungarian", **_LESS_SINKHORN)),
    *measured("kendall_tau_distance", "violations_per_block", "valid_share", decoder="hungarian"),
    ("Exact, topological fill", metric(with_interval, "exact_match", decoder="topological")),
    ("Exact, best legal order", metric(with_interval, "exact_match", decoder="best")),
]


def section(evidence: Evidence) -> dict[str, Table]:
    """The section's table; it is empty if the experiment was not published."""
    learned = evidence.of("operator_learning")
    by, exact = ["dependencies", "method"], {"decoder": "hungarian", "metric": "exact_match"}
    learned = learned[learned["method"].isin(MODELS)]
    return {"learned": table(LEARNED, lines(learned, by, {"method": MODELS}, exact), right=2)}
