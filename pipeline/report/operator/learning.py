"""Does the operator make the network learn better? Experiment `operator_learning`, and the trials behind it."""

from __future__ import annotations

import pandas as pd

from pipeline.report.evidence import Evidence
from pipeline.report.names import label, mode
from pipeline.report.numbers import difference, percent, shown, spread, with_interval
from pipeline.report.tables import Line, Table, lines, metric, of, table

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
    ("Exact match", metric(with_interval, "exact_match", decoder="hungarian")),
    ("less Sinkhorn", metric(difference, decoder="hungarian", **_LESS_SINKHORN)),
    ("Kendall tau distance", metric(with_interval, "kendall_tau_distance", decoder="hungarian")),
    ("Violations per block", metric(with_interval, "violations_per_block", decoder="hungarian")),
    ("Valid", metric(with_interval, "valid_share", decoder="hungarian")),
    ("Exact, topological fill", metric(with_interval, "exact_match", decoder="topological")),
    ("Exact, best legal order", metric(with_interval, "exact_match", decoder="best")),
]
_ATTRIBUTED = {
    "Exact match as trained": "exact_match_as_trained",
    "projected at test time": "exact_match_projected_at_test_time",
    "Missed blocks without gradient": "missed_without_gradient_share",
}
ATTRIBUTION = [
    ("Dependencies", of("dependencies", mode)),
    ("Operator", of("method", lambda model: label(next(k for k, name in MODELS.items() if name == model)))),
    *((heading, metric(lambda row: spread(row, percent), name)) for heading, name in _ATTRIBUTED.items()),
]
_HEAD = [
    *("Operator", "Trials", "Best: loss", "proposal", "learning rate", "exact match", "valid"),
    "Worst: exact match",
]


def section(evidence: Evidence) -> dict[str, Table]:
    """The section's tables by name; without lines where the experiment was not published."""
    by = ["dependencies", "method"]
    learned, attributed = evidence.of("operator_learning"), evidence.of("operator_learning_attribution")
    exact = {"decoder": "hungarian", "metric": "exact_match"}
    return {
        "learned": table(
            LEARNED, lines(learned[learned["method"].isin(MODELS)], by, {"method": MODELS}, exact), right=2
        ),
        "attribution": table(ATTRIBUTION, _attributed(attributed), right=2),
        "tried": Table(_HEAD, _tried(evidence.table("trials")), right=4),
    }


def _attributed(rows: pd.DataFrame) -> list[Line]:
    """Operators of which every share was measured."""
    own = rows[rows["method"].isin(MODELS.values())]
    every = lines(own, ["dependencies", "method"], {"method": MODELS.values()})
    return [line for line in every if all(line.find(metric=name) for name in _ATTRIBUTED.values())]


def _tried(trials: pd.DataFrame) -> list[list[str]]:
    """Of the trials with the settings' most frequent optimiser and steps, the best and the worst of each operator.

    The paper's own, which are longer, stand apart.
    """
    if trials.empty:
        return []
    alike = trials[(trials["optimiser"] == "adam") & (trials["steps"] == trials["steps"].mode()[0])]
    names = alike["method"].where(alike["operator"] == "popocs", "sinkhorn")
    rows = []
    for name, group in alike.groupby(names.rename("name"), sort=True):
        best = group.loc[group["exact_match"].idxmax()]
        chosen = [str(best["loss"]).replace("_", " "), str(best["proposal"]), f"{best['learning_rate']:g}"]
        ends = [best["exact_match"], best["valid_share"], group["exact_match"].min()]
        rows.append([str(name), str(len(group)), *chosen, *(shown("exact_match", end) for end in ends)])
    return rows
