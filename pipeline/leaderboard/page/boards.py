"""A board for each set and target, the best method first, and the files that are refused."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import pandas as pd
from matplotlib.figure import Figure

from learned_schedulers.figures import subplots
from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.names import label
from pipeline.lab.page.numbers import cell, number
from pipeline.lab.page.plots import downwards, drawings, point
from pipeline.lab.page.tables import Column, Line, Table, columns, records, table
from pipeline.lab.provenance import flat

_PLACE = ["set", "target"]


class Board(NamedTuple):
    """The methods of a set and target."""

    title: str
    graphs: int
    lines: Table


def section(evidence: Evidence) -> dict[str, Any]:
    """The boards; there is none if nothing was handed in."""
    hand_ins = evidence.table("hand_ins")
    accepted = hand_ins[hand_ins["refused"] == ""]
    refused = hand_ins[hand_ins["refused"] != ""].sort_values("file")
    return {
        "boards": [_board(place, rows) for place, rows in accepted.groupby(_PLACE, sort=True)],
        "sentences": _answer(accepted),
        "figures": drawings(leaderboard=(draw, _ranked(accepted).drop_duplicates(_PLACE))),
        "refused": table(columns(cell, file="File", refused="Reason"), records(refused)),
    }


def _ranked(rows: pd.DataFrame) -> pd.DataFrame:
    """The boards by name, on each of them the method with the least cost first."""
    return rows.sort_values([*_PLACE, "value", "method", "date", "file"])


def _board(place: Any, rows: pd.DataFrame) -> Board:
    lines = table(_COLUMNS, records(_ranked(rows)), right=2)
    return Board(f"{place[0]}, {place[1]}", int(rows["members"].iloc[0]), lines)


def _answer(rows: pd.DataFrame) -> list[str]:
    """How many methods stand on how many boards, which are the best, and how many of these beat the baseline."""
    if rows.empty:
        return []
    best = _ranked(rows).drop_duplicates(_PLACE)
    leader = best["method"].mode().iloc[0]
    beating = int((best["high"] < 1).sum())
    return [
        f"Methods that were handed in: {rows['method'].nunique()}, on {len(best)} boards (each a set and a target).",
        f"Most often, on {int((best['method'] == leader).sum())} of them, {label(leader)} is the best.",
        f"On {beating} of the boards, the whole interval of the best is below the cost of the baseline.",
    ]


def draw(best: pd.DataFrame) -> Figure:
    """A line for each board: the cost of its best method over the baseline's, with its interval."""
    with subplots(5.6, 0.8 + 0.3 * len(best)) as (figure, axes):
        ax = axes[0, 0]
        for height, row in enumerate(best.to_dict("records")):
            point(ax, row, -height, 2.0, color="#0072b2", marker="o", markersize=6)
        ax.axvline(1, color="#222222", linewidth=0.8)
        downwards(ax, [f"{row['set']}, {row['target']}: {label(row['method'])}" for row in best.to_dict("records")])
        ax.set_xlabel("cost over the baseline's")
    return figure


def _interval(line: Line) -> str:
    return f"{number(line['value'])} <small>[{number(line['low'])}, {number(line['high'])}]</small>"


def _seconds(line: Line) -> str:
    return number(line["seconds"]) if line["seconds"] else "elsewhere"


def _settings(line: Line) -> str:
    changed = {key: value for key, value in json.loads(line["settings"]).items() if key != "method"}
    texts = [f"{key.removesuffix('.method')} {value}" for key, value in sorted(flat(changed).items())]
    return cell(", ".join(texts) or "-")


_COLUMNS: list[Column] = [
    *columns(cell, method="Method", sees="Sees"),
    ("Over the baseline", _interval),
    ("Over the bound", lambda line: number(line["over_bound"])),
    *columns(cell, graphs="Instances", seeds="Seeds", budget="Budget"),
    ("Seconds each", _seconds),
    *columns(cell, processor="Processor", date="Date", package="Package"),
    ("Settings", _settings),
    *columns(cell, file="File"),
]
