"""Gantt charts of schedules: devices against time, a panel for each schedule, one time axis for all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter

from learned_schedulers.figures import subplots
from learned_schedulers.graphs.devices.timeline import Timeline

_TINTS = "viridis"  # its lightness grows evenly: it also works in print and for colour-blind readers
_BAR_HEIGHT = 0.8  # devices are 1 apart
_MOST_TRANSFERS = 200  # more would hide the bars
_LETTERS = 105  # of a bar's name, at most, along the whole axis
_DARK = 0.6  # of the tints: a name on it is white
_NARROW = 1 / 300  # of the axis: narrower bars have no edge, because it would hide them


def gantt(
    schedules: Mapping[str, Timeline],
    bound: float | None = None,
    heading: str = "",
    names: Sequence[str] = (),
    entries: str = "operation of the graph",
) -> Figure:
    """A panel for each schedule, under its title and makespan.

    The colour shows the place of an operation in the graph, from its beginning (dark) to its end (bright). Thin lines
    are transfers, drawn if they are few. bound: the dashed line, seconds before which no schedule ends. heading: of the
    figure; names: (n,), of the operations, which stand on bars that are wide enough; entries: what they are.
    """
    devices = sum(schedule.devices for schedule in schedules.values())
    with subplots(9, 1.2 + 0.75 * len(schedules) + 0.32 * devices, len(schedules)) as (figure, axes):
        axes[0, 0].get_gridspec().set_height_ratios([1 + schedule.devices for schedule in schedules.values()])
        longest = max([*(schedule.makespan for schedule in schedules.values()), bound or 0.0]) or 1.0
        for ax, (title, schedule) in zip(axes[:, 0], schedules.items(), strict=True):
            _panel(ax, schedule, longest)
            _label(ax, schedule, longest, names)
            ax.set(title=f"{title}: {EngFormatter('s', places=2)(schedule.makespan)}", xlim=(0, longest))
            ax.xaxis.set_major_formatter(EngFormatter("s"))
            if bound is not None:
                ax.axvline(bound, color="#d55e00", linewidth=1.2, linestyle="--", label="lower bound")
        axes[-1, 0].set_xlabel("time")
        if heading:
            figure.suptitle(heading, x=0.01, ha="left", fontsize=11)
        if bound is not None:
            handles = axes[0, 0].get_legend_handles_labels()[0]
            figure.legend(handles=handles if heading else handles[-1:], loc="outside upper right")
        bar = figure.colorbar(ScalarMappable(cmap=_TINTS), ax=list(axes[:, 0]), ticks=[0, 1], aspect=15)
        bar.ax.set_yticklabels(["first", "last"])
        bar.set_label(entries, labelpad=-12)
    return figure


def _panel(ax: Axes, schedule: Timeline, longest: float) -> None:
    n = len(schedule.begins)
    tints = colormaps[_TINTS](np.arange(n) / max(n - 1, 1))
    spans = np.stack([schedule.begins, schedule.ends - schedule.begins], 1)
    edges = np.where(spans[:, 1] > _NARROW * longest, 0.4, 0.0)
    for device in range(schedule.devices):
        on_device = schedule.placement == device
        ax.broken_barh(
            spans[on_device],
            (-device - _BAR_HEIGHT / 2, _BAR_HEIGHT),
            facecolors=tints[on_device],
            edgecolor="white",
            linewidth=edges[on_device],
        )
    if 0 < len(schedule.results) <= _MOST_TRANSFERS:
        times = np.stack([schedule.departures, schedule.arrivals])
        ends = -np.stack([schedule.senders, schedule.receivers])
        first, *_ = ax.plot(times, ends, color="#444444", linewidth=0.5, alpha=0.7)
        first.set_label("transfer, until it arrives")
    ax.set_yticks(-np.arange(schedule.devices), [f"device {name}" for name in schedule.names])
    ax.set_ylim(0.5 - schedule.devices, 0.5)
    ax.grid(axis="y", visible=False)


def _label(ax: Axes, schedule: Timeline, longest: float, names: Sequence[str]) -> None:
    """Names, without the kind of the operation, on the bars that are wide enough."""
    for i, name in enumerate(names):
        text = name.partition(" (")[0]
        begin, end = float(schedule.begins[i]), float(schedule.ends[i])
        if text and len(text) + 1 <= (end - begin) / longest * _LETTERS:
            color = "white" if i / max(len(names) - 1, 1) < _DARK else "black"
            place = (begin + end) / 2, -int(schedule.placement[i])
            ax.text(*place, text, ha="center", va="center", fontsize=7, color=color, parse_math=False)
