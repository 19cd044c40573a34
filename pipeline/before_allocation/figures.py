"""The figure of orders before registers are allocated: cycles by measured candidates."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import FixedFormatter

from pipeline.lab.page.colours import styles
from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.plots import Drawing, curve, drawings, logarithmic, panels, saving

_SEARCHES = {
    "random_legal": "random legal orders",
    "randomised_pressure_list": "pressure lists, randomised",
    "moves": "moves from the source's order",
    "evolution": "evolution, not learned",
    "learned_evolution": "evolution from learned weights",
}


def figures(evidence: Evidence) -> dict[str, Drawing]:
    """The figure of test functions that spill."""
    rows = evidence.of("before_allocation")
    over_default = (rows["metric"] == "cycles") & (rows["baseline"] == "llvm default") & (rows["set"] == "test")
    return drawings(before_allocation_candidates=(_by_candidates, rows[over_default]))


def _by_candidates(rows: pd.DataFrame) -> Figure:
    """Cycles over the default's by measured candidates; a line for each search, a point for a method without one."""
    style = styles(list(_SEARCHES))
    with panels(["all"], 1, 5.4, 3.2, style, 2, _SEARCHES.__getitem__, markersize=5) as (figure, (ax,)):
        for method, mark in style.items():
            single = "learned" if method == "learned_evolution" else method
            line = rows[(rows["method"] == method) | ((rows["method"] == single) & (rows["decoder"] == "candidates_1"))]
            line = line.assign(count=line["decoder"].str.removeprefix("candidates_").astype(int)).sort_values("count")
            curve(ax, line["count"], line, 1.2, markersize=5, linewidth=1.4, **mark)
        saving(ax.yaxis)
        logarithmic(ax.xaxis, [1, 10, 100, 1000])
        ax.xaxis.set_major_formatter(FixedFormatter(["1", "10", "100", "1,000"]))
        ax.set_xlabel("candidates that are compiled and measured")
    return figure
