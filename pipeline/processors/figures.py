"""Figures of orders for processors: quality against time, calls of a judge, example blocks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from learned_schedulers.figures import subplots
from pipeline.lab.page.colours import BLUE, SKY, VERMILION, styles
from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.names import in_order, with_decoder
from pipeline.lab.page.plots import Drawing, curve, drawings, key, legend, logarithmic, panels, saving
from pipeline.lab.page.tables import CHOSEN, TO_GCC

_ON = {"target": "atom", "set": "test_10_40"}  # of the picture of quality against time


def figures(evidence: Evidence) -> dict[str, Drawing]:
    """The figures that have rows."""
    times, calls = _budgets(evidence.of("time_against_quality")), _budgets(evidence.of("equal_calls"))
    examples = evidence.table("timelines", "processors")
    blocks = [block for _, block in examples.groupby("rank")] if len(examples) else []
    return drawings(
        guess_time=(_curves, times, "microseconds", "microseconds per block, one core"),
        guess_calls=(_curves, calls[calls["method"] != "random"], "budget", "calls of llvm-mca"),
        processors_pareto=(_pareto, _points(evidence)),
        **{f"processors_block_{k}": (_timelines, block) for k, block in enumerate(blocks, 1)},
    )


def _points(evidence: Evidence) -> pd.DataFrame:
    """Cycles over GCC's of methods that were timed: columns `name` and `microseconds`, of later runs if there are."""
    rows = evidence.of("processors", "processors_speed_zen4", "processors_speed")
    rows = rows[(rows[list(_ON)] == pd.Series(_ON)).all(axis=1) & rows["decoder"].isin(CHOSEN)]
    timed = rows[(rows["metric"] == "microseconds_per_block") & (rows["judge"] == "none")]
    times = timed.sort_values("experiment", key=lambda names: names == "processors_speed").set_index(
        ["method", "decoder"]
    )
    by_method = times["value"].groupby(level=[0, 1]).last().rename("microseconds")
    query = pd.Series(TO_GCC | {"judge": "atom", "experiment": "processors"})
    points = rows[(rows[list(query.index)] == query).all(axis=1)].join(by_method, on=["method", "decoder"], how="inner")
    pairs = zip(points["method"], points["decoder"], strict=True)
    return points.assign(name=[with_decoder(*pair) for pair in pairs]).sort_values("value")


def _budgets(rows: pd.DataFrame) -> pd.DataFrame:
    """Ratios with the number in the decoder's name as `budget`, and the time, where there is one."""
    chosen = rows[(rows["target"] != "slowest") & rows["baseline"].isin(("best", "search"))]
    of_time = rows[rows["metric"] == "microseconds_per_block"].set_index(["target", "method", "decoder"])["value"]
    keys = pd.MultiIndex.from_frame(chosen[["target", "method", "decoder"]])
    budgets = chosen["decoder"].astype(str).str.split("_").str[-1].astype(int)
    return chosen.assign(budget=budgets, microseconds=of_time.reindex(keys).to_numpy())


def _curves(points: pd.DataFrame, x: str, of_x: str) -> Figure:
    """Cycles over the baseline's against `x`, a panel for each processor."""
    targets = in_order(set(points["target"]) - {"all"}, ("atom", "silvermont", "btver2", "haswell"))
    style = styles(list(points["method"].unique()))
    with panels(targets, 3, 3.7, 2.9, style, 3) as (figure, axes):
        for ax, target in zip(axes, targets, strict=True):
            for name, of_method in points[points["target"] == target].groupby("method", sort=False):
                line = of_method.sort_values("budget")
                curve(ax, line[x].to_numpy(float), line, 1.2, linewidth=1.3, markersize=4, **style[str(name)])
            saving(ax.yaxis)
            logarithmic(ax.xaxis, 9)
            ax.set(xlabel=of_x, title=target)
    return figure


def _pareto(points: pd.DataFrame) -> Figure:
    """Cycles relative to GCC's against microseconds per block; lower and further left is better.

    `points`: rows of table `results` with columns `name` and `microseconds`. The line joins the Pareto front.
    """
    style = styles(points["name"].tolist(), points["method"].tolist())
    with subplots(9.5, 6.4) as (figure, axes):
        ax = axes[0, 0]
        points = points.sort_values(["microseconds", "value"])
        front = points[points["value"] < points["value"].cummin().shift(fill_value=np.inf)]
        ax.plot(front["microseconds"], front["value"], color="#bbbbbb", linewidth=1.2, drawstyle="steps-post", zorder=1)
        for _, row in points.iterrows():
            ax.vlines(row["microseconds"], row["low"], row["high"], color=style[row["name"]]["color"])
            ax.plot(row["microseconds"], row["value"], linestyle="", markersize=6.5, **style[row["name"]])
        saving(ax.yaxis)
        logarithmic(ax.xaxis, 9)
        ax.set_xlabel("microseconds per block, one core")
        legend(figure, [key(name, linestyle="", **mark) for name, mark in style.items()], 3)
    return figure


def _timelines(block: pd.DataFrame) -> Figure:
    """One block in several orders side by side: a bar from issue to write-back for each instruction.

    `block`: table `timelines`, rows of one block.
    """
    orders = list(block.sort_values(["place", "slot"]).groupby("title", sort=False))
    rows = block["slot"].nunique()
    with subplots(1.0 + 4.2 * len(orders), 0.27 * rows + 1.3, 1, len(orders)) as (figure, axes):
        for ax, (title, order) in zip(axes[0], orders, strict=True):
            slots, cycles = np.arange(rows), order["cycles"].iloc[0]
            bars: Any = {"height": 0.7, "color": SKY, "edgecolor": BLUE}
            ax.barh(slots, np.maximum(order["latency"], 1), left=order["issue"], **bars)
            ax.axvline(cycles - 1, color=VERMILION, linewidth=1.2)
            ax.set_yticks(slots, order["instruction"])
            ax.tick_params(axis="y", labelsize=7, labelfontfamily="DejaVu Sans Mono")
            ax.set(ylim=(rows - 0.4, -0.6), xlim=(-0.3, block["cycles"].max() + 0.3))
            ax.grid(axis="y", visible=False)
            ax.set(xlabel="cycle", title=f"{title}: {cycles} cycles")
    return figure
