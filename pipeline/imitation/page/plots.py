"""Figures of imitators: exact match by parts of a set, and reliability."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import EngFormatter

from learned_schedulers.figures import subplots
from pipeline.imitation.page.rows import leading
from pipeline.lab.page.names import set_label, with_decoder
from pipeline.lab.page.plots import COLOURS, curve, key, legend, logarithmic, shares, thousands

MODELS = (
    "#0072b2",
    "#d55e00",
    "#cc79a7",
    "#56b4e9",
    "#e69f00",
)  # Okabe & Ito, 2008; not of baselines
_BASELINE_MARKS = {"random_legal": "v", "input_order": "s", "critical_path": "^"}
_QUARTERS = [0, 0.25, 0.5, 0.75, 1]
_COUNT = EngFormatter(places=0, sep="")


def _styles(methods: list[str]) -> dict[str, Any]:
    """Colour and mark of every method; each baseline has its own mark."""
    tints = dict(zip((name for name in methods if name not in COLOURS), len(methods) * MODELS, strict=False))
    return {
        name: {"color": tints[name], "marker": "o", "markersize": 5, "linewidth": 1.8}
        if name in tints
        else {"color": COLOURS[name], "marker": _BASELINE_MARKS.get(name, "D"), "markersize": 4.5, "linewidth": 1.1}
        for name in methods
    }


def _keys(parts: pd.DataFrame, styles: dict[str, Any]) -> list[Line2D]:
    return [key(with_decoder(name, leading(parts[parts["method"] == name])), **style) for name, style in styles.items()]


def by_part(parts: pd.DataFrame, sets: list[str], methods: list[str]) -> Figure:
    """Exact match with intervals, a panel for each set.

    The axis shows lengths, numbers of legal orders (logarithmic), or instruction classes, the most frequent first and
    with their numbers of blocks. `parts`: table `parts`, rows of one kind and of each method's leading decoder.
    """
    styles, kind = _styles(methods), parts["by"].iloc[0]
    sizes = parts[parts["method"] == methods[0]]
    names = parts.drop_duplicates("part").sort_values("rank")["part"].tolist()
    if kind == "instruction_class":
        names = sizes.groupby("part")["n"].sum().sort_values(ascending=False, kind="stable").index.tolist()
        styles = {name: style | {"linestyle": ""} for name, style in styles.items()}
    width = 1.2 + 3.6 * len(sets)
    with subplots(max(width, 5.5), 3.9, 1, len(sets)) as (figure, axes):
        for ax, tested in zip(axes[0], sets, strict=True):
            for k, name in enumerate(methods):
                rows = parts[(parts["set"] == tested) & (parts["method"] == name)].sort_values("rank")
                aside = k - (len(methods) - 1) / 2  # so that intervals do not hide each other
                if kind == "legal_orders":  # the lower end of a range: `3-4`, `1e+03-1e+06`, `1e+12+`
                    x = np.array([float(part.rstrip("+").split("-")[0]) for part in rows["part"]])
                    x = x * x.max(initial=1) ** (0.004 * aside)
                else:
                    x = rows["part"].map(names.index).to_numpy(float) + 0.06 * aside
                curve(ax, x, rows, 1.3, **styles[name])
            if kind == "legal_orders":
                logarithmic(ax.xaxis, 8)
                ax.set_xlabel("legal orders, at least")
            elif kind == "instruction_class":
                counts = sizes[sizes["set"] == tested].set_index("part")["n"].reindex(names, fill_value=0)
                ax.set_xticks(range(len(names)), [f"{name}\nn={_COUNT(counts[name])}" for name in names])
            else:
                ax.set_xticks(range(len(names)), names)
                ax.set_xlabel("instructions")
            ax.tick_params(axis="x", labelsize=8.5)
            ax.set_title(set_label(tested))
            shares(ax.yaxis, whole=True)
        axes[0, 0].set_ylabel("exact match")
        legend(figure, _keys(parts, styles), 2 if width < 6 else 4)
    return figure


def reliability(parts: pd.DataFrame, sets: list[str]) -> Figure:
    """Exact match against the network's confidence; the lower panels show the number of blocks.

    `parts`: table `parts`, rows by confidence of one method. On the diagonal, confidence equals the exact match.
    """
    bars: Any = {"align": "edge", "color": MODELS[0], "alpha": 0.55, "edgecolor": "white", "linewidth": 0.6}
    with subplots(1.0 + 2.8 * len(sets), 4.6, 2, len(sets)) as (figure, axes):
        axes[0, 0].get_gridspec().set_height_ratios([3, 1.3])
        for (above, below), tested in zip(axes.T, sets, strict=True):
            rows = parts[parts["set"] == tested].sort_values("rank")
            above.plot([0, 1], [0, 1], color="#8a8a8a", linestyle="--", linewidth=1)
            curve(above, rows["confidence"], rows, 1.3, linestyle="-", marker="o", color=MODELS[0], markersize=4.5)
            above.set_title(set_label(tested))
            shares(above.yaxis, whole=True)
            ends = np.array([[float(end) for end in part.split("-")] for part in rows["part"]]).reshape(-1, 2)
            below.bar(ends[:, 0], rows["n"], np.diff(ends)[:, 0], **bars)
            logarithmic(below.yaxis, 5)
            below.set_ylim(bottom=0.8)
            thousands(below.yaxis)
            below.set_xlabel("confidence")
            for ax in (above, below):
                ax.set_xticks(_QUARTERS)
                shares(ax.xaxis, whole=True)
            above.set_xticklabels([])
        axes[0, 0].set_ylabel("exact match")
        axes[1, 0].set_ylabel("blocks")
    return figure
