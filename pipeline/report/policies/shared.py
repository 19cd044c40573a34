"""What the sections of the page share: its experiments, the rows they speak of, and how a gain is written."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import pandas as pd

from pipeline.report.devices.comparison import OF_PAPER
from pipeline.report.evidence import Evidence
from pipeline.report.names import in_order, label
from pipeline.report.numbers import Row, number, percent, spread, two
from pipeline.report.tables import Cell, Column, metric, of

UNSEEN, ONE_GRAPH, SMALL_GRAPH = "gflownet", "gflownet_one_graph", "gflownet_small_graph"
EXPERIMENTS = (UNSEEN, ONE_GRAPH, SMALL_GRAPH)
BESIDE = ("gflownet_uniform", "gflownet_large")  # use the networks of UNSEEN
GFLOWNET, LIST, PROXY = "gflownet", "list_scheduling", "proxy"
RULES = {"best": "the best 100 on the proxy are kept", "spread": "schedules on few devices are kept as well"}
KEPT = {"decoder": "best", "judge": "simulator"}
_LINKS = ("pcie", "nvlink")
METHOD: Column = ("Method", of("method", label))
DIVERSITY: list[Column] = [
    ("Chain edges that differ", metric(lambda row: spread(row, percent, _bare), "diversity", target=PROXY, **KEPT)),
    ("Start times", metric(lambda row: spread(row, two), "start_distance", target=PROXY, **KEPT)),
    ("Start times and placement", metric(lambda row: spread(row, two), "placed_start_distance", target=PROXY, **KEPT)),
]


def _bare(share: float) -> str:
    return percent(share).rstrip("%")


def together(section: Callable[[Evidence], dict[str, Any]]) -> Callable[[Evidence], dict[str, Any]]:
    """The section, of evidence in which experiments that use the networks of UNSEEN are part of it.

    They are experiments of their own because they run for long.
    """

    def of_all(evidence: Evidence) -> dict[str, Any]:
        trainings = evidence.table("policy_trainings")
        trainings = trainings.assign(experiment=trainings["experiment"].replace(dict.fromkeys(BESIDE, UNSEEN)))
        tables = {**evidence.tables, "parts": _joined(evidence.table("parts")), "policy_trainings": trainings}
        return section(replace(evidence, results=_joined(evidence.results), tables=tables))

    return of_all


def _joined(rows: pd.DataFrame) -> pd.DataFrame:
    own = rows["experiment"].isin(BESIDE)
    beside = rows[own]
    known = set(rows.loc[rows["experiment"] == UNSEEN, "set"])
    new = ~beside["set"].isin(known) | (beside["method"] == "gflownet_uniform")  # others were measured in both
    return pd.concat([rows[~own], beside[new].assign(experiment=UNSEEN)], ignore_index=True)


def of_set(evidence: Evidence, experiment: str, name: str) -> pd.DataFrame:
    """Rows of one set over all seeds."""
    rows = evidence.of(experiment)
    return rows[rows["set"] == name]


def sets(evidence: Evidence, experiment: str) -> list[str]:
    """The sets that were measured, in the order of the parameters."""
    return in_order(evidence.of(experiment)["set"], evidence.settings(experiment).get("sets", ()))


def methods(evidence: Evidence) -> list[str]:
    """Methods of all experiments in the order of the parameters, each once."""
    every = [name for one in (*EXPERIMENTS, *BESIDE) for name in evidence.settings(one).get("methods", ())]
    return list(dict.fromkeys(every))


def targets(rows: pd.DataFrame) -> list[str]:
    """The targets that rows were judged on: those of the paper, then links with real figures."""
    return [name for name in in_order(rows["target"], (*OF_PAPER, *_LINKS)) if name != "none"]


def speedup(target: str) -> Cell:
    """Seconds of all operations over the makespan of the best kept schedule."""
    return metric(lambda row: spread(row, two), "speedup", target=target, **KEPT)


def speedups(names: Iterable[str]) -> list[Column]:
    """A column for each target."""
    return [(name, speedup(name)) for name in names]


def gain(row: Row | None) -> str:
    """1 - cost over the peer's cost, from a row of the ratio; bold where the interval lies on one side of 0."""
    if row is None or math.isnan(row["value"]):
        return "-"
    value, low, high = 1 - row["value"], 1 - row["high"], 1 - row["low"]
    text = f"{_points(value)}%"
    if math.isnan(low) or math.isnan(high):
        return text
    certain = low > 0 or high < 0
    return f"{f'**{text}**' if certain else text}<br><small>{_points(low)} to {_points(high)}</small>"


def _points(share: float) -> str:
    """Hundredths with their sign; nothing has none."""
    rounded = round(100 * share, 1)
    return f"{rounded:+.1f}" if rounded else "0.0"


def excess(row: Row | None) -> str:
    """Cost over the reference's cost, less 1, from a row of the ratio."""
    return spread(row, lambda ratio: percent(ratio - 1), lambda ratio: _bare(ratio - 1))


def of_paper(numbers: dict[str, float], method: str, digits: int = 2) -> str:
    """The paper's number for a method; a dash where it has none."""
    return number(numbers.get(method), digits)
