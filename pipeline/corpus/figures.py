"""The figure of the corpus: lengths, legal orders, uniformity of the input orders."""

from __future__ import annotations

from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from learned_schedulers.figures import subplots
from pipeline.lab.page.colours import INK, PALETTE
from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.plots import Drawing, drawings, shares

_SPREAD = {"ready_largest": "largest", "ready_mean": "mean", "ready_median": "median"}
_LONG, _MANY = 30, 20  # ends of the axes of lengths and of decades of orders


def figures(evidence: Evidence) -> dict[str, Drawing]:
    """The figure of this run's corpus."""
    statistics = evidence.table("corpus")
    full = statistics[statistics["dependencies"] == "full"] if len(statistics) else statistics
    return drawings(corpus=(_corpus, full))


def _corpus(statistics: pd.DataFrame) -> Figure:
    """Lengths, numbers of legal orders, and the distance of ready orders from uniform; `statistics`: table `corpus`."""
    with subplots(11, 3.3, 1, 3) as (figure, axes):
        lengths, orders, ready = axes[0]
        whole = statistics[(statistics["program"] == "") & (statistics["source"] != "")]
        for tint, (source, rows) in zip(PALETTE, whole.groupby("source", sort=True), strict=False):
            blocks = rows.loc[rows["statistic"] == "blocks", "value"].iloc[0]
            style: Any = {"color": tint, "markersize": 3, "linewidth": 1.4, "label": str(source)}
            for ax, statistic, last in ((lengths, "length", _LONG), (orders, "log10_orders", _MANY)):
                counts = rows[rows["statistic"] == statistic]
                counts = counts["value"].groupby(counts["bin"].astype(int).clip(upper=last).to_numpy()).sum() / blocks
                ax.plot(counts.index, counts, "-o", **style)
        lengths.set(title="Instructions in a block", xlabel=f"instructions ({_LONG}: or more)")
        lengths.set_ylim(bottom=0)
        orders.set(title="Legal orders of a block", xlabel=f"log10 of their number ({_MANY}: or more)", yscale="log")
        shares(lengths.yaxis, orders.yaxis)
        if lengths.lines:
            lengths.legend(title="unique blocks of", title_fontsize=9)
        _draw_ready(ready, statistics[statistics["source"] == ""])
    return figure


def _draw_ready(ax: Axes, every: pd.DataFrame) -> None:
    for (statistic, label), line in zip(_SPREAD.items(), ("--", "-", ":"), strict=True):
        rows = every[every["statistic"] == statistic]
        ax.plot(rows["bin"].astype(int), rows["value"], line, color=INK, marker="o", markersize=3, label=label)
    ax.set(title="Ready orders: distance from uniform", xlabel="instructions (blocks with several orders)")
    ax.set_ylabel("total variation")
    ax.set_ylim(bottom=0)
    ax.legend()
