"""Orders timed on a processor: methods against GCC, repeatability of the timing, how well models rank orders."""

from __future__ import annotations

from functools import partial
from typing import Any

import pandas as pd

from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.names import in_order, set_label
from pipeline.lab.page.numbers import cell, code, count, number, percent, ratio, spread
from pipeline.lab.page.tables import (
    CHOSEN,
    SCHEDULER,
    TO_GCC,
    Column,
    Line,
    Table,
    columns,
    lines,
    metric,
    records,
    table,
    value,
)

EXPERIMENT = "hardware"
MODELLED = "processors"  # the experiment that made the orders
OWN = "hardware_znver4"  # orders that were made for the processor that they were timed on
EARLIER = "hardware_zen4"  # one series, also with orders of networks whose weights were not stored
RANKS, CEILING = "rank_correlation", "rank_correlation_ceiling"
_REFERENCES = {  # orders without a method
    "gcc_again": "GCC's order, timed again",
    "random_orders": "Random legal orders",
    "best_of_random_orders": "Best of these, chosen by other trials",
}
_fine, _tenths = partial(percent, digits=2), partial(number, digits=1)
QUALITY: list[Column] = [
    *columns(set_label, set="Blocks"),
    *columns(lambda judge: judge.removeprefix(f"{EXPERIMENT}_series_"), judge="Series"),
    ("Timed", value(count, "gcc_cycles_median", "n")),
    ("Share of drawn blocks", value(percent, "timed_share")),
    ("Variation of an order's cycles between halves of its trials: median", value(_fine, "repeat_cv_median")),
    ("mean", value(_fine, "repeat_cv_mean")),
    ("Cycles of GCC's order, with fence (median)", value(_tenths, "gcc_cycles_median")),
    ("Cycles of the fence alone (median)", value(_tenths, "fence_cycles_median")),
]
OUTCOMES = [
    *columns(set_label, set="Blocks"),
    *columns(cell, outcome="Outcome"),
    *columns(count, blocks="Number"),
    *columns(code, example="Example"),
]


def section(evidence: Evidence) -> dict[str, Any]:
    """The section's tables by name; they are empty if nothing was published."""
    timed, on_target = _timed(evidence, EXPERIMENT), _timed(evidence, OWN)
    if not timed:
        return {"quality": Table()}
    rows = evidence.of(EXPERIMENT)
    of_series = rows["judge"].str.startswith(f"{EXPERIMENT}_series_") & (rows["metric"] != "cycles")
    modelled = evidence.settings(MODELLED)
    targets = {*timed["made_for"], *on_target.get("made_for", ())}
    return timed | {
        "settings": evidence.settings(EXPERIMENT).get("timing", {}),
        "not_timed": [name for name in modelled.get("targets", ()) if name not in targets],
        "quality": table(QUALITY, lines(rows[of_series], ["set", "judge"], {"set": modelled.get("sets", ())}), right=1),
        "outcomes": table(OUTCOMES, records(evidence.table("outcomes", EXPERIMENT)), right=2),
        "own": on_target,
        "earlier": _timed(evidence, EARLIER).get("ratios", {}),
    }


def _timed(evidence: Evidence, experiment: str) -> dict[str, Any]:
    """The processors, the targets and the tables of an experiment; empty if it was not published."""
    rows = evidence.of(experiment)
    rows = rows[rows["decoder"].isin(CHOSEN)]
    if rows.empty:
        return {}
    modelled, outcomes = evidence.settings(MODELLED), evidence.table("outcomes")
    sets = in_order(rows["set"], modelled.get("sets", ()))
    return {
        "processors": sorted(set(outcomes.loc[outcomes["experiment"] == experiment, "processor"])),
        "made_for": in_order(set(rows["target"]) - {"none"}, modelled.get("targets", ())),
        "ratios": {set_label(name): _ratios(rows[rows["set"] == name], evidence) for name in sets},
        "references": _references(rows, sets),
        "correlations": _correlations(rows, sets, evidence),
    }


def _references(rows: pd.DataFrame, sets: list[str]) -> Table:
    """Ratios of orders without a method on each set, over all series and for each series."""
    shown = [
        *columns(_REFERENCES.__getitem__, method="Orders"),
        *columns(lambda judge: judge.removeprefix(f"{EXPERIMENT}_series_").replace(EXPERIMENT, "all"), judge="Series"),
    ]
    shown += [(set_label(name), metric(ratio, set=name, **TO_GCC)) for name in sets]
    measured = rows[(rows["metric"] == "cycles") & (rows["target"] == "none")]
    return table(shown, lines(measured, ["method", "judge"], {"method": _REFERENCES}), right=2)


def _ratios(rows: pd.DataFrame, evidence: Evidence) -> Table:
    """Ratio of each method's orders for each processor, over all series; the smallest mean is first."""
    timed = rows[(rows["target"] != "none") & (rows["metric"] == "cycles") & (rows["judge"] == EXPERIMENT)]
    targets = in_order(timed["target"], evidence.settings(MODELLED).get("targets", ()))
    shown = [
        *SCHEDULER,
        *((f"Made for {name}", metric(ratio, target=name, judge=EXPERIMENT, **TO_GCC)) for name in targets),
    ]

    def mean(line: Line) -> float:
        return float(pd.Series([row["value"] for row in line.rows]).mean())

    return table(shown, sorted(lines(timed, ["method", "decoder"]), key=mean), right=2)


def _correlations(rows: pd.DataFrame, sets: list[str], evidence: Evidence) -> Table:
    """Mean correlation of each judge on each set over all series, and the number of blocks."""
    ranking = rows[rows["metric"].isin([RANKS, CEILING]) & (rows["baseline"] == EXPERIMENT)]
    judges = {
        ("itself", RANKS): "Hardware itself: half of the trials against the other half",
        ("itself", CEILING): "A judge that knows the true cycles (noise of trials)",
        ("another_series", RANKS): "Hardware itself, another series",
        ("another_series", CEILING): "A judge that knows the true cycles (noise of series)",
    }
    processors = {name.removeprefix("llvm_mca_").removeprefix("model_") for name in set(ranking["judge"])}
    for name in in_order(processors - {"itself", "another_series"}, evidence.settings(MODELLED).get("targets", ())):
        judges |= {(f"llvm_mca_{name}", RANKS): f"llvm-mca, {name}", (f"model_{name}", RANKS): f"Fast model, {name}"}
    by_judge = {(line["judge"], line["metric"]): line for line in lines(ranking, ["judge", "metric"])}
    shown: list[Column] = columns(label="Ranked by")
    for name in sets:
        query = {"set": name, "baseline": EXPERIMENT}
        shown += [(set_label(name), metric(partial(spread, write=number), **query))]
        shown += [("Blocks", value(count, column="n", **query))]
    labelled = [
        Line({**by_judge[key].place, "label": label}, by_judge[key].rows)
        for key, label in judges.items()
        if key in by_judge
    ]
    return table(shown, labelled, right=1)
