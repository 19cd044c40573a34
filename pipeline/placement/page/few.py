"""How good the schedules are after few evaluations, and the graphs that only some methods place."""

from __future__ import annotations

from typing import Any

import pandas as pd

from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.graphs import METHOD, methods, of_set, over
from pipeline.lab.page.names import label
from pipeline.lab.page.numbers import number, share
from pipeline.lab.page.plots import drawings
from pipeline.lab.page.tables import Column, Table, lines, metric, table
from pipeline.placement.page.learning import convergence, in_seconds
from pipeline.placement.page.shared import FEW, SPEED, sets

_COUNTS = ("1", "10", "100")
_ALL = 2000  # evaluations of each of _SHOWN that searches
_SHOWN = (
    *("expert_layers", "placed_metis", "placed_heft", "hdp", "doppler"),
    *("decision_annealing", "go", "go_untaught", "go_taught", "go_tuned"),
)
_LINKS = {"pcie": "PCIe", "nvlink": "NVLink"}
_OVER = {"judge": "simulator", "comparison": "ratio", "target": "all", "baseline": "best", "lengths": "all"}


def section(evidence: Evidence) -> dict[str, Any]:
    """Tables, and the figures of the curves."""
    by_evaluations = curves(evidence)
    return {
        "counts": _counts(evidence),
        "some": _some(evidence.table("parts", FEW), methods(evidence, FEW)),
        "figures": drawings(
            placement_few=(convergence, by_evaluations, "evaluations", _SHOWN),
            placement_few_seconds=(convergence, in_seconds(by_evaluations, evidence.of(SPEED)), "seconds", _SHOWN),
        ),
    }


def curves(evidence: Evidence) -> pd.DataFrame:
    """Time over the best known after 1, 10, 100 and all evaluations; methods of one evaluation have level curves."""
    names = sets(evidence, FEW)
    if not names:
        return pd.DataFrame()
    rows = of_set(evidence, FEW, names[-1])
    rows = rows[(rows["metric"] == "makespan") & rows["method"].isin(_SHOWN)]
    rows = rows[(rows[list(_OVER)] == pd.Series(_OVER)).all(axis=1)]
    rows = rows[rows["iterations"].isin((*_COUNTS, "none"))]
    return rows.assign(evaluations=rows["iterations"].replace("none", str(_ALL)).astype(float))


def _counts(evidence: Evidence) -> Table:
    """Time over the best known after 1, 10, 100 and all evaluations, and the share of graphs placed by then."""
    names = sets(evidence, FEW)
    if not names:
        return Table()
    shown: list[Column] = [METHOD]
    for count in (*_COUNTS, "none"):
        text = "all" if count == "none" else count
        shown.append((f"After {text}", metric(over, "makespan", iterations=count, **_OVER)))
    for count in ("1", "100", "none"):
        text = "in the end" if count == "none" else f"after {count}"
        shown.append((f"Placed {text}", metric(share, "placed_share", iterations=count, judge="simulator")))
    rows = of_set(evidence, FEW, names[-1])
    placing = [method for method in methods(evidence, FEW) if method != "all"]
    return table(shown, lines(rows[rows["target"] == "all"], ["method"], {"method": placing}), right=1)


def _some(parts: pd.DataFrame, order: list[str]) -> Table:
    """A line for each graph and link that not every method places: its time over the best known, or a dash."""
    if parts.empty:
        return Table()
    parts = parts[(parts["by"] == "graph") & (parts["metric"] == "makespan") & (parts["baseline"] == "best")]
    every = []
    for (_, link, graph), rows in parts.groupby(["set", "target", "part"], sort=True):
        ratios = rows.set_index("method")["value"].reindex(order)
        if ratios.isna().any():
            every.append([str(graph), _LINKS.get(str(link), str(link)), *(number(ratio, 2) for ratio in ratios)])
    return Table(["Graph", "Link", *map(label, order)], every, right=2)
