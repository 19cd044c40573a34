"""Figures of the corpus and of how fast it is read. Data frame -> matplotlib figure; no file is read or written."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter

from pipeline.analysis.composition import words
from pipeline.blocks.dag.dependencies import Kind
from pipeline.report.plots import PERCENT, subplots

_SOURCES = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#8a8a8a"]  # Okabe & Ito, 2008
_SPREAD = {"ready_largest": "largest", "ready_mean": "mean", "ready_median": "median"}
_LONG, _MANY = 30, 20  # where the axes of lengths and of decades of orders end


def corpus(statistics: pd.DataFrame) -> Figure:
    """Lengths, numbers of legal orders, kinds of dependencies, and how far ready orders are from uniform.

    `statistics`: table `corpus`.
    """
    with subplots(8, 6.2, 2, 2) as (figure, axes):
        (lengths, orders), (kinds, ready) = axes
        whole = statistics[(statistics["program"] == "") & (statistics["source"] != "")]
        for tint, (source, own) in zip(_SOURCES, whole.groupby("source", sort=True), strict=False):
            blocks = own.loc[own["statistic"] == "blocks", "value"].iloc[0]
            style: Any = {"color": tint, "markersize": 3, "linewidth": 1.4, "label": str(source)}
            shares = _histogram(own, "length", _LONG) / blocks
            lengths.plot(shares.index, shares, "-o", **style)
            shares = _histogram(own, "log10_orders", _MANY) / blocks
            orders.plot(shares.index, shares, "-o", **style)
        lengths.set_title("Instructions in a block", loc="left")
        lengths.set_xlabel(f"instructions ({_LONG}: or more)")
        lengths.set_ylim(bottom=0)
        orders.set_title("Legal orders of a block", loc="left")
        orders.set_xlabel(f"log10 of their number ({_MANY}: or more)")
        orders.set_yscale("log")
        for ax in (lengths, orders):
            ax.yaxis.set_major_formatter(PERCENT)
        if lengths.lines:
            lengths.legend(title="unique blocks of", title_fontsize=9)
        _kinds(kinds, statistics[statistics["source"] == ""])
        _ready(ready, statistics[statistics["source"] == ""])
    return figure


def _histogram(own: pd.DataFrame, statistic: str, last: int) -> pd.Series:
    """Counts by number, those beyond `last` in its bin."""
    rows = own[own["statistic"] == statistic]
    return rows["value"].groupby(rows["bin"].astype(int).clip(upper=last).to_numpy()).sum()


def _kinds(ax: Axes, every: pd.DataFrame) -> None:
    names = [words(kind) for kind in Kind]
    where = np.arange(len(names))
    for shift, statistic, tint, label in (
        (0.2, "direct_conflicts", "#b8cede", "all direct conflicts"),
        (-0.2, "reduction_edges", "#2c6f9b", "in the transitive reduction"),
    ):
        rows = every[every["statistic"] == statistic].set_index("bin")["value"]
        ax.barh(where + shift, rows.reindex(names, fill_value=0), 0.38, color=tint, label=label)
    ax.set_yticks(where, names)
    ax.invert_yaxis()
    ax.grid(axis="y", visible=False)
    ax.set_title("Dependent pairs by kind", loc="left")
    ax.set_xlabel("pairs (one may be of several kinds)")
    ax.xaxis.set_major_formatter(EngFormatter(sep=""))
    ax.locator_params(axis="x", nbins=5)
    ax.legend(loc="lower right")


def _ready(ax: Axes, every: pd.DataFrame) -> None:
    for (statistic, label), line in zip(_SPREAD.items(), ("--", "-", ":"), strict=True):
        rows = every[every["statistic"] == statistic]
        ax.plot(rows["bin"].astype(int), rows["value"], line, color="#222222", marker="o", markersize=3, label=label)
    ax.set_title("Ready orders: distance from uniform", loc="left")
    ax.set_xlabel("instructions of blocks with several orders")
    ax.set_ylabel("total variation")
    ax.set_ylim(bottom=0)
    ax.legend()


def growth(points: pd.DataFrame) -> Figure:
    """Time and peak memory against the instructions read; `points`: table `growth` of the experiment `ingest`."""
    points = points.sort_values("instructions")
    with subplots(8, 2.9, 1, 2) as (figure, axes):
        for ax, name, title in zip(
            axes[0], ("seconds", "peak_memory_gb"), ("ELF to DAG table, seconds", "Peak memory, GB"), strict=True
        ):
            ax.plot(points["instructions"], points[name], "-o", color="#0072b2", markersize=4)
            ax.set_title(title, loc="left")
            ax.set_xlabel("instructions in the files")
            ax.xaxis.set_major_formatter(EngFormatter(sep=""))
            ax.set_xlim(left=0)
            ax.set_ylim(0, 1.1 * points[name].max())
        last = points.iloc[-1]
        axes[0, 0].plot([0, last["instructions"]], [0, last["seconds"]], ":", color="#8a8a8a", zorder=0)
    return figure
