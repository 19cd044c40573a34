"""Figures of the paper's experiments: accuracy, violations against iterations, trainings, example blocks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from pipeline.analysis import paper
from pipeline.report.names import label
from pipeline.report.plots import PERCENT, colour, subplots

_HUNGARIAN: Any = {"color": "#d55e00", "markeredgecolor": "white"}


def _aggregate(results: pd.DataFrame, metric: str) -> pd.DataFrame:
    rows = results[(results["seed"] == "all") & (results["metric"] == metric) & (results["comparison"] == "value")]
    return rows.dropna(subset=["value"])


def accuracy(results: pd.DataFrame, methods: list[str]) -> Figure:
    """Exact match and valid share of every method, with intervals, Hungarian and legal, beside the paper's.

    `results`: one experiment and one kind of dependencies; `methods`: from top to bottom.
    """
    shown = [name for name in methods if name in set(results["method"]) and name != "gcc"]
    position = {name: -i for i, name in enumerate(shown)}
    shapes = {"hungarian": ("o", True, 0.14), "topological": ("s", False, -0.14), "none": ("o", True, 0.0)}
    with subplots(8, 0.42 * max(len(shown), 3) + 1.3, 1, 2) as (figure, axes):
        for ax, metric, title in zip(
            axes[0], ("exact_match", "valid_share"), ("Blocks reproduced exactly", "Valid schedules"), strict=True
        ):
            for row in _aggregate(results, metric).to_dict("records"):
                if row["method"] not in position or row["decoder"] not in shapes:
                    continue
                marker, filled, shift = shapes[row["decoder"]]
                tint, y = colour(row["method"]), position[row["method"]] + shift
                ax.plot([row["low"], row["high"]], [y, y], color=tint, linewidth=1.6)
                ax.plot(row["value"], y, marker, color=tint, markerfacecolor=tint if filled else "white", markersize=6)
            for name, values in paper.TABLE_1.items():
                if name in position:
                    ax.plot(values[metric], position[name], "D", color="#666666", markerfacecolor="none", markersize=5)
            ax.set_title(title, loc="left")
            ax.locator_params(axis="x", nbins=6)
            ax.xaxis.set_major_formatter(PERCENT)
            ax.set_yticks(list(position.values()), [label(name) for name in position])
            ax.set_ylim(-len(shown) + 0.5, 0.5)
            ax.grid(axis="y", visible=False)
        axes[0, 1].set_yticklabels([])
        keys = [
            Line2D([], [], marker="o", color="#444444", linestyle="", label="Hungarian decoding, or none"),
            Line2D([], [], marker="s", color="#444444", markerfacecolor="none", linestyle="", label="topological fill"),
            Line2D([], [], marker="D", color="#666666", markerfacecolor="none", linestyle="", label="paper"),
        ]
        figure.legend(handles=keys, loc="outside lower center", ncols=3)
    return figure


def figure_3(sweep: pd.DataFrame, results: pd.DataFrame) -> Figure:
    """The paper's Figure 3: violations and valid share against test-time iterations of POPOCS.

    `sweep`: rows of one experiment and one kind of dependencies; band: smallest to largest seed.
    `results`: the same experiment's, for Sinkhorn's flat line and its interval.
    """
    panels = [("violations_per_block", "Violated dependencies per block"), ("valid_share", "Valid schedules")]
    with subplots(8, 3.7, 1, 2) as (figure, axes):
        for ax, (metric, title) in zip(axes[0], panels, strict=True):
            by_step = sweep.groupby("iterations")[metric].agg(["mean", "min", "max"])
            ax.fill_between(by_step.index, by_step["min"], by_step["max"], color=colour("popocs"), alpha=0.18, lw=0)
            ax.plot(by_step.index, by_step["mean"], "-o", color=colour("popocs"), markersize=3.5, label="POPOCS (ours)")
            flat = _aggregate(results, metric)
            flat = flat[(flat["method"] == "sinkhorn") & (flat["decoder"] == "hungarian")]
            for row in flat.to_dict("records"):
                ax.axhspan(row["low"], row["high"], color=colour("sinkhorn"), alpha=0.15, lw=0)
                ax.axhline(row["value"], color=colour("sinkhorn"), label="Sinkhorn (ours)")
            points = {20: "popocs_20", 40: "popocs_40", 60: "popocs_60", 150: "popocs_150"}
            values = [paper.TABLE_1[name][metric] for name in points.values()]
            style: Any = {"color": colour("popocs"), "markerfacecolor": "white", "markersize": 6, "linestyle": "none"}
            ax.plot(list(points), values, "D", label="POPOCS (paper)", **style)
            ax.plot(
                [20],
                [paper.TABLE_1["sinkhorn"][metric]],
                "s",
                label="Sinkhorn (paper)",
                **(style | {"color": colour("sinkhorn")}),
            )
            ax.set_title(title, loc="left")
            ax.set_xlabel("iterations at test time")
            ax.set_xlim(-4, max(155, *by_step.index))
            if metric == "valid_share":
                ax.yaxis.set_major_formatter(PERCENT)
            else:
                ax.set_ylim(bottom=0)
        figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return figure


def example(rows: pd.DataFrame) -> Figure:
    """One block's matrices, instruction by slot, before and after the operator, one method to a row.

    `rows`: table `examples` of one block. Dot: the slot that the Hungarian method gives; frame: GCC's.
    """
    n = len(rows.iloc[0]["instructions"])
    with subplots(8, len(rows) * (0.36 * n + 1.0) + 0.6, len(rows), 2) as (figure, axes):
        for pair, row in zip(axes, rows.to_dict("records"), strict=True):
            name = label(row["method"])
            for ax, values, title in (
                (pair[0], row["proposal"], f"{name}: proposal"),
                (pair[1], row["projected"], f"{name}: projected"),
            ):
                matrix = np.asarray(values, dtype=float).reshape(n, n)
                soft = matrix.min() >= -1e-3 and matrix.max() <= 1.001  # else logits: their own scale
                image = ax.imshow(matrix, cmap="Blues", aspect="auto", **({"vmin": 0, "vmax": 1} if soft else {}))
                _cells(ax, matrix, image.norm(matrix).data)
                slots = np.arange(n)
                for slot, instruction in zip(slots, row["gcc_order"], strict=True):
                    corner = (slot - 0.47, instruction - 0.46)
                    ax.add_patch(Rectangle(corner, 0.94, 0.92, fill=False, edgecolor="#222222", linewidth=1.6))
                ax.plot(slots + 0.33, np.asarray(row["order"]) - 0.27, "o", markersize=6, **_HUNGARIAN)
                ax.set_title(title, loc="left")
                ax.set_xticks(slots, [str(slot + 1) for slot in slots])
                ax.set_yticks(
                    slots, list(row["instructions"]) if ax is pair[0] else [""] * n, family="DejaVu Sans Mono"
                )
                ax.tick_params(length=0, labelsize=8.5)
                ax.grid(visible=False)
                ax.spines[:].set_visible(False)
        for ax in axes[-1]:
            ax.set_xlabel("slot")
        keys = [
            Line2D([], [], marker="o", linestyle="", label="slot after matching (Hungarian)", **_HUNGARIAN),
            Line2D([], [], marker="s", color="#222222", markerfacecolor="none", linestyle="", label="GCC's slot"),
        ]
        figure.legend(handles=keys, loc="outside lower center", ncols=2)
    return figure


def _cells(ax: Axes, matrix: np.ndarray, shade: np.ndarray) -> None:
    """Write every entry of `matrix` (n, n) into its cell; `shade` (n, n) in [0, 1] picks the ink."""
    if len(matrix) > 10:
        return
    for (i, j), value in np.ndenumerate(matrix):
        text = f"{value:.2f}" if abs(value) < 10 else f"{value:.0f}"
        text = "0" if text in ("0.00", "-0.00") else text
        ax.text(j, i, text, ha="center", va="center", fontsize=7.5, color="white" if shade[i, j] > 0.6 else "#333333")
