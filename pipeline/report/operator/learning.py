"""Does the operator make the network learn better? Experiment `operator_learning`, and the trials behind it."""

from __future__ import annotations

import pandas as pd

from pipeline.report.evidence import Evidence
from pipeline.report.names import label, mode, spelt
from pipeline.report.numbers import difference, percent, spread, with_interval
from pipeline.report.tables import Line, Table, columns, lines, measured, metric, of, table

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
    *((heading, metric(lambda row: spread(row, percent), name)) for heading, name in _ATTRIBUTED.items()),
]
TRIED = [
    *columns(name="Operator", trials="Trials"),
    *columns(spelt, loss="Best: loss"),
    *columns(proposal="proposal"),
    *columns("{:g}".format, learning_rate="learning rate"),
    *columns(percent, exact_match="exact match", valid_share="valid", worst="Worst: exact match"),
]


def section(evidence: Evidence) -> dict[str, Table]:
    """The section's tables by name; without lines where the experiment was not published."""
    learned, attributed = evidence.of("operator_learning"), evidence.of("operator_learning_attribution")
    by, exact = ["dependencies", "method"], {"decoder": "hungarian", "metric": "exact_match"}
    learned = learned[learned["method"].isin(MODELS)]
    every = lines(attributed[attributed["method"].isin(MODELS.values())], by, {"method": MODELS.values()})
    whole = [line for line in every if all(line.find(metric=name) for name in _ATTRIBUTED.values())]
    return {
        "learned": table(LEARNED, lines(learned, by, {"method": MODELS}, exact), right=2),
        "attribution": table(ATTRIBUTION, whole, right=2),
        "tried": table(TRIED, _tried(evidence.table("trials")), right=4),
    }


def _tried(trials: pd.DataFrame) -> list[Line]:
    """Of the trials with the settings' most frequent optimiser and steps, the best and the worst of each operator.

    The paper's own, which are longer, stand apart.
    """
    alike = trials[(trials["optimiser"] == "adam") & trials["steps"].isin(trials["steps"].mode()[:1])]
    names = alike["method"].where(alike["operator"] == "popocs", "sinkhorn").rename("name")
    groups = [
        (name, group.sort_values("exact_match", ascending=False, kind="stable")) for name, group in alike.groupby(names)
    ]
    return [
        Line(group.iloc[0].to_dict() | {"name": name, "trials": len(group), "worst": group["exact_match"].min()})
        for name, group in groups
    ]
