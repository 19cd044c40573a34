"""Figures of fusion plans: the kernels of a part of a graph, numbers of kernels, and training."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from learned_schedulers.figures import subplots
from pipeline.lab.page.colours import INK, PALETTE, colour
from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.names import label
from pipeline.lab.page.numbers import duration
from pipeline.lab.page.plots import Drawing, downwards, drawings, key, legend, saving, shares, thousands

_UNTAUGHT = "go_fusion_untaught"
_ALONE_COLOUR, _EDGE_COLOUR = "#9a9a9a", "#cfcfcf"
_TINTS = PALETTE[:6]
_JOINED: Any = {"linewidth": 6, "alpha": 0.4}
_REPEATED_WIDTH = 2  # of a line to an operation that other kernels compute as well
_CALLS = ("library", "opaque")
_COUNTED = ("separate", "xla_2023", "priority_fusion", "go_fusion", "go_fusion_zero_shot")
Points = dict[int, tuple[float, float]]  # operation -> x, y


def figures(evidence: Evidence) -> dict[str, Drawing]:
    """The figures that have rows."""
    controls = evidence.of("fusion_development")
    controls = controls[(controls["method"] == _UNTAUGHT) & (controls["metric"] == "run_time")]
    controls = controls[(controls["baseline"] == "default") & (controls["target"] == "alone")]
    history = evidence.table("whole_graph_trainings", "fusion")
    return drawings(
        fusion_groups=(_groups, evidence.table("fused_operations")),
        fusion_kernels=(_kernels, _counts(evidence.table("parts", "fusion"))),
        fusion_training=(_training, history, next(iter(controls["value"]), None)),
    )


def _counts(parts: pd.DataFrame) -> pd.DataFrame:
    """Kernels of every whole graph on one device; no fusion comes first."""
    chosen = parts[(parts["by"] == "graph") & (parts["metric"] == "kernels") & (parts["comparison"] == "value")]
    chosen = chosen[(chosen["set"] == "fusion_unseen") & (chosen["target"] == "alone")]
    chosen = chosen[chosen["method"].isin(_COUNTED)].sort_values("part", kind="stable")
    return chosen.sort_values("method", key=lambda names: names.map(_COUNTED.index), kind="stable")


def _kernels(counts: pd.DataFrame) -> Figure:
    """Kernels of every graph, with a bar for each method; the first bar is before fusion."""
    names, methods = list(dict.fromkeys(counts["part"])), list(dict.fromkeys(counts["method"]))
    wide = 0.8 / len(methods)
    with subplots(8, 1.2 + (0.12 * len(methods) + 0.12) * len(names)) as (figure, axes):
        ax = axes[0, 0]
        for rank, method in enumerate(methods):
            bars = counts[counts["method"] == method].set_index("part")["value"]
            heights = [-names.index(name) + 0.4 - (rank + 0.5) * wide for name in bars.index]
            ax.barh(heights, bars, wide * 0.92, color=colour(method))
        downwards(ax, names, 0.6)
        ax.set_xlabel("kernels")
        ax.xaxis.set_major_locator(MaxNLocator(8, integer=True))
        thousands(ax.xaxis)
        legend(figure, [key(label(name), color=colour(name), linewidth=6) for name in methods], 3)
    return figure


def _training(history: pd.DataFrame, control: float | None) -> Figure:
    """Development and training graphs by updates; lines are seeds, the dashed line is the control without learning."""
    panels = {
        "development": "Development: against the best default",
        "training": "Training: share saved by a round",
    }
    tints = dict(zip(sorted(set(history["seed"])), PALETTE, strict=False))
    with subplots(9, 3.4, 1, len(panels)) as (figure, axes):
        for ax, (split, title) in zip(axes[0], panels.items(), strict=True):
            for seed, rows in history[history["split"] == split].groupby("seed"):
                ax.plot(rows["update"], rows["value"], "-o", markersize=3, linewidth=1.2, color=tints[seed])
            ax.set(title=title, xlabel="updates")
            ax.xaxis.set_major_locator(MaxNLocator(6))
        saving(axes[0, 0].yaxis)
        axes[0, 1].set_yscale("log", nonpositive="mask")
        shares(axes[0, 1].yaxis)
        keys = [key(f"seed {seed}", color=tint, marker="o", markersize=3) for seed, tint in tints.items()]
        if control is not None:
            axes[0, 0].axhline(control, color="#444444", linestyle="--", linewidth=1.2)
            keys.append(key(f"{label(_UNTAUGHT)}, 1,000 evaluations", color="#444444", linestyle="--"))
        legend(figure, keys, 6)
    return figure


def _groups(operations: pd.DataFrame) -> Figure:
    """Operations at their depth; lines join those of one kernel; a panel for each method.

    operations: table `fused_operations` of one graph.
    """
    plans = [plan for _, plan in operations.groupby("place")]
    tallest = int(operations["row"].max()) + 1
    with subplots(10, 0.9 + len(plans) * (0.55 + 0.17 * tallest), len(plans)) as (figure, axes):
        for ax, plan in zip(axes[:, 0], plans, strict=True):
            first = plan.iloc[0]
            title = f"{label(first['method'])}: {first['kernels']:,} kernels, {duration(first['seconds'])}, whole graph"
            ax.set_title(title)
            _draw(ax, plan)
        axes[-1, 0].set_xlabel("depth: operations on the longest path before it")
        legend(figure, _keys(), 3)
    return figure


def _keys() -> Iterator[Any]:
    dot: Any = {"linestyle": "", "markersize": 6}
    tint = _TINTS[0]
    yield key("operations of one kernel", color=tint, **_JOINED)
    yield key("stored result", marker="o", color=tint, **dot)
    yield key("not stored", marker="o", color=tint, markerfacecolor="white", **dot)
    yield key("a kernel of its own", marker="o", color=_ALONE_COLOUR, **dot)
    yield key("library call", marker="s", color=_ALONE_COLOUR, **dot)
    yield key("computed in several kernels", marker="o", color=tint, markeredgecolor=INK, markeredgewidth=1.4, **dot)


def _draw(ax: Axes, plan: pd.DataFrame) -> None:
    """The plan of one method. An operation that several kernels compute has several rows."""
    each = plan.drop_duplicates("operation")
    points = _points(each)
    parents = {int(i): _numbers(entry) for i, entry in zip(each["operation"], each["parents"], strict=True)}
    computing = plan.groupby("kernel")["operation"].apply(set).to_dict()
    joined = {k: inside for k, inside in sorted(computing.items()) if len(inside) > 1 and k in points}
    tints = {kernel: _TINTS[rank % len(_TINTS)] for rank, kernel in enumerate(joined)}
    for operation, read in parents.items():
        for parent in read:
            ax.plot(*_line(points, parent, operation), color=_EDGE_COLOUR, linewidth=0.7, zorder=1)
    repeated = set(plan.loc[plan["operation"].duplicated(), "operation"])
    for kernel, inside in joined.items():
        for pair in _links(inside, parents):
            style = _JOINED | ({"linewidth": _REPEATED_WIDTH} if repeated & set(pair) else {})
            ax.plot(*_line(points, *pair), color=tints[kernel], solid_capstyle="round", zorder=2, **style)
    tint_of = {operation: tints[kernel] for kernel, inside in joined.items() for operation in inside}
    for row in each.to_dict("records"):
        tint = tint_of.get(row["operation"], _ALONE_COLOUR)
        shown: Any = {"color": tint if row["written"] else "white", "marker": "s" if row["loop"] in _CALLS else "o"}
        ring = INK if row["operation"] in repeated else tint
        ax.plot(*points[row["operation"]], markeredgecolor=ring, markersize=4.5, markeredgewidth=1.1, zorder=3, **shown)
    ax.set_yticks([])
    ax.spines["left"].set_visible(False)
    ax.margins(0.015, 0.12)
    ax.grid(visible=False)


def _line(points: Points, begin: int, end: int) -> tuple[tuple[float, float], tuple[float, float]]:
    """The x of both ends, and their y."""
    (begin_x, begin_y), (end_x, end_y) = points[begin], points[end]
    return (begin_x, end_x), (begin_y, end_y)


def _points(each: pd.DataFrame) -> Points:
    """Operations at their depth; those of one depth are below each other, around the middle."""
    heights = each.groupby("depth")["row"].transform("max") / 2 - each["row"]
    places = zip(each["operation"], each["depth"], heights, strict=True)
    return {int(operation): (float(x), float(y)) for operation, x, y in places}


def _numbers(entry: object) -> list[int]:
    """Operations of an entry, which is an array, or text if it comes from a CSV file."""
    return [int(text) for text in re.findall(r"\d+", entry)] if isinstance(entry, str) else [*np.asarray(entry, int)]


def _links(inside: set[int], parents: dict[int, list[int]]) -> Iterator[tuple[int, int]]:
    """Pairs that connect the operations of a kernel: its edges, then one pair between each two separate components."""
    components: list[set[int]] = []
    for operation in sorted(inside):
        read = [parent for parent in parents[operation] if parent in inside]
        yield from ((parent, operation) for parent in read)
        touched = [group for group in components if group & set(read)]
        components = [group for group in components if group not in touched] + [{operation}.union(*touched)]
    for before, after in pairwise(components):
        yield max(before), min(after)
