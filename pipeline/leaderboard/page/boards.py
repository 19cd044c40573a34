"""A board for each set and target, the best method first, and the files that are refused."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import pandas as pd

from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.numbers import cell, number
from pipeline.lab.page.tables import Column, Line, Table, columns, records, table
from pipeline.lab.provenance import flat


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
        "boards": [_board(place, rows) for place, rows in accepted.groupby(["set", "target"], sort=True)],
        "refused": table(columns(cell, file="File", refused="Reason"), records(refused)),
    }


def _board(place: Any, rows: pd.DataFrame) -> Board:
    by_value = rows.sort_values(["value", "method", "date", "file"])
    return Board(f"{place[0]}, {place[1]}", int(rows["members"].iloc[0]), table(_COLUMNS, records(by_value), right=2))


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
