"""Gaps to the best makespans known, by set and method (published by benchmarks/outside_instances.py)."""

from __future__ import annotations

from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from pipeline.lab.page.asked import Question, answered
from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.numbers import count, share
from pipeline.lab.page.panels import panels, styles
from pipeline.lab.page.plots import drawings, shares
from pipeline.lab.page.tables import Column, lines, metric, of, table

EXPERIMENT = "outside_instances"
QUESTIONS = {  # by claim
    "outside_instances": Question("How many instances of others have a makespan of every method?", count),
    "outside_better_than_proven": Question("How many makespans are below a bound that others have proven?", count),
    "jobshop_gap_greedy": Question("How far above Taillard's best known is the policy's greedy schedule?"),
    "jobshop_gap_512": Question("How far is the best of its 512 schedules?"),
    "outside_bound_above_best": Question("How many bounds of ours are above a makespan of others?", count),
}
_METHODS = {
    "shortest_first": "Shortest processing time",
    "most_work_remaining": "Most work remaining",
    "best_rule": "Best of eight rules",
    "randomised_rules": "Best rule, randomised, 512 schedules",
    "job_shop_policy": "Policy, one greedy schedule",
    "job_shop_policy_512": "Policy, 512 schedules",
    "cp_sat": "CP-SAT",
}
_SETS = {
    "psplib_j30": "PSPLIB, 30 activities",
    "psplib_j60": "PSPLIB, 60 activities",
    "classical": "classical job-shops",
    "taillard": "Taillard's job-shops",
}
_BEST = {"baseline": "best_known"}
_COLUMNS: list[Column] = [
    ("Instances", of("set", lambda name: _SETS.get(name, name))),
    ("Method", of("method", lambda name: _METHODS.get(name, name))),
    ("Number", metric(lambda row: "-" if row is None else count(row["n"]), "gap", **_BEST)),
    ("Above the best known", metric(share, "gap", **_BEST)),
    ("Best known reached", metric(share, "best_known_share", **_BEST)),
    ("Proven here", metric(share, "proven_optimal_share", **_BEST)),
]


def section(evidence: Evidence) -> dict[str, Any]:
    """The claims, the table of sets and methods, and the figure of gaps; empty if the benchmark was not run."""
    rows = evidence.of(EXPERIMENT)
    of_sets = rows[rows["baseline"] == _BEST["baseline"]]
    order = {"set": [*_SETS], "method": [*_METHODS]}
    return {
        "questions": answered(evidence.claims, QUESTIONS),
        "gaps": table(_COLUMNS, lines(of_sets, ["set", "method"], order), right=2),
        "figures": drawings(outside_gaps=(gaps_by_set, of_sets[of_sets["metric"] == "gap"])),
    }


def gaps_by_set(rows: pd.DataFrame) -> Figure:
    """A panel for each set, a mark for each method with its interval."""
    sets = [name for name in (*_SETS, *sorted({*rows["set"]} - {*_SETS})) if name in set(rows["set"])]
    names = [name for name in (*_METHODS, *sorted({*rows["method"]} - {*_METHODS})) if name in set(rows["method"])]
    style = styles(names)
    with panels(sets, 2, 2.7, 1.9, style, 2, lambda name: _METHODS.get(name, name), linestyle="") as (figure, axes):
        for ax, of_set in zip(axes, sets, strict=True):
            for line in rows[rows["set"] == of_set].to_dict("records"):
                place = names.index(line["method"])
                ax.vlines(place, line["low"], line["high"], color=style[line["method"]]["color"], linewidth=1.2)
                ax.plot(place, line["value"], markersize=6, linestyle="", **style[line["method"]])
            ax.set(title=_SETS.get(of_set, of_set), xticks=[], xlim=(-0.5, len(names) - 0.5), ylim=(0, None))
            shares(ax.yaxis)
        for ax in axes[::2]:
            ax.set_ylabel("above the best known")
    return figure
