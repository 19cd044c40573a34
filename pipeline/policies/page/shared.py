"""Experiments, rows, columns and cells that the sections of the page share."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from typing import Any

import pandas as pd

from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.graphs import METHOD, OF_PAPER, PROXY, two_digits
from pipeline.lab.page.names import in_order
from pipeline.lab.page.numbers import Row, number, percent, share, small, spread
from pipeline.lab.page.tables import Cell, Column, Table, lines, metric, table

UNSEEN, ONE_GRAPH, SMALL_GRAPH = "gflownet", "gflownet_one_graph", "gflownet_small_graph"
SIZES = "gflownet_paper_sizes"
EXPERIMENTS = (UNSEEN, ONE_GRAPH, SMALL_GRAPH)
EXTENSIONS = ("gflownet_uniform", "gflownet_large")  # they use the networks of UNSEEN
GFLOWNET = "gflownet"
RULES = {"best": "the best 100 on the proxy are kept", "spread": "schedules on few devices are kept too"}
KEPT = {"decoder": "best", "judge": "simulator"}
_LINKS = ("pcie", "nvlink")
DIVERSITY: list[Column] = [
    ("Chain edges that differ", metric(share, "diversity", target=PROXY, **KEPT)),
    ("Start times", metric(two_digits, "start_distance", target=PROXY, **KEPT)),
    ("Start times and placement", metric(two_digits, "placed_start_distance", target=PROXY, **KEPT)),
]


def with_extensions(section: Callable[[Evidence], dict[str, Any]]) -> Callable[[Evidence], dict[str, Any]]:
    """The section of evidence in which UNSEEN includes its extensions, which are separate because they run for long."""

    def of_all(evidence: Evidence) -> dict[str, Any]:
        trainings = evidence.table("policy_trainings")
        trainings = trainings.assign(experiment=trainings["experiment"].replace(dict.fromkeys(EXTENSIONS, UNSEEN)))
        tables = {**evidence.tables, "parts": _joined(evidence.table("parts")), "policy_trainings": trainings}
        return section(replace(evidence, results=_joined(evidence.results), tables=tables))

    return of_all


def _joined(rows: pd.DataFrame) -> pd.DataFrame:
    is_extension = rows["experiment"].isin(EXTENSIONS)
    added = rows[is_extension]
    sets_measured = set(rows.loc[rows["experiment"] == UNSEEN, "set"])
    new = ~added["set"].isin(sets_measured) | (added["method"] == "gflownet_uniform")  # UNSEEN measured the others too
    return pd.concat([rows[~is_extension], added[new].assign(experiment=UNSEEN)], ignore_index=True)


def sets(evidence: Evidence, experiment: str) -> list[str]:
    """The sets that were measured, in the order of the parameters."""
    return in_order(evidence.of(experiment)["set"], evidence.settings(experiment).get("sets", ()))


def methods(evidence: Evidence) -> list[str]:
    """Methods of all experiments in the order of the parameters, each once."""
    every = [name for key in (*EXPERIMENTS, *EXTENSIONS) for name in evidence.settings(key).get("methods", ())]
    return list(dict.fromkeys(every))


def targets(rows: pd.DataFrame) -> list[str]:
    """The targets of the rows: those of the paper, then links with real figures."""
    return [name for name in in_order(rows["target"], (*OF_PAPER, *_LINKS)) if name != "none"]


def speedup(target: str) -> Cell:
    """Seconds of all operations over the makespan of the best kept schedule."""
    return metric(two_digits, "speedup", target=target, **KEPT)


def speedups(names: Iterable[str]) -> list[Column]:
    """A column for each target."""
    return [(name, speedup(name)) for name in names]


def compared(rows: pd.DataFrame, names: Collection[str], *columns: Column) -> Table:
    """Methods by name: `columns`, speedups on every target, mean speedup and diversity of the kept on the proxy."""
    shown: list[Column] = [
        METHOD,
        *columns,
        *speedups(targets(rows[rows["metric"] == "speedup"])),
        ("Mean of the kept, proxy", metric(two_digits, "kept_speedup", target=PROXY, **KEPT)),
        *DIVERSITY,
    ]
    return table(shown, lines(rows[rows["method"].isin(names)], ["method"], {"method": names}), right=1)


def gain(row: Row | None) -> str:
    """The gain over a peer, from a row of the ratio; bold if the interval lies on one side of 0."""
    if row is None or math.isnan(row["value"]):
        return "-"
    value, low, high = 1 - row["value"], 1 - row["high"], 1 - row["low"]
    text = f"{_points(value)}%"
    if math.isnan(low) or math.isnan(high):
        return text
    certain = low > 0 or high < 0
    return small(f"**{text}**" if certain else text, f"{_points(low)} to {_points(high)}")


def _points(share: float) -> str:
    """Hundredths with their sign; 0.0 has none."""
    rounded = round(100 * share, 1)
    return f"{rounded:+.1f}" if rounded else "0.0"


def excess(row: Row | None) -> str:
    """The gap to a reference, from a row of the ratio."""
    return spread(row, lambda ratio: percent(ratio - 1), lambda ratio: percent(ratio - 1).rstrip("%"))


def of_paper(numbers: dict[str, float], method: str, digits: int = 2) -> str:
    """The paper's number for a method; a dash where it has none."""
    return number(numbers.get(method), digits)
