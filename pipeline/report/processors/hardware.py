"""Orders timed on a processor: methods against GCC, how well the timing repeats, how well models rank orders."""

from __future__ import annotations

from functools import partial
from typing import Any

import pandas as pd

from pipeline.report.evidence import Evidence
from pipeline.report.names import in_order, set_label
from pipeline.report.numbers import cell, code, count, number, percent, ratio, spread
from pipeline.report.processors.cycles import CHOSEN
from pipeline.report.processors.cycles import EXPERIMENT as MODELLED
from pipeline.report.tables import SCHEDULER, Column, Line, Table, columns, lines, metric, records, table, value

EXPERIMENT = "hardware"
OWN = "hardware_znver4"  # orders that were made for the processor that they were timed on
EARLIER = "hardware_zen4"  # one series, of orders of networks, too, whose weights were not kept
_TO_GCC = {"metric": "cycles", "comparison": "ratio", "baseline": "gcc"}
RANKS, CEILING = "rank_correlation", "rank_correlation_ceiling"
_REFERENCES = {  # orders that no method is behind
    "gcc_again": "GCC's order, timed again",
    "random_orders": "Random legal orders",
    "best_of_random_orders": "Best of these, by other trials",
}
_fine, _tenths = partial(percent, digits=2), partial(number, digits=1)
QUALITY: list[Column] = [
    *columns(set_label, set="Blocks"),
    *columns(lambda judge: judge.removeprefix(f"{EXPERIMENT}_series_"), judge="Series"),
    ("Timed", value(count, "gcc_cycles_median", "n")),
    ("Share of those drawn", value(percent, "timed_share")),
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
    """The section's tables by name; without lines where nothing was published."""
    rows, outcomes = evidence.of(EXPERIMENT), evidence.table("outcomes", EXPERIMENT)
    rows = rows[rows["decoder"].isin(CHOSEN)]
    if rows.empty:
        return {"quality": Table()}
    sets = in_order(rows["set"], evidence.settings(MODELLED).get("sets", ()))
    made_for = in_order(set(rows["target"]) - {"none"}, evidence.settings(MODELLED).get("targets", ()))
    of_series = rows["judge"].str.startswith(f"{EXPERIMENT}_series_")
    series = lines(rows[of_series & (rows["metric"] != "cycles")], ["set", "judge"], {"set": sets})
    own = _own(evidence)
    timed = {*made_for, *own.get("made_for", ())}
    earlier = evidence.of(EARLIER)
    earlier = earlier[earlier["decoder"].isin(CHOSEN)]
    return {
        "settings": evidence.settings(EXPERIMENT).get("timing", {}),
        "processors": sorted(set(outcomes["processor"])),
        "made_for": made_for,
        "not_timed": [name for name in evidence.settings(MODELLED).get("targets", ()) if name not in timed],
        "ratios": {set_label(name): _ratios(rows[rows["set"] == name], evidence) for name in sets},
        "references": _references(rows, sets),
        "quality": table(QUALITY, series, right=1),
        "correlations": _correlations(rows, sets, evidence),
        "outcomes": table(OUTCOMES, records(outcomes), right=2),
        "own": own,
        "earlier": {set_label(name): _ratios(earlier[earlier["set"] == name], evidence) for name in sets},
    }


def _own(evidence: Evidence) -> dict[str, Any]:
    """Tables of orders timed on the processor that they were made for; nothing where that was not published."""
    rows = evidence.of(OWN)
    rows = rows[rows["decoder"].isin(CHOSEN)]
    if rows.empty:
        return {}
    sets = in_order(rows["set"], evidence.settings(OWN).get("sets", ()))
    return {
        "processors": sorted(set(evidence.table("outcomes", OWN)["processor"])),
        "made_for": sorted(set(rows["target"]) - {"none"}),
        "ratios": {set_label(name): _ratios(rows[rows["set"] == name], evidence) for name in sets},
        "references": _references(rows, sets),
        "correlations": _correlations(rows, sets, evidence),
    }


def _references(rows: pd.DataFrame, sets: list[str]) -> Table:
    """Ratios of orders that no method is behind, on each set, over all series and by each."""
    shown = [
        *columns(_REFERENCES.__getitem__, method="Orders"),
        *columns(lambda judge: judge.removeprefix(f"{EXPERIMENT}_series_").replace(EXPERIMENT, "all"), judge="Series"),
    ]
    shown += [(set_label(name), metric(ratio, set=name, **_TO_GCC)) for name in sets]
    measured = rows[(rows["metric"] == "cycles") & (rows["target"] == "none")]
    return table(shown, lines(measured, ["method", "judge"], {"method": _REFERENCES}), right=2)


def _ratios(rows: pd.DataFrame, evidence: Evidence) -> Table:
    """Ratio of each method's orders for each processor, over all series; the fewest cycles on average first."""
    timed = rows[(rows["target"] != "none") & (rows["metric"] == "cycles") & (rows["judge"] == EXPERIMENT)]
    targets = in_order(timed["target"], evidence.settings(MODELLED).get("targets", ()))
    shown = [
        *SCHEDULER,
        *((f"Made for {name}", metric(ratio, target=name, judge=EXPERIMENT, **_TO_GCC)) for name in targets),
    ]

    def mean(line: Line) -> float:
        return float(pd.Series([row["value"] for row in line.rows]).mean())

    return table(shown, sorted(lines(timed, ["method", "decoder"]), key=mean), right=2)


def _correlations(rows: pd.DataFrame, sets: list[str], evidence: Evidence) -> Table:
    """Who ranks; for each set the mean correlation over series, and the blocks that all lines are of."""
    ranking = rows[rows["metric"].isin([RANKS, CEILING]) & (rows["baseline"] == EXPERIMENT)]
    judges = {
        ("itself", RANKS): "Hardware itself: half of the trials against the others",
        ("itself", CEILING): "A judge that knew all but the noise of trials (from this)",
        ("another_series", RANKS): "Hardware itself, another series",
        ("another_series", CEILING): "A judge that knew all but the noise of series (from this)",
    }
    processors = {name.removeprefix("llvm_mca_").removeprefix("model_") for name in set(ranking["judge"])}
    for name in in_order(processors - {"itself", "another_series"}, evidence.settings(MODELLED).get("targets", ())):
        judges |= {(f"llvm_mca_{name}", RANKS): f"llvm-mca, {name}", (f"model_{name}", RANKS): f"Fast model, {name}"}
    by_judge = {(line["judge"], line["metric"]): line for line in lines(ranking, ["judge", "metric"])}
    shown: list[Column] = columns(label="Ranked by")
    for name in sets:
        wanted = {"set": name, "baseline": EXPERIMENT}
        shown += [(set_label(name), metric(lambda row: spread(row, number), **wanted))]
        shown += [("Blocks", value(count, column="n", **wanted))]
    labelled = [
        Line({**by_judge[key].place, "label": label}, by_judge[key].rows)
        for key, label in judges.items()
        if key in by_judge
    ]
    return table(shown, labelled, right=1)
