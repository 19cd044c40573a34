"""Figures of cycles on processor models: against time, by length, one block side by side. No file is touched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, NullLocator

from pipeline.report.plots import subplots

_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#666666", "#222222")  # Okabe & Ito, 2008
_ABREAST = 3  # panels
_MARKS = ("o", "s", "^", "D", "v", "P", "X", "*")


@dataclass(frozen=True)
class Timeline:
    """One order of a block on an in-order processor."""

    title: str
    instructions: list[str]  # in the order of issue
    issue: np.ndarray  # (n,) cycle of issue, from 0
    latency: np.ndarray  # (n,) cycles from issue to write-back
    cycles: int  # of the whole pass


def styles(names: Sequence[str]) -> dict[str, Any]:
    """Colour and mark of every method, told apart by both."""
    return {
        name: {"color": _COLOURS[k % len(_COLOURS)], "marker": _MARKS[(k + k // len(_COLOURS)) % len(_MARKS)]}
        for k, name in enumerate(names)
    }


def pareto(points: pd.DataFrame, names: Sequence[str]) -> Figure:
    """Cycles against GCC's over microseconds per block; lower and further left is better.

    points: columns `name`, `microseconds`, `ratio`, `low`, `high`. The line joins those that no other beats in
    both.
    """
    style = styles(names)
    with subplots(9.5, 6.4) as (figure, axes):
        ax = axes[0, 0]
        own = points.sort_values(["microseconds", "ratio"])
        front = own[own["ratio"] < own["ratio"].cummin().shift(fill_value=np.inf)]
        ax.plot(front["microseconds"], front["ratio"], color="#bbbbbb", linewidth=1.2, drawstyle="steps-post", zorder=1)
        for _, row in own.iterrows():
            ax.vlines(row["microseconds"], row["low"], row["high"], color=style[row["name"]]["color"])
            ax.plot(row["microseconds"], row["ratio"], linestyle="", markersize=6.5, **style[row["name"]])
        ax.axhline(1, color="#222222", linewidth=0.8)
        ax.set_xscale("log")
        ax.xaxis.set_major_locator(LogLocator(10, numticks=9))
        ax.xaxis.set_minor_locator(NullLocator())
        ax.set_xlabel("microseconds per block, one core")
        ax.set_ylabel("cycles, of those of GCC's order")
        figure.legend(handles=_keys(style), loc="outside lower center", ncols=3)
    return figure


def by_length(parts: pd.DataFrame, judges: Sequence[str], names: Sequence[str]) -> Figure:
    """Cycles against GCC's by length, a panel for each processor, with intervals.

    parts: table `parts` of one set with a column `name`, rows of `names` alone.
    """
    style = styles(names)
    columns = min(_ABREAST, len(judges))
    rows = -(-len(judges) // columns)
    with subplots(1.2 + 3.7 * columns, 0.9 + 2.9 * rows, rows, columns) as (figure, axes):
        for ax in axes.flat[len(judges) :]:
            figure.delaxes(ax)
        for ax, judge in zip(axes.flat, judges, strict=False):
            judged = parts[parts["judge"] == judge]
            ranges = judged.drop_duplicates("part").sort_values("rank")["part"].tolist()
            for k, name in enumerate(names):
                own = judged[judged["name"] == name].sort_values("rank")
                x = own["part"].map(ranges.index).to_numpy(float) + 0.05 * (k - (len(names) - 1) / 2)
                ax.vlines(x, own["low"], own["high"], color=style[name]["color"], linewidth=1.2)
                ax.plot(x, own["value"], linewidth=1.3, markersize=4.5, **style[name])
            ax.axhline(1, color="#222222", linewidth=0.8)
            ax.set_xticks(range(len(ranges)), ranges)
            ax.set_xlabel("instructions")
            ax.set_title(judge, loc="left")
        for ax in axes[:, 0]:
            ax.set_ylabel("cycles, of those of GCC's order")
        figure.legend(handles=_keys(style), loc="outside lower center", ncols=3)
    return figure


def timelines(found: Sequence[Timeline]) -> Figure:
    """One block in several orders, side by side: a bar from issue to write-back for each instruction."""
    longest = max(one.cycles for one in found)
    rows = len(found[0].instructions)
    with subplots(1.0 + 4.2 * len(found), 0.27 * rows + 1.3, 1, len(found)) as (figure, axes):
        for ax, one in zip(axes[0], found, strict=True):
            slots = np.arange(rows)
            ax.barh(slots, np.maximum(one.latency, 1), left=one.issue, height=0.7, color="#56b4e9", edgecolor="#0072b2")
            ax.axvline(one.cycles - 1, color="#d55e00", linewidth=1.2)
            ax.set_yticks(slots, one.instructions)
            ax.tick_params(axis="y", labelsize=7, labelfontfamily="DejaVu Sans Mono")
            ax.set_ylim(rows - 0.4, -0.6)
            ax.set_xlim(-0.3, longest + 0.3)
            ax.grid(axis="y", visible=False)
            ax.set_xlabel("cycle")
            ax.set_title(f"{one.title}: {one.cycles} cycles", loc="left")
    return figure


def _keys(style: dict[str, Any]) -> list[Line2D]:
    return [Line2D([], [], linestyle="", label=name, **own) for name, own in style.items()]
