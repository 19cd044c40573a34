"""Data frame -> matplotlib figure. No file is read or written here; equal frames give equal bytes."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pandas as pd
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.ticker import EngFormatter, FuncFormatter, MaxNLocator
from PIL import Image

from pipeline.analysis import paper

# One colour per scheduler everywhere: Sinkhorn orange, POPOCS blue (darker with iterations), baselines
# grey, GCC black. Told apart in print and by colour-blind readers (Okabe & Ito, 2008).
COLOURS = {
    "sinkhorn": "#d55e00",
    "popocs": "#0072b2",
    "popocs_20": "#56b4e9",
    "popocs_40": "#2c92d0",
    "popocs_60": "#0072b2",
    "popocs_150": "#004a75",
    "popocs_extrapolated": "#cc79a7",
    "popocs_nearest": "#8b5a9f",
    "random_legal": "#8a8a8a",
    "input_order": "#b0b0b0",
    "critical_path": "#009e73",
    "gcc": "#222222",
}
_OTHER = "#a67c00"
_LINES: Any = {"development": "-", "training": ":"}
PERCENT = FuncFormatter(lambda share, _: f"{100 * share:.6g}%")
_HUNGARIAN: Any = {"color": "#d55e00", "markeredgecolor": "white"}
_STYLE: Any = {
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "axes.titlesize": 10.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e6e6e6",
    "grid.linewidth": 0.8,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "figure.dpi": 120,
    "savefig.dpi": 120,
    "svg.hashsalt": "pipeline",  # element ids of SVG files would differ from run to run
}


def colour(name: str) -> str:
    """The colour of a scheduler or model, wherever it is drawn."""
    return COLOURS.get(name, _OTHER)


def label(name: str) -> str:
    """A scheduler's or model's name as the paper writes it: `popocs_20` -> `POPOCS @20`."""
    head, _, tail = name.partition("_")
    if head == "popocs":
        return f"POPOCS @{tail}" if tail.isdigit() else f"POPOCS {tail}".rstrip()
    known = {
        "sinkhorn": "Sinkhorn",
        "gcc": "GCC",
        "cp_sat": "CP-SAT",
        "cp_sat_alone": "CP-SAT alone",
        "milp": "MILP",
        "search_mcmc": "Search MCMC",
    }
    return known.get(name, name.replace("_", " ").capitalize())


def render(figure: Figure, kind: str) -> bytes:
    """The figure as `png` (256 colours: a third of the bytes) or `svg`, without date or program version."""
    buffer = io.BytesIO()
    metadata = {"png": {"Software": None}, "svg": {"Date": None, "Creator": None}}[kind]
    with rc_context(_STYLE):
        figure.savefig(buffer, format=kind, metadata=metadata)
    if kind == "svg":
        return buffer.getvalue()
    small = io.BytesIO()
    Image.open(buffer).convert("RGB").quantize(dither=Image.Dither.NONE).save(small, "png", optimize=True)
    return small.getvalue()


@contextmanager
def subplots(width: float, height: float, rows: int = 1, columns: int = 1) -> Iterator[tuple[Figure, np.ndarray]]:
    """A figure of `width` x `height` inches and its axes, an array (rows, columns)."""
    with rc_context(_STYLE):
        figure = Figure(figsize=(width, height), layout="constrained")
        yield figure, figure.subplots(rows, columns, squeeze=False)


def _aggregate(results: pd.DataFrame, metric: str) -> pd.DataFrame:
    return results[(results["seed"] == "all") & (results["metric"] == metric)].dropna(subset=["value"])


def accuracy(results: pd.DataFrame, schedulers: list[str]) -> Figure:
    """Exact match and valid share of every scheduler, with intervals, Hungarian and legal, beside the paper's.

    `results`: one experiment and one kind of dependencies; `schedulers`: from top to bottom.
    """
    shown = [name for name in schedulers if name in set(results["scheduler"]) and name != "gcc"]
    position = {name: -i for i, name in enumerate(shown)}
    shapes = {"hungarian": ("o", True, 0.14), "topological": ("s", False, -0.14), "none": ("o", True, 0.0)}
    with subplots(8, 0.42 * max(len(shown), 3) + 1.3, 1, 2) as (figure, axes):
        for ax, metric, title in zip(
            axes[0], ("exact_match", "valid_share"), ("Blocks reproduced exactly", "Valid schedules"), strict=True
        ):
            for row in _aggregate(results, metric).to_dict("records"):
                if row["scheduler"] not in position or row["decoder"] not in shapes:
                    continue
                marker, filled, shift = shapes[row["decoder"]]
                tint, y = colour(row["scheduler"]), position[row["scheduler"]] + shift
                ax.plot([row["ci_low"], row["ci_high"]], [y, y], color=tint, linewidth=1.6)
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
            flat = flat[(flat["scheduler"] == "sinkhorn") & (flat["decoder"] == "hungarian")]
            for row in flat.to_dict("records"):
                ax.axhspan(row["ci_low"], row["ci_high"], color=colour("sinkhorn"), alpha=0.15, lw=0)
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


def training(history: pd.DataFrame) -> Figure:
    """Training curves: loss, exact match and valid share against steps; thin lines are seeds.

    `history`: rows of one experiment and one kind of dependencies, columns `model` and `seed` beside
    those of table `history`.
    """
    panels = [("loss", "Loss, nats per instruction"), ("exact_match", "Exact match"), ("valid_share", "Valid")]
    with subplots(8, 3.2, 1, 3) as (figure, axes):
        for (model, split), rows in history.groupby(["model", "split"], sort=True):
            line, tint = _LINES.get(split, ":"), colour(str(model))
            for ax, (metric, _) in zip(axes[0], panels, strict=True):
                wide = rows.pivot_table(index="step", columns="seed", values=metric)
                if wide.empty:
                    continue
                if wide.shape[1] > 1:
                    ax.plot(wide.index, wide, line, color=tint, linewidth=0.6, alpha=0.45)
                ax.plot(wide.index, wide.mean(axis=1), line, color=tint, linewidth=1.8)
        for ax, (metric, title) in zip(axes[0], panels, strict=True):
            ax.set_title(title, loc="left")
            ax.set_xlabel("optimiser step")
            ax.xaxis.set_major_locator(MaxNLocator(4))
            ax.xaxis.set_major_formatter(EngFormatter(sep=""))
            if metric != "loss":
                ax.yaxis.set_major_formatter(PERCENT)
        keys = [Line2D([], [], color=colour(m), label=label(m)) for m in sorted(set(history["model"]), reverse=True)]
        for split, line in _LINES.items():
            if split in set(history["split"]):
                keys.append(Line2D([], [], color="#444444", linestyle=line, label=f"{split} blocks"))
        figure.legend(handles=keys, loc="outside lower center", ncols=4)
    return figure


def example(rows: pd.DataFrame) -> Figure:
    """One block's matrices, instruction by slot, before and after the operator, one scheduler to a row.

    `rows`: table `examples` of one block. Dot: the slot that the Hungarian method gives; frame: GCC's.
    """
    n = len(rows.iloc[0]["instructions"])
    with subplots(8, len(rows) * (0.36 * n + 1.0) + 0.6, len(rows), 2) as (figure, axes):
        for pair, row in zip(axes, rows.to_dict("records"), strict=True):
            name = label(row["scheduler"])
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
