"""What imitators of GCC were to reach, beside the paper; and whether those of the results do."""

from __future__ import annotations

import math
from dataclasses import dataclass

import pandas as pd

from pipeline.analysis import paper
from pipeline.report.names import DECODERS, decoder_label, in_order, label
from pipeline.report.numbers import count, number, percent, spread
from pipeline.report.tables import Table


@dataclass(frozen=True)
class Goal:
    """A value to be reached on a set; without a set on each of them, so that the worst one counts."""

    question: str
    metric: str
    value: float
    set: str | None = None
    paper: float | None = None  # Jain & Amarasinghe, 2019, Table 1: valid of POPOCS @150, the others of POPOCS @20
    floor: float | None = None
    floor_of: str = ""  # where the floor is of other blocks than the goal
    at_least: bool = True  # else: at most


# Goals and floors: issue 5 of this repository. Shares of 1, blocks per second.
GOALS = (
    Goal(
        "Exact match, 5 instructions", "exact_match", 0.90, "test_5",
        paper=paper.TABLE_1["popocs_20"]["exact_match"], floor=0.82,
    ),
    Goal(
        "Kendall tau distance, 5 instructions", "kendall_tau_distance", 0.02, "test_5",
        paper=paper.TABLE_1["popocs_20"]["kendall_tau_distance"], floor=0.034, at_least=False,
    ),
    Goal(
        "Exact match, 4 to 40 instructions, same programs", "exact_match", 0.80, "test_4_40",
        floor=0.72, floor_of="4 to 20",
    ),
    Goal("Exact match, 4 to 40 instructions, unseen programs", "exact_match", 0.65, "test_programs_4_40"),
    Goal(
        "Valid schedules, each set", "valid_share", 1.0,
        paper=paper.TABLE_1["popocs_150"]["valid_share"], floor=1.0,
    ),
    Goal("Blocks per second, two cores, up to 40 instructions", "blocks_per_second", 5000),
)  # fmt: skip
_HEAD = ["Question", "Paper", "Floor", "Goal"]


def table(rows: pd.DataFrame) -> Table:
    """Question, paper, floor, goal; for each of `trained` what it reached.

    `rows`: the main experiment's over all seeds, with its speed. Single samples are left out: they are drawn, not
    chosen.
    """
    shown = trained(rows)
    cells = []
    for goal in GOALS:
        sign = "≥" if goal.at_least else "≤"
        floor = _written(goal, goal.floor) + (f"<br><small>{goal.floor_of}</small>" if goal.floor_of else "")
        wanted = [goal.question, _written(goal, goal.paper), floor, f"{sign} {_written(goal, goal.value)}"]
        cells.append([*wanted, *(_reached(goal, own) for own in shown.values())])
    return Table([*_HEAD, *(f"Reached, {name}" for name in shown)], cells, right=1)


def trained(rows: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Rows of each trained method with each of its decoders but single samples, by a name that tells them apart."""
    kept = rows[~rows["decoder"].isin(("none", "sample"))]
    names, apart = sorted(set(kept["method"])), {}
    for name in names:
        several = f"{label(name)}, " if len(names) > 1 else ""
        for decoder in in_order(kept.loc[kept["method"] == name, "decoder"], DECODERS):
            apart[several + decoder_label(decoder)] = kept[(kept["method"] == name) & (kept["decoder"] == decoder)]
    return apart


def met(goal: Goal, value: float) -> bool:
    return value >= goal.value if goal.at_least else value <= goal.value


def _reached(goal: Goal, own: pd.DataFrame) -> str:
    """The worst value of the goal's sets, its interval and the verdict."""
    rows = own[(own["metric"] == goal.metric) & own["value"].notna()]
    if goal.set is not None:
        rows = rows[rows["set"] == goal.set]
    if rows.empty:
        return "not measured"
    worst = rows.sort_values("value", ascending=goal.at_least).iloc[0].to_dict()
    verdict = f" **{'met' if met(goal, worst['value']) else 'missed'}**"
    low, high = worst["low"], worst["high"]
    if not math.isnan(low) and not math.isnan(high) and met(goal, low) != met(goal, high):
        verdict += ", not certain"
    text = spread(worst, lambda value: _written(goal, value), lambda value: _written(goal, value).rstrip("%"))
    reached, line, interval = text.partition("<br>")
    return reached + verdict + line + interval


def _written(goal: Goal, value: float | None) -> str:
    if value is None:
        return "-"
    if goal.metric == "blocks_per_second":
        return count(value)
    if goal.metric == "kendall_tau_distance":
        return number(value)
    return percent(value, 2 if goal.metric == "valid_share" and value < 1 else 1)
