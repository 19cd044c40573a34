"""Does the operator make the network learn better? Experiment `operator_learning`, and the trials behind it."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from pipeline.report import plots
from pipeline.report.numbers import interval, percent, shown, signed, with_interval

EXPERIMENT = "operator_learning"
MODELS = {  # scheduler of the results -> model of the experiment
    "sinkhorn": "sinkhorn",
    "popocs_20": "popocs",
    "popocs_extrapolated": "popocs_extrapolated",
    "popocs_nearest": "popocs_nearest",
}
_ATTRIBUTION = ["exact_match_as_trained", "exact_match_projected_at_test_time", "missed_without_gradient_share"]


@dataclass(frozen=True)
class Section:
    """Rows of the section's tables, as text; empty where the experiment was not published."""

    learned: list[list[str]]
    tried: list[list[str]]
    attribution: list[list[str]]


def section(results: pd.DataFrame, trials: pd.DataFrame) -> Section:
    """`results`: the report's, of all experiments; `trials`: what was tried, may be empty."""
    own = results[(results["experiment"] == EXPERIMENT) & (results["seed"] == "all")]
    modes = sorted(set(own["dependencies"]))
    return Section(
        learned=[row for mode in modes for row in _learned(own[own["dependencies"] == mode], mode)],
        tried=_tried(trials),
        attribution=[row for mode in modes for row in _attribution(own[own["dependencies"] == mode], mode)],
    )


def _learned(rows: pd.DataFrame, mode: str) -> list[list[str]]:
    """Dependencies, operator; exact, less Sinkhorn's, tau, violations, valid (Hungarian); exact, decoded legally."""
    found = {(r["scheduler"], r["decoder"], r["metric"]): r for _, r in rows[rows["split"] == "test"].iterrows()}
    table = []
    for scheduler in MODELS:
        if (scheduler, "hungarian", "exact_match") not in found:
            continue
        cells = [f"`{mode}`", plots.label(scheduler)]
        minus = found.get((scheduler, "hungarian", "exact_match_minus_sinkhorn"))
        cells.append(with_interval("exact_match", found[scheduler, "hungarian", "exact_match"]))
        cells.append("-" if minus is None else f"{signed(minus['value'])}{interval(minus)}")
        for metric in ("kendall_tau_distance", "violations_per_block", "valid_share"):
            cells.append(with_interval(metric, found.get((scheduler, "hungarian", metric))))
        for decoder in ("topological", "best"):
            cells.append(with_interval("exact_match", found.get((scheduler, decoder, "exact_match"))))
        table.append(cells)
    return table


def _tried(trials: pd.DataFrame) -> list[list[str]]:
    """Operator, number of trials; loss, proposal, rate, exact match and validity of the best; exact match of the worst.

    Of trials with the settings' most frequent optimiser and steps: the paper's own, which are longer, stand apart.
    """
    if trials.empty:
        return []
    alike = trials[(trials["optimiser"] == "adam") & (trials["steps"] == trials["steps"].mode()[0])]
    names = alike["method"].where(alike["operator"] == "popocs", "sinkhorn")
    rows = []
    for name, group in alike.groupby(names.rename("name"), sort=True):
        best = group.loc[group["exact_match"].idxmax()]
        rows.append(
            [
                str(name), str(len(group)), str(best["loss"]).replace("_", " "), str(best["proposal"]),
                f"{best['learning_rate']:g}", shown("exact_match", best["exact_match"]),
                shown("valid_share", best["valid_share"]), shown("exact_match", group["exact_match"].min()),
            ]
        )  # fmt: skip
    return rows


def _attribution(rows: pd.DataFrame, mode: str) -> list[list[str]]:
    """Dependencies, operator, and the shares of benchmarks/learning_attribution.py with the range over seeds."""
    found = {(r["scheduler"], r["metric"]): r for _, r in rows[rows["split"] == "development"].iterrows()}
    table = []
    for scheduler, model in MODELS.items():
        if all((model, metric) in found for metric in _ATTRIBUTION):
            cells = [_with_range(found[model, metric]) for metric in _ATTRIBUTION]
            table.append([f"`{mode}`", plots.label(scheduler), *cells])
    return table


def _with_range(row: pd.Series) -> str:
    return f"{percent(row['value'])}<br><small>{percent(row['ci_low'])} to {percent(row['ci_high'])}</small>"
