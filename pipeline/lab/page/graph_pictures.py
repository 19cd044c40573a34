"""Figures of schedules: Gantt charts, memory, diversity, proxy against target, executed, best schedule so far."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, MaxNLocator

from learned_schedulers.figures import subplots
from learned_schedulers.graphs.devices.timeline import Timeline
from learned_schedulers.graphs.plans.gantt import gantt as gantt_chart
from pipeline.lab.page.colours import series, styles
from pipeline.lab.page.graphs import OF_PAPER
from pipeline.lab.page.names import in_order, label
from pipeline.lab.page.plots import key, legend, logarithmic, panels, saving


def gantt(bars: pd.DataFrame) -> Figure:
    """Schedules of one graph below each other, on one time axis. bars: rows of table `gantts` of one rank."""
    devices, nothing = int(bars["device"].max()) + 1, np.zeros(0, np.int64)
    schedules = {
        label(schedule["method"].iloc[0]): Timeline(
            devices=devices,
            placement=schedule["device"].to_numpy(),
            begins=schedule["begin"].to_numpy(),
            ends=schedule["end"].to_numpy(),
            results=nothing,  # the proxy has no transfers
            receivers=nothing,
            arrivals=nothing,
            names=tuple(map(str, range(devices))),
        )
        for _, schedule in bars.sort_values(["place", "operation"]).groupby("place")
    }
    return gantt_chart(schedules, float(bars["bound"].iloc[0]))


def memory(curves: pd.DataFrame) -> Figure:
    """Bytes that each device holds over time. curves: rows of table `memory_curves` of one rank."""
    schedules = list(curves.sort_values(["place", "device", "seconds"]).groupby("place"))
    tints = {device: style["color"] for device, style in series(sorted(set(curves["device"]))).items()}
    with subplots(1 + 3.4 * len(schedules), 2.8, 1, len(schedules)) as (figure, axes):
        for ax, (_, schedule) in zip(axes[0], schedules, strict=True):
            for device, curve in schedule.groupby("device"):
                ax.step(curve["seconds"], curve["bytes"], where="post", color=tints[device], linewidth=1.3)
            ax.set(xlim=(0, 1.02 * curves["seconds"].max()), ylim=(0, 1.05 * curves["bytes"].max()), xlabel="time")
            ax.xaxis.set_major_formatter(EngFormatter("s"))
            ax.xaxis.set_major_locator(MaxNLocator(4))
            ax.yaxis.set_major_formatter(EngFormatter("B"))
            ax.set_title(label(schedule["method"].iloc[0]))
        legend(figure, [key(f"device {k}", color=tint) for k, tint in tints.items()], len(tints))
    return figure


def diversity(points: pd.DataFrame) -> Figure:
    """Speedup against diversity, a panel for each target. points: rows of results with a column `diversity`."""
    targets = in_order(points["target"], OF_PAPER)
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
    """Kept schedules of one graph by their speedups, a panel for each target. points: rows of table `kept_points`."""
    present = [target for target in ("noisy", "bandwidth", "latency") if target in set(points["target"])]
    sizes = points.groupby("method")["speedup"].size()
    several = sizes[sizes > len(set(points["target"]))].index
    style = styles([name for name in sorted(several) if not str(name).endswith("_on_target")])
    with panels(present, len(present), 3.4, 3.0, style, 4, linestyle="") as (figure, axes):
        for ax, target in zip(axes, present, strict=True):
            for name, mark in style.items():
                schedules = points[(points["method"] == name) & (points["target"] == target)]
                ax.plot(
                    schedules["proxy_speedup"], schedules["speedup"], linestyle="", markersize=3.5, alpha=0.6, **mark
                )
            ax.set(xlabel="speedup on the proxy", title=target)
        axes[0].set_ylabel("speedup on the target")
    return figure


def executed(points: pd.DataFrame, targets: list[str]) -> Figure:
    """Executed schedules of one graph, a panel for each target. points: rows of table `executed_points`."""
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


def anytime(parts: pd.DataFrame) -> Figure:
    """Best makespan so far over list scheduling's against evaluations, a panel for each target that methods see."""
    targets = in_order(parts["target"], (*OF_PAPER, "pcie", "nvlink"))
    style = styles(sorted(set(parts["method"])))
    with panels(targets, 3, 3.4, 2.6, style, 3) as (figure, axes):
        for ax, target in zip(axes, targets, strict=True):
            _progress(ax, parts[parts["target"] == target], style, 4, 6)
            ax.set(xlabel="evaluations", title=target)
    return figure


def _progress(ax: Axes, parts: pd.DataFrame, style: dict[str, dict[str, Any]], size: float, ticks: int) -> None:
    """A line for each method, with marks of this size, against a logarithmic axis, over list scheduling."""
    for name, curve in parts.sort_values("rank").groupby("method"):
        ax.plot(curve["part"].astype(float), curve["value"], linewidth=1.3, markersize=size, **style[str(name)])
    saving(ax.yaxis)
    logarithmic(ax.xaxis, ticks)
