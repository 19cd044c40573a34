"""Figures of the page: speedup against diversity by temperature, and how exact the probabilities of schedules are."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import LogFormatterSciNotation, LogLocator, MaxNLocator, NullFormatter

from learned_schedulers.figures import subplots
from pipeline.lab.page.names import in_order, set_label, spelt
from pipeline.lab.page.panels import COLOURS, panels, styles
from pipeline.lab.page.plots import downwards, key, legend, shares
from pipeline.policies.page.shared import GFLOWNET


def by_temperature(points: pd.DataFrame, sigmas: dict[str, float], sets: list[str]) -> Figure:
    """Speedup on the proxy against diversity, a panel for each set: means of the kept are filled, the best hollow.

    points: set, method, best, mean, diversity; sigmas: method -> sigma; a line joins these methods in their order.
    """
    present = in_order(points["set"], sets)
    peers = styles([name for name in in_order(points["method"], ()) if name not in sigmas])
    marks = {GFLOWNET: {"color": "#222222", "marker": "h"}} | peers
    with panels(present, 3, 3.0, 3.0, marks, 2 * min(3, len(present)), linestyle="") as (figure, axes):
        for ax, name in zip(axes, present, strict=True):
            of_set = points[points["set"] == name].set_index("method")
            for method, mark in peers.items():
                if method in of_set.index:
                    point = of_set.loc[method]
                    ax.plot(point["diversity"], point["mean"], linestyle="", markersize=6, **mark)
                    ax.plot(
                        point["diversity"], point["best"], linestyle="", markersize=6, markerfacecolor="none", **mark
                    )
            line = of_set.loc[[method for method in sigmas if method in of_set.index]]
            for column, face in (("mean", "#222222"), ("best", "none")):
                ax.plot(line["diversity"], line[column], linewidth=1, markerfacecolor=face, **marks[GFLOWNET])
            for method, x, y in zip(line.index, line["diversity"], line["mean"], strict=True):
                ax.annotate(
                    f"{sigmas[str(method)]:g}", (x, y), (0, -11), textcoords="offset points", ha="center", fontsize=8
                )
            ax.set(xlim=(-0.05, 1.05), xlabel="mean distance of the kept", title=set_label(name).replace(", ", ",\n"))
            ax.margins(y=0.15)
            shares(ax.xaxis)
        axes[0].set_ylabel("speedup on the proxy")
    return figure


def exactness(rows: pd.DataFrame, sigmas: list[str]) -> Figure:
    """Exact total variation of each graph, a mark for each sigma. rows: of table `results`; `decoder` is sigma."""
    graphs = in_order(rows["set"], ())
    marks = {sigma: (COLOURS[k % len(COLOURS)], "osD^v"[k % 5]) for k, sigma in enumerate(sigmas)}
    with subplots(8, 1.2 + 0.4 * len(graphs)) as (figure, axes):
        ax = axes[0, 0]
        for k, (sigma, (colour, marker)) in enumerate(marks.items()):
            shift = 0.2 * (k - (len(marks) - 1) / 2)  # equal values would cover each other
            for row in rows[rows["decoder"] == sigma].to_dict("records"):
                height = -graphs.index(row["set"]) - shift
                ax.plot([row["low"], row["high"]], [height, height], color=colour, linewidth=1.2)
                ax.plot(row["value"], height, color=colour, marker=marker, linestyle="")
        downwards(ax, [spelt(name) for name in graphs])
        ax.set(xlabel="total variation between probabilities and R/Z: 0 is exact, 1 is disjoint", xlim=(0, None))
        keys = [
            key(f"sigma {sigma}", color=colour, marker=marker, linestyle="")
            for sigma, (colour, marker) in marks.items()
        ]
        legend(figure, keys, 5)
    return figure


def over_strength(rows: pd.DataFrame, frozen: Mapping[str, float]) -> Figure:
    """Makespan over list scheduling's against the strength of a target, a panel for each kind of target.

    rows: of table `results`, with kind and strength; frozen: the strength of each kind that a line marks.
    """
    kinds = in_order(rows["kind"], ())
    marks = styles(in_order(rows["method"], ()))
    with panels(kinds, 2, 4.0, 3.4, marks, 4) as (figure, axes):
        for ax, kind in zip(axes, kinds, strict=True):
            for method, mark in marks.items():
                line = rows[(rows["kind"] == kind) & (rows["method"] == method)].sort_values("strength")
                ax.plot(line["strength"], line["value"], markersize=5, linewidth=1.2, **mark)
                ax.fill_between(
                    line["strength"], line["low"], line["high"], color=mark["color"], alpha=0.1, linewidth=0
                )
            ax.axhline(1, color="#222222", linewidth=0.8)
            if kind in frozen:
                ax.axvline(frozen[kind], color="#222222", linewidth=0.8, linestyle="--")
            ax.set(xscale="log", xlabel="mean transfer in mean operations", title=kind)
        axes[0].set_ylabel("makespan over list scheduling's")
    return figure


def _few_labels(axis: Axis, ends: list[float]) -> None:
    """Labels of a logarithmic axis: decades; on less than a decade also 2 and 5 times a power of ten, or what fits."""
    span = ends[1] / ends[0]
    subs = (1.0, 2.0, 5.0) if span < 10 else (1.0,)
    axis.set_major_locator(MaxNLocator(3) if span < 2.5 else LogLocator(subs=subs, numticks=5))
    axis.set_major_formatter(LogFormatterSciNotation(labelOnlyBase=False, minor_thresholds=(np.inf, np.inf)))
    axis.set_minor_formatter(NullFormatter())


def probabilities(schedules: pd.DataFrame) -> Figure:
    """Probabilities of schedules against their shares of the reward, a panel for each graph and sigma.

    schedules: rows of table `schedule_probabilities`.
    """
    graphs, sigmas = in_order(schedules["graph"], ()), sorted(set(schedules["sigma"]), reverse=True)
    with subplots(3.1 * len(sigmas), 3.0 * len(graphs), rows=len(graphs), columns=len(sigmas)) as (figure, axes):
        for k, graph in enumerate(graphs):
            for j, sigma in enumerate(sigmas):
                ax = axes[k, j]
                of_panel = schedules[(schedules["graph"] == graph) & (schedules["sigma"] == sigma)]
                ax.loglog(of_panel["target"], of_panel["probability"], ".", color=COLOURS[0], markersize=3, alpha=0.4)
                ends = [of_panel["target"].min(), of_panel["target"].max()]
                ax.plot(ends, ends, color="#222222", linewidth=1)
                ax.set(title=f"{spelt(graph)}, sigma {sigma:g}", xlabel="R/Z")
                for axis in (ax.xaxis, ax.yaxis):
                    _few_labels(axis, ends)
            axes[k, 0].set_ylabel("probability of the schedule")
    return figure
