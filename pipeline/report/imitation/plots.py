"""Figures of imitators: exact match by parts, reliability, scaling, transfer, training. No file is touched."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import EngFormatter

from pipeline.report.imitation.rows import leading
from pipeline.report.names import set_label, spelt, with_decoder
from pipeline.report.plots import COLOURS, PERCENT, curve, key, legend, logarithmic, shares, subplots, thousands

MODELS = ("#0072b2", "#d55e00", "#cc79a7", "#56b4e9", "#e69f00")  # Okabe & Ito, 2008; baselines as everywhere
_BASELINE_MARKS = {"random_legal": "v", "input_order": "s", "critical_path": "^"}
_QUARTERS = [0, 0.25, 0.5, 0.75, 1]


def _styles(methods: list[str]) -> dict[str, Any]:
    """Colour and mark of every method: models filled and dark, baselines with marks of their own."""
    tints = dict(zip((name for name in methods if name not in COLOURS), len(methods) * MODELS, strict=False))
    return {
        name: {"color": tints[name], "marker": "o", "markersize": 5, "linewidth": 1.8}
        if name in tints
        else {"color": COLOURS[name], "marker": _BASELINE_MARKS.get(name, "D"), "markersize": 4.5, "linewidth": 1.1}
        for name in methods
    }


def _keys(parts: pd.DataFrame, styles: dict[str, Any]) -> list[Line2D]:
    return [key(with_decoder(name, leading(parts[parts["method"] == name])), **style) for name, style in styles.items()]


def by_range(parts: pd.DataFrame, sets: list[str], methods: list[str]) -> Figure:
    """Exact match by length, or by number of legal orders on a logarithmic axis: a panel for each set, with intervals.

    `parts`: table `parts`, rows of one kind and of each method's leading decoder.
    """
    styles, by_orders = _styles(methods), parts["by"].iloc[0] == "legal_orders"
    names = parts.drop_duplicates("part").sort_values("rank")["part"].tolist()
    width = 1.2 + 3.6 * len(sets)
    with subplots(max(width, 5.5), 3.9, 1, len(sets)) as (figure, axes):
        for ax, tested in zip(axes[0], sets, strict=True):
            for k, name in enumerate(methods):
                rows = parts[(parts["set"] == tested) & (parts["method"] == name)].sort_values("rank")
                aside = k - (len(methods) - 1) / 2  # so that intervals do not hide each other
                if by_orders:  # from the lower end of a range: `3-4`, `1e+03-1e+06`, `1e+12+`
                    x = np.array([float(part.rstrip("+").split("-")[0]) for part in rows["part"]])
                    x = x * x.max(initial=1) ** (0.004 * aside)
                else:
                    x = rows["part"].map(names.index).to_numpy(float) + 0.06 * aside
                curve(ax, x, rows, 1.3, **styles[name])
            if by_orders:
                logarithmic(ax.xaxis, 8)
                ax.set_xlabel("legal orders, at least")
            else:
                ax.set_xticks(range(len(names)), names)
                ax.tick_params(axis="x", labelsize=8.5)
                ax.set_xlabel("instructions")
            ax.set_title(set_label(tested))
            shares(ax.yaxis, whole=True)
        axes[0, 0].set_ylabel("exact match")
        legend(figure, _keys(parts, styles), 2 if width < 6 else 4)
    return figure


def by_class(parts: pd.DataFrame, sets: list[str], methods: list[str]) -> Figure:
    """Exact match by instruction class, the most frequent on top: a panel for each set, with intervals and counts.

    `parts`: table `parts`, rows of one kind and of each method's leading decoder.
    """
    styles = _styles(methods)
    sizes = parts[parts["method"] == methods[0]]
    names = sizes.groupby("part")["n"].sum().sort_values(kind="stable").index.tolist()
    with subplots(2.0 + 2.7 * len(sets), 0.5 * len(names) + 1.5, 1, len(sets)) as (figure, axes):
        for ax, tested in zip(axes[0], sets, strict=True):
            for k, name in enumerate(methods):
                rows = parts[(parts["set"] == tested) & (parts["method"] == name)]
                y = rows["part"].map(names.index).to_numpy(float) + 0.16 * ((len(methods) - 1) / 2 - k)
                ax.hlines(y, rows["low"], rows["high"], color=styles[name]["color"], linewidth=1.4)
                ax.plot(rows["value"], y, **(styles[name] | {"linestyle": ""}))
            counted = sizes[sizes["set"] == tested].set_index("part")["n"]
            small: Any = {"fontsize": 7.5, "color": "#666666", "va": "center", "transform": ax.get_yaxis_transform()}
            for y_label, part in enumerate(names):
                text = f"n = {EngFormatter(places=0, sep='')(counted[part])}" if part in counted else ""
                ax.text(1.02, y_label, text, **small)
            ax.set(title=set_label(tested), xticks=_QUARTERS, xlabel="exact match")
            shares(ax.xaxis, whole=True)
            ax.set_yticks(range(len(names)), names if ax is axes[0, 0] else [""] * len(names))
            ax.tick_params(axis="y", length=0)
            for between in range(1, len(names)):
                ax.axhline(between - 0.5, color="#e6e6e6", linewidth=0.8)
            ax.set_ylim(-0.5, len(names) - 0.5)
            ax.grid(axis="y", visible=False)
        legend(figure, _keys(parts, styles), 4)
    return figure


def reliability(parts: pd.DataFrame, sets: list[str]) -> Figure:
    """How often orders are exact against how sure the network was of them; below, how many blocks there are.

    `parts`: table `parts`, rows by confidence of one method. On the diagonal confidence is probability.
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


