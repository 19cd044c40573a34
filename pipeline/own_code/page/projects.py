"""Whole projects built through the wrapper, and what it costs (benchmarks/own_projects, benchmarks/own_wrapper.py)."""

from __future__ import annotations

from functools import partial
from typing import Any

import pandas as pd

from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.numbers import count, number, spread, two
from pipeline.lab.page.tables import Column, Line, lines, metric, of, table

PROJECTS, WRAPPER = "own_projects", "own_wrapper"
CONTROLS = ("broken-memory", "broken-flags")
_WAYS = {
    "plain": "gcc",
    "cold": "`cc --print gcc`, nothing in the cache",
    "warm": "`cc --print gcc`, all in the cache",
    "called": "`cc -- gcc`, all in the cache",
}
_BUILDS: list[Column] = [
    ("Compiler", of("method", lambda name: _WAYS[name])),
    ("Seconds", metric(partial(spread, write=partial(number, digits=1)), "build_seconds")),
    ("Over gcc", metric(partial(spread, write=two), "build_ratio", comparison="ratio", baseline="plain")),
    ("Files", lambda line: "-" if (row := line.find(metric="build_seconds")) is None else count(row["n"])),
]


def section(evidence: Evidence) -> dict[str, Any]:
    """The section's tables; they are empty if the benchmarks were not run."""
    rows, costs = evidence.of(PROJECTS), evidence.of(WRAPPER)
    return {
        "projects": table(_columns(rows), lines(rows[rows["set"] != "all"], ["set"]), right=1),
        "seen": _controls(rows),
        "cost": table(_BUILDS, lines(costs, ["method"], {"method": list(_WAYS)}), right=1),
    }


def _columns(rows: pd.DataFrame) -> list[Column]:
    """A column for each variant that was run: whether the suite passed, or in a control whether it failed."""
    ran = rows[rows["metric"] == "passing"]["method"].unique().tolist()
    return [("Project", of("set")), *((name, _verdict(name)) for name in sorted(ran)), ("Blocks changed", _changed)]


def _verdict(variant: str) -> Any:
    def write(line: Line) -> str:
        row = line.find(metric="passing", method=variant)
        words = ("seen", "not seen") if variant in CONTROLS else ("**fails**", "passes")
        return "-" if row is None else words[int(row["value"])]

    return write


def _changed(line: Line) -> str:
    """The most that a variant has changed."""
    values = [row["value"] for row in line.rows if row["metric"] == "blocks_changed"]
    return count(max(values)) if values else "-"


def _controls(rows: pd.DataFrame) -> str:
    """Which controls were seen, in words."""
    controls = rows[rows["metric"] == "broken_seen"].sort_values("method")
    return ", ".join(
        f"`{row['method']}` {count(row['value'])} of {count(row['n'])}" for row in controls.to_dict("records")
    )
