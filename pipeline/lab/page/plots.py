"""Parts of all figures. Equal frames give equal bytes; it touches no file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import XAxis, YAxis
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import EngFormatter, FixedLocator, FuncFormatter, LogLocator, MaxNLocator, NullLocator

from learned_schedulers.figures import subplots
from pipeline.lab.page.colours import INK, colour
from pipeline.lab.page.names import label

Axis = XAxis | YAxis
Drawing = Callable[[], Figure]  # draws the figure when it is called

_LINES: Any = {"development": "-", "training": ":"}
_CHANGE = FuncFormatter(lambda ratio, _: f"{100 * abs(ratio - 1):.6g}%")


@contextmanager
def panels(
    names: list[str],
    columns: int,
    width: float,
    height: float,
    style: dict[str, dict[str, Any]],
    keys: int,
    write: Callable[[str], str] = label,
    **shown: Any,
) -> Iterator[tuple[Figure, list[Axes]]]:
    """A panel of `width` x `height` inches for each name, `columns` per row, with the methods' legend below.

    keys: methods per row of the legend; write: their names; shown: further style of the marks in the legend.
    """
    columns = min(columns, len(names))
    rows = -(-len(names) // columns)
    with subplots(1 + width * columns, 0.8 + height * rows, rows, columns) as (figure, grid):
        axes = list(grid.flat)
        for ax in axes[len(names) :]:
            figure.delaxes(ax)
        yield figure, axes[: len(names)]
        legend(figure, [key(write(name), **shown, **mark) for name, mark in style.items()], keys)


def drawings(**figures: tuple[Any, ...]) -> dict[str, Drawing]:
    """Drawings by name, of the figures with rows; each is given as a function, its rows and its further arguments."""
    return {name: partial(draw, rows, *more) for name, (draw, rows, *more) in figures.items() if len(rows)}


def key(text: str, **style: Any) -> Line2D:
    """An entry of a legend."""
    return Line2D([], [], label=text, **style)


def legend(figure: Figure, keys: Iterable[Artist], columns: int) -> None:
    """One legend for all panels, below them."""
    figure.legend(handles=[*keys], loc="outside lower center", ncols=columns)


def shares(*axes: Axis, whole: bool = False) -> None:
    """Percentages along these axes; `whole`: from 0 to 100%."""
    for axis in axes:
        if whole:
            axis.axes.set(**{f"{axis.axis_name}lim": (-0.03, 1.03)})
        axis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:.6g}%"))


def saving(axis: Axis, text: str = "← saves    takes longer →") -> None:
    """Ratios to a baseline along the axis, told as sentences tell them; a line marks the baseline itself.

    Ticks below 1 show what is saved, ticks above 1 how much longer it takes; `text` names both directions.
    """
    line = axis.axes.axvline if axis.axis_name == "x" else axis.axes.axhline
    line(1, color=INK, linewidth=0.8)
    axis.set_major_formatter(_CHANGE)
    axis.set_label_text(text)


def thousands(axis: Axis) -> None:
    """Counts along the axis: 20k, 1M."""
    axis.set_major_formatter(EngFormatter(sep=""))


def logarithmic(axis: Axis, ticks: int | Sequence[float]) -> None:
    """A logarithmic axis; `ticks`: the positions of its ticks, or the number of powers of ten."""
    axis.axes.set(**{f"{axis.axis_name}scale": "log"})
    if isinstance(ticks, int):
        axis.set_major_locator(LogLocator(10, numticks=ticks))
    else:
        axis.set_major_locator(FixedLocator(ticks))
        axis.set_major_formatter("{x:.0f}")
    axis.set_minor_locator(NullLocator())


def curve(ax: Axes, x: Any, rows: pd.DataFrame, width: float, **style: Any) -> None:
    """Values over `x` with their intervals; `width`: line width of the intervals."""
    ax.vlines(x, rows["low"], rows["high"], color=style["color"], linewidth=width)
    ax.plot(x, rows["value"], **style)


def point(ax: Axes, row: Any, y: float, width: float, **style: Any) -> None:
    """A value at height `y` with its interval; `width`: line width of the interval."""
    ax.plot([row["low"], row["high"]], [y, y], color=style["color"], linewidth=width)
    ax.plot(row["value"], y, linestyle="", **style)


def downwards(ax: Axes, names: Sequence[str], margin: float = 0.5) -> None:
    """Names at the left: the first at height 0, on top, the next at -1, -2 ..."""
    ax.set_yticks(-np.arange(len(names)), names)
    ax.set_ylim(1 - len(names) - margin, margin)
    ax.grid(axis="y", visible=False)


def methods(rows: pd.DataFrame) -> Figure:
    """Methods of an experiment (rows, from top to bottom) in some metrics (columns), a panel for each."""
    with subplots(2.5 + 2.5 * rows.shape[1], 0.8 + 0.25 * len(rows), 1, rows.shape[1]) as (figure, axes):
        for number, (ax, metric) in enumerate(zip(axes[0], rows, strict=True)):
            bars = ax.barh(-np.arange(len(rows)), rows[metric], color=[colour(name) for name in rows.index])
            ax.bar_label(bars, fmt=" %.3g", fontsize=8)
            downwards(ax, ["" if number else label(name) for name in rows.index])
            ax.set_title(metric, fontsize=9)
            ax.margins(x=0.2)
    return figure


def training(history: pd.DataFrame, metrics: Sequence[tuple[str, str]], of: str = "blocks") -> Figure:
    """Training curves, a panel for each metric, against steps; thin lines are seeds.

    `history`: rows of one experiment and one kind of dependencies; `metrics`: metric, title; `of`: the kind of
    problem, for the legend.
    """
    shades = {name: colour(name) for name in sorted(set(history["model"]), reverse=True)}
    with subplots(8, 3.8 - 0.2 * len(metrics), 1, len(metrics)) as (figure, axes):
        for ax, (metric, title) in zip(axes[0], metrics, strict=True):
            for (model, split), rows in history.dropna(subset=[metric]).groupby(["model", "split"], sort=True):
                wide, tint = rows.pivot_table(index="step", columns="seed", values=metric), shades[str(model)]
                if wide.shape[1] > 1:
                    ax.plot(wide.index, wide, _LINES[split], color=tint, linewidth=0.6, alpha=0.45)
                ax.plot(wide.index, wide.mean(axis=1), _LINES[split], color=tint, linewidth=1.8)
            ax.set(title=title, xlabel="optimiser step")
            ax.xaxis.set_major_locator(MaxNLocator(12 // len(metrics)))
            thousands(ax.xaxis)
            if metric != "loss":
                shares(ax.yaxis)
        keys = [key(label(name), color=shade) for name, shade in shades.items()]
        present = [split for split in _LINES if split in set(history["split"])]
        keys += [key(f"{split} {of}", color="#444444", linestyle=_LINES[split]) for split in present]
        legend(figure, keys, 4)
    return figure
