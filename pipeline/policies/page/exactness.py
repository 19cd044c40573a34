"""How exactly a policy draws schedules in proportion to their reward, on small graphs, as published."""

from __future__ import annotations

from typing import Any

import pandas as pd

from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.names import in_order, label, spelt
from pipeline.lab.page.numbers import Row, count, number, spread
from pipeline.lab.page.plots import drawings
from pipeline.lab.page.tables import Column, Line, Table, lines, metric, of, table, value
from pipeline.policies.page import pictures
from pipeline.policies.page.shared import with_extensions

EXPERIMENT = "exact_flow"
# In its rows `decoder` is sigma as text, `set` is the graph, `method` is the network.
EXACT, DRAWN, PERFECT, ERROR = (
    "total_variation",
    "drawn_total_variation",
    "perfect_total_variation",  # low to high: the range of a perfect sampler's draws
    "log_z_error",
)
SCHEDULES = "schedules"  # number of schedules of the graph
_JUDGE = {"judge": "simulator"}


@with_extensions
def section(evidence: Evidence) -> dict[str, Any]:
    """Sigma -> table, highest first, and the figures; empty if nothing was published."""
    rows = evidence.of(EXPERIMENT)
    measured = rows[rows["metric"].isin((EXACT, DRAWN, PERFECT, ERROR))]
    networks = in_order(measured["method"], ())
    schedules = evidence.table("schedule_probabilities")
    return {
        "tables": {name: _graphs(rows, name, networks) for name in sigmas(rows)},
        "figures": drawings(
            policies_exactness=(pictures.exactness, rows[rows["metric"] == EXACT], sigmas(rows)),
            policies_probabilities=(pictures.probabilities, schedules),
        ),
    }


def sigmas(rows: pd.DataFrame) -> list[str]:
    """The temperatures that were measured, highest first."""
    return sorted(set(rows.loc[rows["metric"] == EXACT, "decoder"]), key=float, reverse=True)


def _graphs(rows: pd.DataFrame, sigma: str, networks: list[str]) -> Table:
    """A line for each graph, and for each network if there are several."""
    sizes = rows[rows["metric"] == SCHEDULES].drop_duplicates("set")
    at_sigma = rows[rows["decoder"] == sigma]
    network: list[Column] = [("Network", of("method", label))] if len(networks) > 1 else []
    shown: list[Column] = [("Graph", of("set", spelt)), *network]
    if len(sizes):
        n_schedules = dict(zip(sizes["set"], sizes["value"], strict=True))
        shown.append(("Schedules", lambda line: count(n_schedules.get(line["set"], float("nan")))))
    shown += [
        ("Total variation, exact", metric(_three, EXACT, **_JUDGE)),
        ("Total variation of the draws", metric(_three, DRAWN, **_JUDGE)),
        ("Range of a perfect sampler's draws", metric(_range, PERFECT, **_JUDGE)),
        ("Draws in this range", _inside),
        ("Error of log Z", metric(_three, ERROR, **_JUDGE)),
    ]
    if (at_sigma["n"] > 0).any():
        shown.append(("Draws", value(count, DRAWN, "n", **_JUDGE)))
    every = lines(at_sigma, ["set", "method"], {"method": networks}, {"metric": EXACT, **_JUDGE})
    return table(shown, every, right=1 + len(network))


def _three(row: Row | None) -> str:
    return spread(row, lambda value: number(value, 3))


def _range(row: Row | None) -> str:
    return "-" if row is None else f"{number(row['low'], 3)} to {number(row['high'], 3)}"


def _inside(line: Line) -> str:
    drawn, perfect = line.find(metric=DRAWN, **_JUDGE), line.find(metric=PERFECT, **_JUDGE)
    if drawn is None or perfect is None:
        return "-"
    return "yes" if perfect["low"] <= drawn["value"] <= perfect["high"] else "no"
