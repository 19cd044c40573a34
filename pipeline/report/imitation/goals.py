"""What imitators of GCC were to reach, beside the paper; and whether those of the results do."""

from __future__ import annotations

import pandas as pd

from pipeline.analysis.claimed import GOALS, Goal
from pipeline.analysis.claims import parsed, reaches
from pipeline.report.imitation.rows import SPEED
from pipeline.report.names import DECODERS, decoder_label, in_order, label
from pipeline.report.numbers import count, number, percent, small, spread
from pipeline.report.tables import Table


def table(rows: pd.DataFrame) -> Table:
    """Question, paper, floor, goal; for each of `trained` what it reached.

    `rows`: the main experiment's over all seeds, with its speed. Single samples are left out: they are drawn, not
    chosen.
    """
    shown = trained(rows)
    cells = []
    for goal in GOALS:
        sign = "≤" if goal.target.startswith("<") else "≥"
        floor = small(_written(goal, goal.floor), goal.floor_of)
        wanted = [goal.question, _written(goal, goal.paper), floor, f"{sign} {_written(goal, parsed(goal.target)[1])}"]
        cells.append([*wanted, *(_reached(goal, reached) for reached in shown.values())])
    return Table(["Question", "Paper", "Floor", "Goal", *(f"Reached, {name}" for name in shown)], cells, right=1)


def trained(rows: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Rows of each trained method with each of its decoders but single samples, by a name that tells them apart."""
    kept = rows[~rows["decoder"].isin(("none", "sample"))]
    names, apart = sorted(set(kept["method"])), {}
    for name in names:
        several = f"{label(name)}, " if len(names) > 1 else ""
        for decoder in in_order(kept.loc[kept["method"] == name, "decoder"], DECODERS):
            apart[several + decoder_label(decoder)] = kept[(kept["method"] == name) & (kept["decoder"] == decoder)]
    return apart


def _reached(goal: Goal, rows: pd.DataFrame) -> str:
    """The worst value of the goal's sets, its interval and the verdict."""
    rows = rows[rows["value"].notna()]
    for column, wanted in goal.row.items():
        rows = rows[rows[column] == wanted]
    if rows.empty:  # the command has one decoder
        return "-" if goal.experiment == SPEED else "not measured"
    worst = rows.sort_values("value", ascending=not goal.target.startswith("<")).iloc[0].to_dict()
    verdict = f" **{'met' if reaches(goal.target, worst['value']) else 'missed'}**"
    if pd.notna(worst["low"]) and reaches(goal.target, worst["low"]) != reaches(goal.target, worst["high"]):
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