def scaling(points: pd.DataFrame) -> Figure:
    """Exact match against training blocks and against parameters, both axes logarithmic, with intervals.

    `points`: columns axis (`blocks` or `width`), x, value, low and high.
    """
    titles = {"blocks": "training blocks", "width": "parameters"}
    two_digits = EngFormatter(sep="")
    with subplots(8, 3.3, 1, 2) as (figure, axes):
        for ax, (axis, title) in zip(axes[0], titles.items(), strict=True):
            rows = points[points["axis"] == axis].sort_values("x")
            curve(ax, rows["x"], rows, 1.3, linestyle="-", marker="o", color=MODELS[0], markersize=5)
            logarithmic(ax.xaxis, sorted(set(rows["x"])))  # there are few
            ax.xaxis.set_major_formatter(lambda x, _: two_digits(float(f"{x:.2g}")))
            shares(ax.yaxis)
            ax.set(title=f"Exact match by {title}", xlabel=title)
        ends = [ax.get_ylim() for ax in axes[0]]
        for ax in axes[0]:
            ax.set_ylim(min(low for low, _ in ends), max(high for _, high in ends))
    return figure


def transfer(rows: pd.DataFrame, methods: list[str], sets: list[str]) -> Figure:
    """Exact match of models on sets, as a map with its numbers; blank where not measured."""
    values = rows.pivot_table(index="method", columns="set", values="value").loc[methods, sets].to_numpy(float)
    with subplots(2.6 + 1.0 * len(sets), 1.6 + 0.42 * len(methods)) as (figure, axes):
        ax = axes[0, 0]
        low, high = np.floor(10 * np.nanmin(values)) / 10, np.ceil(10 * np.nanmax(values)) / 10
        image = ax.imshow(values, cmap="Blues", aspect="auto", vmin=low, vmax=max(high, low + 0.1))
        for (i, j), value in np.ndenumerate(values):
            if not np.isnan(value):
                ink = "white" if image.norm(value) > 0.6 else "#222222"
                ax.text(j, i, f"{100 * value:.1f}", ha="center", va="center", fontsize=9, color=ink)
        ax.set_xticks(range(len(sets)), [set_label(name) for name in sets], rotation=30, ha="right")
        ax.set_yticks(range(len(methods)), [spelt(name) for name in methods])
        ax.set(ylabel="trained on", xlabel="tested on")
        ax.tick_params(length=0)
        ax.grid(visible=False)
        ax.spines[:].set_visible(False)
        bar = figure.colorbar(image, ax=ax, format=PERCENT, fraction=0.04)
        bar.outline.set_visible(False)
        bar.set_label("exact match")
    return figure
