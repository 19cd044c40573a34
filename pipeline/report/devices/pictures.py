"""Pictures of schedules of graphs: Gantt charts, memory, diversity, proxy against target, executed, anytime curves."""

from __future__ import annotations

from itertools import cycle

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, MaxNLocator

from pipeline.graphs.devices.timeline import Timeline
from pipeline.report.gantt import gantt as drawn
from pipeline.report.names import in_order, label, set_label
from pipeline.report.panels import COLOURS, panels, styles
from pipeline.report.plots import key, legend, logarithmic, subplots


def gantt(bars: pd.DataFrame) -> Figure:
    """Schedules of one graph below each other, on one axis of time. bars: rows of table `gantts` of one rank."""
    devices, nothing = int(bars["device"].max()) + 1, np.zeros(0, np.int64)
    schedules = {
        label(schedule["method"].iloc[0]): Timeline(
            devices=devices,
            placement=schedule["device"].to_numpy(),
            begins=schedule["begin"].to_numpy(),
            ends=schedule["end"].to_numpy(),
            results=nothing,  # on the proxy nothing is sent
            receivers=nothing,
            arrivals=nothing,
        )
        for _, schedule in bars.sort_values(["place", "operation"]).groupby("place")
    }
    return drawn(schedules, float(bars["bound"].iloc[0]))


def memory(curves: pd.DataFrame) -> Figure:
    """Bytes that each device holds over time. curves: rows of table `memory_curves` of one rank."""
    schedules = list(curves.sort_values(["place", "device", "seconds"]).groupby("place"))
    with subplots(1 + 3.4 * len(schedules), 2.8, 1, len(schedules)) as (figure, axes):
        for ax, (_, schedule) in zip(axes[0], schedules, strict=True):
            for colour, (_, held) in zip(cycle(COLOURS), schedule.groupby("device"), strict=False):
                ax.step(held["seconds"], held["bytes"], where="post", color=colour, linewidth=1.3)
            ax.set(xlim=(0, 1.02 * curves["seconds"].max()), ylim=(0, 1.05 * curves["bytes"].max()), xlabel="time")
            ax.xaxis.set_major_formatter(EngFormatter("s"))
            ax.xaxis.set_major_locator(MaxNLocator(4))
            ax.yaxis.set_major_formatter(EngFormatter("B"))
            ax.set_title(label(schedule["method"].iloc[0]))
        devices = sorted(set(curves["device"]))
        keys = [key(f"device {k}", color=colour) for k, colour in zip(devices, cycle(COLOURS), strict=False)]
        legend(figure, keys, len(keys))
    return figure


def diversity(points: pd.DataFrame) -> Figure:
    """Speedup against diversity, a panel for each target. points: rows of results with a column `diversity`."""
    targets = in_order(points["target"], ("proxy", "noisy", "bandwidth", "latency"))
    style = styles(sorted(set(points["method"])))
    with panels(targets, len(targets), 2.6, 2.8, style, 4, linestyle="") as (figure, axes):
        for ax, target in zip(axes, targets, strict=True):
            for row in points[points["target"] == target].to_dict("records"):
                mark = style[row["method"]]
                ax.vlines(row["diversity"], row["low"], row["high"], color=mark["color"], linewidth=1)
                ax.plot(row["diversity"], row["value"], linestyle="", markersize=7, **mark)
            ax.set(xlim=(-0.05, 1.05), xlabel="mean distance of the kept", title=target)
        axes[0].set_ylabel("speedup")
    return figure


def proxy_against_target(points: pd.DataFrame) -> Figure:
    """Kept schedules of one graph, a panel for each target. points: rows of table `kept_points`."""
    present = [target for target in ("noisy", "bandwidth", "latency") if target in set(points["target"])]
    sizes = points.groupby("method")["speedup"].size()
    several = sizes[sizes > len(set(points["target"]))].index
    style = styles([name for name in sorted(several) if not str(name).endswith("_on_target")])
    with panels(present, len(present), 3.4, 3.0, style, 4, linestyle="") as (figure, axes):
        for ax, target in zip(axes, present, strict=True):
            for name, mark in style.items():
                kept = points[(points["method"] == name) & (points["target"] == target)]
                ax.plot(kept["proxy_speedup"], kept["speedup"], linestyle="", markersize=3.5, alpha=0.6, **mark)
            ax.set(xlabel="speedup on the proxy", title=target)
        axes[0].set_ylabel("speedup on the target")
    return figure


def executed(points: pd.DataFrame, targets: list[str]) -> Figure:
    """Schedules of one graph, a panel for each target. points: rows of table `executed_points`."""
    style = styles(sorted(set(points["method"])))
    with panels(targets, 3, 3.0, 2.7, style, 4, linestyle="") as (figure, axes):
        for ax, target in zip(axes, targets, strict=True):
            for name, mark in style.items():
                of_method = points[(points["method"] == name) & (points["target"] == target)]
                ax.plot(of_method["simulated_speedup"], of_method["speedup"], linestyle="", markersize=4, **mark)
            ax.set(xlabel="simulated speedup", title=target)
        for ax in axes[::3]:
            ax.set_ylabel("measured speedup")
    return figure


def by_seconds(parts: pd.DataFrame, sets: list[str]) -> Figure:
    """Best so far over list scheduling's against seconds, a panel for each set. parts: rows by seconds."""
    style = styles(sorted(set(parts["method"])))
    with panels(sets, len(sets), 4.2, 3.2, style, 4) as (figure, axes):
        for ax, name in zip(axes, sets, strict=True):
            for method, curve in parts[parts["set"] == name].sort_values("rank").groupby("method"):
                mark = style[str(method)]
                ax.plot(curve["part"].astype(float), curve["value"], linewidth=1.3, markersize=3.5, **mark)
            ax.axhline(1, color="#222222", linewidth=0.8)
            logarithmic(ax.xaxis, 7)
            ax.set(xlabel="seconds of a graph", title=set_label(name), ylim=(None, 1.6))
        axes[0].set_ylabel("makespan, of list scheduling's")
    return figure


def anytime(parts: pd.DataFrame) -> Figure:
    """Best so far over list scheduling's against evaluations, a panel for each target that a method sees."""
    targets = in_order(parts["target"], ("proxy", "noisy", "bandwidth", "latency", "pcie", "nvlink"))
    style = styles(sorted(set(parts["method"])))
    with panels(targets, 3, 3.4, 2.6, style, 3) as (figure, axes):
        for ax, target in zip(axes, targets, strict=True):
            for name, curve in parts[parts["target"] == target].sort_values("rank").groupby("method"):
                mark = style[str(name)]
                ax.plot(curve["part"].astype(float), curve["value"], linewidth=1.3, markersize=4, **mark)
            ax.axhline(1, color="#222222", linewidth=0.8)
            logarithmic(ax.xaxis, 6)
            ax.set(xlabel="evaluations", title=target)
        axes[0].set_ylabel("makespan, of list scheduling's")
    return figure
