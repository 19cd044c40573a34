"""Figures of the paper's experiments: accuracy, violations against iterations, example blocks."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from learned_schedulers.figures import subplots
from pipeline.lab import paper
from pipeline.lab.page.colours import INK, VERMILION, colour
from pipeline.lab.page.evidence import ALL, Evidence
from pipeline.lab.page.names import in_order, label
from pipeline.lab.page.plots import Drawing, downwards, drawings, key, legend, point, shares, training

_EXPERIMENTS = ("quick", "paper", "factorial")  # our settings, those of the paper, each operator by each optimiser
_BASELINES = ("random_legal", "input_order", "critical_path")
_CURVES = (("loss", "Loss, nats per instruction"), ("exact_match", "Exact match"), ("valid_share", "Valid"))
_HUNGARIAN: Any = {"color": VERMILION, "markeredgecolor": "white"}
_SHAPES: dict[str, tuple[float, str, bool]] = {  # decoder -> height above its line, mark, filled
    "hungarian": (0.14, "o", True),
    "best": (-0.14, "s", False),
    "none": (0.0, "o", True),
}


def figures(evidence: Evidence) -> dict[str, Drawing]:
    """The figures of each experiment and kind of dependencies."""
    results = evidence.results[evidence.results["experiment"].isin(_EXPERIMENTS)]
    every: dict[str, Drawing] = {}
    for (experiment, dependencies), rows in results.groupby(["experiment", "dependencies"]):

        def chosen(stem: str, experiment: str = str(experiment), dependencies: str = str(dependencies)) -> pd.DataFrame:
            frame = evidence.table(stem, experiment)
            return frame[frame["dependencies"] == dependencies] if len(frame) else frame

        methods = in_order(rows["method"], ["sinkhorn"])
        place, schedulers = f"{experiment}_{dependencies}", [name for name in methods if name not in _BASELINES]
        examples = chosen("examples")
        blocks = examples.groupby("block_id", sort=False) if len(examples) else ()
        every |= drawings(
            **{
                f"accuracy_{place}": (accuracy, rows, [*schedulers, *_BASELINES]),
                f"figure_3_{place}": (figure_3, chosen("sweep"), rows),
                f"training_{place}": (training, chosen("history"), _CURVES),
            }
        ) | {f"example_{place}_{k}": partial(example, block) for k, (_, block) in enumerate(blocks, 1)}
    return every


def _aggregate(results: pd.DataFrame, metric: str) -> pd.DataFrame:
    rows = results[(results["seed"] == ALL) & (results["metric"] == metric) & (results["comparison"] == "value")]
    return rows.dropna(subset=["value"])


def accuracy(results: pd.DataFrame, methods: list[str]) -> Figure:
    """Exact match and valid share of every method and decoder, with intervals, beside the paper's numbers.

    `results`: rows of one experiment and one kind of dependencies; `methods`: from top to bottom.
    """
    shown = [name for name in methods if name in set(results["method"]) and name != "gcc"]
    panels = {"exact_match": "Exact match", "valid_share": "Valid orders"}
    with subplots(8, 0.42 * max(len(shown), 3) + 1.3, 1, 2) as (figure, axes):
        for ax, (metric, title) in zip(axes[0], panels.items(), strict=True):
            rows = _aggregate(results, metric)
            for row in rows[rows["method"].isin(shown) & rows["decoder"].isin(_SHAPES)].to_dict("records"):
                above, marker, filled = _SHAPES[row["decoder"]]
                tint, y = colour(row["method"]), above - shown.index(row["method"])
                mark: Any = {"marker": marker, "markerfacecolor": tint if filled else "white", "markersize": 6}
                point(ax, row, y, 1.6, color=tint, **mark)
            for name, values in paper.TABLE_1.items():
                if name in shown:
                    y = -shown.index(name)
                    ax.plot(values[metric], y, "D", color="#666666", markerfacecolor="none", markersize=5)
            ax.set_title(title)
            ax.locator_params(axis="x", nbins=6)
            shares(ax.xaxis)
            downwards(ax, [label(name) for name in shown])
        axes[0, 1].set_yticklabels([])
        hollow: Any = {"markerfacecolor": "none", "linestyle": ""}
        keys = [
            key("Hungarian decoding, or none", marker="o", color="#444444", linestyle=""),
            key("best legal order", marker="s", color="#444444", **hollow),
            key("paper", marker="D", color="#666666", **hollow),
        ]
        legend(figure, keys, 3)
    return figure


def figure_3(sweep: pd.DataFrame, results: pd.DataFrame) -> Figure:
    """The paper's Figure 3: violations and valid share against test-time iterations of POPOCS.

    `sweep`: rows of one experiment and one kind of dependencies; the band spans the smallest to the largest seed.
    `results`: rows of the same experiment, for Sinkhorn's line and its interval.
    """
    panels = {"violations_per_block": "Violated dependencies per block", "valid_share": "Valid orders"}
    papers = {20: "popocs_20", 40: "popocs_40", 60: "popocs_60", 150: "popocs_150"}
    style: Any = {"markerfacecolor": "white", "markersize": 6, "linestyle": "none"}
    popocs, sinkhorn = colour("popocs"), colour("sinkhorn")
    with subplots(8, 3.7, 1, 2) as (figure, axes):
        for ax, (metric, title) in zip(axes[0], panels.items(), strict=True):
            by_step = sweep.groupby("iterations")[metric].agg(["mean", "min", "max"])
            ax.fill_between(by_step.index, by_step["min"], by_step["max"], color=popocs, alpha=0.18, lw=0)
            ax.plot(by_step.index, by_step["mean"], "-o", color=popocs, markersize=3.5, label="POPOCS (ours)")
            flat = _aggregate(results, metric)
            flat = flat[(flat["method"] == "sinkhorn") & (flat["decoder"] == "hungarian")]
            for row in flat.to_dict("records"):
                ax.axhspan(row["low"], row["high"], color=sinkhorn, alpha=0.15, lw=0)
                ax.axhline(row["value"], color=sinkhorn, label="Sinkhorn (ours)")
            values = [paper.TABLE_1[name][metric] for name in papers.values()]
            ax.plot(list(papers), values, "D", label="POPOCS (paper)", color=popocs, **style)
            value = paper.TABLE_1["sinkhorn"][metric]
            ax.plot([20], [value], "s", label="Sinkhorn (paper)", color=sinkhorn, **style)
            ax.set(title=title, xlabel="iterations at test time", xlim=(-4, max(155, *by_step.index)))
            if metric == "valid_share":
                shares(ax.yaxis)
            else:
                ax.set_ylim(bottom=0)
        legend(figure, axes[0, 0].get_legend_handles_labels()[0], 4)
    return figure


def example(rows: pd.DataFrame) -> Figure:
    """One block's matrices, instruction by slot, before and after the operator, a row for each method.

    `rows`: table `examples` of one block. Dot: the slot by Hungarian decoding; frame: GCC's slot.
    """
    n = len(rows.iloc[0]["instructions"])
    with subplots(8, len(rows) * (0.36 * n + 1.0) + 0.6, len(rows), 2) as (figure, axes):
        for pair, row in zip(axes, rows.to_dict("records"), strict=True):
            for ax, kind in zip(pair, ("proposal", "projected"), strict=True):
                matrix = np.asarray(row[kind], dtype=float).reshape(n, n)
                soft = matrix.min() >= -1e-3 and matrix.max() <= 1.001  # logits have a scale of their own
                image = ax.imshow(matrix, cmap="Blues", aspect="auto", **({"vmin": 0, "vmax": 1} if soft else {}))
                _cells(ax, matrix, image.norm(matrix).data)
                slots = np.arange(n)
                for slot, instruction in zip(slots, row["gcc_order"], strict=True):
                    corner = (slot - 0.47, instruction - 0.46)
                    ax.add_patch(Rectangle(corner, 0.94, 0.92, fill=False, edgecolor=INK, linewidth=1.6))
                ax.plot(slots + 0.33, np.asarray(row["order"]) - 0.27, "o", markersize=6, **_HUNGARIAN)
                ax.set_title(f"{label(row['method'])}: {kind}")
                ax.set_xticks(slots, [str(slot + 1) for slot in slots])
                names = list(row["instructions"]) if ax is pair[0] else [""] * n
                ax.set_yticks(slots, names, family="DejaVu Sans Mono")
                ax.tick_params(length=0, labelsize=8.5)
                ax.grid(visible=False)
                ax.spines[:].set_visible(False)
        for ax in axes[-1]:
            ax.set_xlabel("slot")
        first = rows.iloc[0]
        edges = [f"{a + 1} before {b + 1}" for a, b in zip(first["before"], first["after"], strict=True)]
        figure.suptitle("; ".join(edges) or "every order is legal", fontsize=9)
        keys = [
            key("slot after matching (Hungarian)", marker="o", linestyle="", **_HUNGARIAN),
            key("GCC's slot", marker="s", color=INK, markerfacecolor="none", linestyle=""),
        ]
        legend(figure, keys, 2)
    return figure


def _cells(ax: Axes, matrix: np.ndarray, shade: np.ndarray) -> None:
    """Write every entry of `matrix` (n, n) into its cell; `shade` (n, n) in [0, 1] picks the ink."""
    if len(matrix) > 10:
        return
    for (i, j), value in np.ndenumerate(matrix):
        text = f"{value:.2f}" if abs(value) < 10 else f"{value:.0f}"
        text = "0" if text in ("0.00", "-0.00") else text
        ax.text(j, i, text, ha="center", va="center", fontsize=7.5, color="white" if shade[i, j] > 0.6 else "#333333")
