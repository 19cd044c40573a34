"""Whole projects built by the wrapper: their suites, what it costs, and how fast they run afterwards."""

from __future__ import annotations

from functools import partial
from typing import Any

import pandas as pd

from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.numbers import count, number, spread, two
from pipeline.lab.page.tables import Column, Line, Table, lines, metric, of, table, value

PROJECTS, WRAPPER, RUN_TIMES = "own_projects", "own_wrapper", "own_run_times"
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


_PLAIN = "plain"


def section(evidence: Evidence) -> dict[str, Any]:
    """The section's tables; they are empty if the benchmarks were not run."""
    rows, costs, times = evidence.of(PROJECTS), evidence.of(WRAPPER), evidence.of(RUN_TIMES)
    return {
        "projects": table(_columns(rows), lines(rows[rows["set"] != "all"], ["set"]), right=1),
        "seen": _controls(rows),
        "run_times": _run_times(times),
        "verdict": _verdict_of_times(times),
        "cost": table(_BUILDS, lines(costs, ["method"], {"method": list(_WAYS)}), right=1),
    }


def _columns(rows: pd.DataFrame) -> list[Column]:
    """A column for each variant that was run: whether the suite passed, or in a control whether it failed."""
    ran = rows[rows["metric"] == "passing"]["method"].unique().tolist()
    return [("Project", of("set")), *((name, _verdict(name)) for name in sorted(ran)), ("Blocks changed", _changed)]


def _run_times(rows: pd.DataFrame) -> Table:
    """A line for each program: seconds before, and the ratios of the other builds; the control comes first."""
    builds = [build for build in ("control", "search", "random_legal") if build in set(rows["method"])]
    of_plain = value(two, "run_seconds", method=_PLAIN)
    ratios: list[Column] = [
        (
            f"`{build}`",
            metric(
                partial(spread, write=partial(number, digits=3)),
                "run_time",
                method=build,
                comparison="ratio",
                baseline=_PLAIN,
            ),
        )
        for build in builds
    ]
    return table([("Program", of("set")), ("Seconds, gcc", of_plain), *ratios], lines(rows, ["set"]), right=1)


def _verdict_of_times(rows: pd.DataFrame) -> str:
    """How many programs are faster, and slower, than their control, whose interval does not touch theirs."""
    intervals = rows[rows["metric"] == "run_time"].set_index(["method", "set"])[["low", "high"]]
    if intervals.empty:
        return ""
    before, after = intervals.loc["control"].align(intervals.loc["search"])
    faster, slower = int((after["high"] < before["low"]).sum()), int((after["low"] > before["high"]).sum())
    return f"After `search`, {faster} of {len(after)} programs are faster than the control, {slower} are slower."


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
