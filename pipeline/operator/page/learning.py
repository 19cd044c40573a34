"""Experiment `operator_learning`: does a network learn better with the projection?"""

from __future__ import annotations

from functools import partial

from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.names import label, mode
from pipeline.lab.page.numbers import difference, percent, spread, with_interval
from pipeline.lab.page.tables import Table, lines, measured, metric, of, table

MODELS = {  # method of the results -> model of the experiment
    "sinkhorn": "sinkhorn",
    "popocs_20": "popocs",
    "popocs_extrapolated": "popocs_extrapolated",
    "popocs_nearest": "popocs_nearest",
}
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
_ATTRIBUTED = {
    "Exact match as trained": "exact_match_as_trained",
    "projected at test time": "exact_match_projected_at_test_time",
}
ATTRIBUTION = [
    ("Dependencies", of("dependencies", mode)),
    ("Operator", of("method", lambda model: label(next(k for k, name in MODELS.items() if name == model)))),
    *((heading, metric(partial(spread, write=percent), name)) for heading, name in _ATTRIBUTED.items()),
]


def section(evidence: Evidence) -> dict[str, Table]:
    """The section's tables by name; they are empty if the experiment was not published."""
    learned, attributed = evidence.of("operator_learning"), evidence.of("operator_learning_attribution")
    by, exact = ["dependencies", "method"], {"decoder": "hungarian", "metric": "exact_match"}
    learned = learned[learned["method"].isin(MODELS)]
    every = lines(attributed[attributed["method"].isin(MODELS.values())], by, {"method": MODELS.values()})
    whole = [line for line in every if all(line.find(metric=name) for name in _ATTRIBUTED.values())]
    return {
        "learned": table(LEARNED, lines(learned, by, {"method": MODELS}, exact), right=2),
        "attribution": table(ATTRIBUTION, whole, right=2),
    }
