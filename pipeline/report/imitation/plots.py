"""Figures of imitators: exact match by parts, reliability, scaling, transfer, training. No file is touched."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import EngFormatter, FuncFormatter, LogLocator, NullLocator

from pipeline.report.imitation.rows import leading
from pipeline.report.names import set_label, with_decoder
from pipeline.report.plots import COLOURS, PERCENT, subplots

MODELS = ("#0072b2", "#d55e00", "#cc79a7", "#56b4e9", "#e69f00")  # Okabe & Ito, 2008; baselines as everywhere
_BASELINE_MARKS = {"random_legal": "v", "input_order": "s", "critical_path": "^"}


def _styles(methods: list[str]) -> dict[str, Any]:
    """Colour and mark of every method: models filled and dark, baselines with marks of their own."""
    found: dict[str, Any] = {}
    for name in methods:
        if name in COLOURS:
            mark = _BASELINE_MARKS.get(name, "D")
            found[name] = {"color": COLOURS[name], "marker": mark, "markersize": 4.5, "linewidth": 1.1}
        else:
            place = sum(other not in COLOURS for other in found)
            found[name] = {"color": MODELS[place % len(MODELS)], "marker": "o", "markersize": 5, "linewidth": 1.8}
    return found


def _keys(parts: pd.DataFrame, methods: list[str], styles: dict[str, Any]) -> list[Line2D]:
    keys = []
    for name in methods:
        text = with_decoder(name, leading(parts[parts["method"] == name]))
        keys.append(Line2D([], [], label=text, **styles[name]))
    return keys


def _lower_end(part: str) -> float:
    """Lower end of a range as table `parts` writes it: `3-4`, `1e+03-1e+06`, `1e+12+`."""
    return float(part.rstrip("+").split("-")[0])


def by_range(parts: pd.DataFrame, by: str, sets: list[str], methods: list[str]) -> Figure:
    """Exact match by length, or by number of legal orders on a logarithmic axis: a panel for each set, with intervals.

    `parts`: table `parts`, rows of one kind and of each method's leading decoder.
    """
    styles, logarithmic = _styles(methods), by == "legal_orders"
    names = parts.drop_duplicates("part").sort_values("rank")["part"].tolist()
    width = 1.2 + 3.6 * len(sets)
    with subplots(max(width, 5.5), 3.9, 1, len(sets)) as (figure, axes):
        for ax, tested in zip(axes[0], sets, strict=True):
            for k, name in enumerate(methods):
                own = parts[(parts["set"] == tested) & (parts["method"] == name)].sort_values("rank")
                aside = k - (len(methods) - 1) / 2  # so that intervals do not hide each other
                if logarithmic:
                    x = own["part"].map(_lower_end).to_numpy(float)
                    x = x * x.max(initial=1) ** (0.004 * aside)
                else:
                    x = own["part"].map(names.index).to_numpy(float) + 0.06 * aside
                ax.vlines(x, own["low"], own["high"], color=styles[name]["color"], linewidth=1.3)
                ax.plot(x, own["value"], **styles[name])
            if logarithmic:
                ax.set_xscale("log")
                ax.xaxis.set_major_locator(LogLocator(10, numticks=8))
                ax.xaxis.set_minor_locator(NullLocator())
                ax.set_xlabel("legal orders, at least")
            else:
                ax.set_xticks(range(len(names)), names)
                ax.tick_params(axis="x", labelsize=8.5)
                ax.set_xlabel("instructions")
            ax.set_title(set_label(tested), loc="left")
            ax.set_ylim(-0.03, 1.03)
            ax.yaxis.set_major_formatter(PERCENT)
        axes[0, 0].set_ylabel("exact match")
        figure.legend(handles=_keys(parts, methods, styles), loc="outside lower center", ncols=2 if width < 6 else 4)
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
                own = parts[(parts["set"] == tested) & (parts["method"] == name)]
                y = own["part"].map(names.index).to_numpy(float) + 0.16 * ((len(methods) - 1) / 2 - k)
                ax.hlines(y, own["low"], own["high"], color=styles[name]["color"], linewidth=1.4)
                ax.plot(own["value"], y, **(styles[name] | {"linestyle": ""}))
            counted = sizes[sizes["set"] == tested].set_index("part")["n"]
            labels = [
                f"n = {EngFormatter(places=0, sep='')(counted[part])}" if part in counted else "" for part in names
            ]
            for y_label, text in enumerate(labels):
                ax.text(
                    1.02, y_label, text, fontsize=7.5, color="#666666", va="center", transform=ax.get_yaxis_transform()
                )
            ax.set_title(set_label(tested), loc="left")
            ax.set_xlim(-0.03, 1.03)
            ax.set_xticks([0, 0.25, 0.5, 0.75, 1])
            ax.xaxis.set_major_formatter(PERCENT)
            ax.set_xlabel("exact match")
            ax.set_yticks(range(len(names)), names if ax is axes[0, 0] else [""] * len(names))
            ax.tick_params(axis="y", length=0)
            for between in range(1, len(names)):
                ax.axhline(between - 0.5, color="#e6e6e6", linewidth=0.8)
            ax.set_ylim(-0.5, len(names) - 0.5)
            ax.grid(axis="y", visible=False)
        figure.legend(handles=_keys(parts, methods, styles), loc="outside lower center", ncols=4)
    return figure


def reliability(parts: pd.DataFrame, sets: list[str]) -> Figure:
    """How often orders are exact against how sure the network was of them; below, how many blocks there are.

    `parts`: table `parts`, rows by confidence of one method. On the diagonal confidence is probability.
    """
    with subplots(1.0 + 2.8 * len(sets), 4.6, 2, len(sets)) as (figure, axes):
        grid = axes[0, 0].get_gridspec()
        grid.set_height_ratios([3, 1.3])
        for (above, below), tested in zip(axes.T, sets, strict=True):
            own = parts[parts["set"] == tested].sort_values("rank")
            above.plot([0, 1], [0, 1], color="#8a8a8a", linestyle="--", linewidth=1)
            above.vlines(own["confidence"], own["low"], own["high"], color=MODELS[0], linewidth=1.3)
            above.plot(own["confidence"], own["value"], "-o", color=MODELS[0], markersize=4.5)
            above.set_title(set_label(tested), loc="left")
            above.set_ylim(-0.03, 1.03)
            above.yaxis.set_major_formatter(PERCENT)
            ends = np.array([[float(end) for end in part.split("-")] for part in own["part"]]).reshape(-1, 2)
            below.bar(
                ends[:, 0], own["n"], np.diff(ends)[:, 0], align="edge",
                color=MODELS[0], alpha=0.55, edgecolor="white", linewidth=0.6,
            )  # fmt: skip
            below.set_yscale("log")
            below.set_ylim(bottom=0.8)
            below.yaxis.set_major_locator(LogLocator(10, numticks=5))
            below.yaxis.set_minor_locator(NullLocator())
            below.yaxis.set_major_formatter(EngFormatter(sep=""))
            below.set_xlabel("confidence")
            for ax in (above, below):
                ax.set_xlim(-0.03, 1.03)
                ax.set_xticks([0, 0.25, 0.5, 0.75, 1])
                ax.xaxis.set_major_formatter(PERCENT)
            above.set_xticklabels([])
        axes[0, 0].set_ylabel("exact match")
        axes[1, 0].set_ylabel("blocks")
    return figure


def scaling(points: pd.DataFrame) -> Figure:
    """Exact match against training blocks and against parameters, both axes logarithmic, with intervals.

    `points`: columns axis (`blocks` or `width`), x, value, low and high.
    """
    titles = {"blocks": "training blocks", "width": "parameters"}
    with subplots(8, 3.3, 1, 2) as (figure, axes):
        for ax, (axis, title) in zip(axes[0], titles.items(), strict=True):
            own = points[points["axis"] == axis].sort_values("x")
            ax.vlines(own["x"], own["low"], own["high"], color=MODELS[0], linewidth=1.3)
            ax.plot(own["x"], own["value"], "-o", color=MODELS[0], markersize=5)
            ax.set_xscale("log")
            ax.set_xticks(sorted(set(own["x"])))  # there are few
            ax.xaxis.set_minor_locator(NullLocator())
            ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: EngFormatter(sep="")(float(f"{x:.2g}"))))
            ax.yaxis.set_major_formatter(PERCENT)
            ax.set_title(f"Exact match by {title}", loc="left")
            ax.set_xlabel(title)
        low = min((ax.get_ylim()[0] for ax in axes[0]), default=0)
        high = max((ax.get_ylim()[1] for ax in axes[0]), default=1)
        for ax in axes[0]:
            ax.set_ylim(low, high)
    return figure


def transfer(matrix: pd.DataFrame) -> Figure:
    """Exact match of models (rows) on sets (columns), as a map with its numbers; blank where not measured."""
    n_models, n_sets = matrix.shape
    with subplots(2.6 + 1.0 * n_sets, 1.6 + 0.42 * n_models) as (figure, axes):
        ax, values = axes[0, 0], matrix.to_numpy(float)
        low, high = np.floor(10 * np.nanmin(values)) / 10, np.ceil(10 * np.nanmax(values)) / 10
        image = ax.imshow(values, cmap="Blues", aspect="auto", vmin=low, vmax=max(high, low + 0.1))
        for (i, j), value in np.ndenumerate(values):
            if not np.isnan(value):
                ink = "white" if image.norm(value) > 0.6 else "#222222"
                ax.text(j, i, f"{100 * value:.1f}", ha="center", va="center", fontsize=9, color=ink)
        ax.set_xticks(range(n_sets), [set_label(name) for name in matrix.columns], rotation=30, ha="right")
        ax.set_yticks(range(n_models), [str(name).replace("_", " ") for name in matrix.index])
        ax.set_ylabel("trained on")
        ax.set_xlabel("tested on")
        ax.tick_params(length=0)
        ax.grid(visible=False)
        ax.spines[:].set_visible(False)
        bar = figure.colorbar(image, ax=ax, format=PERCENT, fraction=0.04)
        bar.outline.set_visible(False)
        bar.set_label("exact match")
    return figure
