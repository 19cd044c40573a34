"""How policies do on other graphs than they were trained on: other families, real ones, twenty times as large."""

from __future__ import annotations

from typing import Any

import pandas as pd

from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.graphs import LIST, METHOD, PROXY
from pipeline.lab.page.names import in_order, label, set_label, spelt
from pipeline.lab.page.numbers import count, percent, ratio
from pipeline.lab.page.tables import Column, Table, lines, metric, of, table, value
from pipeline.policies.page.shared import KEPT, ONE_GRAPH, UNSEEN, excess, methods, sets, with_extensions

_BY_FAMILY = ("randomised_list", "brkga", "ppo", "gflownet", "gflownet_drawn")
_ORDER = ("unseen_synthetic", "unseen_real", "unseen_large")
_TO_BEST = {"comparison": "ratio", "baseline": "best", "target": PROXY, **KEPT}


@with_extensions
def section(evidence: Evidence) -> dict[str, Any]:
    """The section's tables by name; they are empty if the experiment was not published."""
    places = [(ONE_GRAPH, name) for name in sets(evidence, ONE_GRAPH)]
    unseen = in_order(sets(evidence, UNSEEN), _ORDER)
    places += [(UNSEEN, name) for name in unseen]
    rows, order = evidence.of(UNSEEN, ONE_GRAPH), methods(evidence)
    parts = evidence.table("parts", UNSEEN)
    return {
        "gaps": _gaps(rows[rows["metric"].isin(("makespan", "scheduled_share"))], places, order),
        "families": {set_label(name): _families(parts[parts["set"] == name]) for name in unseen},
    }


def _gaps(rows: pd.DataFrame, places: list[tuple[str, str]], order: list[str]) -> Table:
    """How much longer each method's schedules are than the best known on the proxy, a column for each set."""
    shown: list[Column] = [METHOD]
    for experiment, name in places:
        where = {"experiment": experiment, "set": name}
        shown.append((set_label(name), metric(excess, "makespan", **where, **_TO_BEST)))
    partly = rows[(rows["metric"] == "scheduled_share") & (rows["value"] < 1) & (rows["target"] == PROXY)]
    for experiment, name in places:
        if (partly["set"] == name).any():
            share = {"experiment": experiment, "set": name, "target": PROXY, **KEPT}
            heading = f"Graphs with a schedule, {set_label(name)}"
            shown.append((heading, value(percent, "scheduled_share", **share)))
    counted = {"experiment": UNSEEN, **_TO_BEST}
    shown.append(("Graphs, all sets", lambda line: _total(line.rows, counted)))
    return table(shown, lines(rows, ["method"], {"method": order}), right=1)


def _total(rows: Any, query: dict[str, str]) -> str:
    """Number of graphs in all rows of makespans that the query selects."""
    counts = [row["n"] for row in rows if row["metric"] == "makespan" and query.items() <= row.items()]
    return count(sum(counts)) if counts else "-"


def _families(parts: pd.DataFrame) -> Table:
    """Makespans on the proxy over list scheduling's in each family, a column for each method."""
    rows = parts[(parts["by"] == "family") & (parts["target"] == PROXY) & parts["method"].isin(_BY_FAMILY)]
    query = {"comparison": "ratio", "baseline": LIST, "judge": "simulator", "target": PROXY}
    shown: list[Column] = [("Family", of("part", spelt))]
    present = [name for name in _BY_FAMILY if name in set(rows["method"])]
    shown += [(label(name), metric(ratio, "makespan", method=name, **query)) for name in present]
    shown.append(("Graphs", value(count, "makespan", "n", **query)))
    return table(shown, lines(rows, ["part"]), right=1)
