"""TorchInductor with fusion decisions from outside: run times over its default's, by model, and a control."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator

from learned_schedulers.figures import subplots
from pipeline.fusion.page.pictures import kernels
from pipeline.fusion.page.shared import DEFAULT, INDUCTOR, over
from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.graphs import METHOD, digits
from pipeline.lab.page.names import label, spelt
from pipeline.lab.page.numbers import Row, in_text, percent, share, two
from pipeline.lab.page.panels import styles
from pipeline.lab.page.plots import downwards, drawings, key, legend, point
from pipeline.lab.page.tables import Column, Table, filled, lines, metric, of, table

ALL, CONTROL, BEST, JUDGE = "all", "control", "best", "hardware"
_TRIED = ("eager", "forbid_all", "random", "traffic", "search", "learned", "fine_tuned", BEST)
_COUNTED = ("forbid_all", DEFAULT, "learned", "fine_tuned", BEST)
_TIMED = {"comparison": "ratio", "judge": JUDGE}
_BAND = "#d9d9d9"
_TICKS = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.2, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0)


def section(evidence: Evidence) -> dict[str, Any]:
    """Tables, figures, and the rank correlation of the cost with run times."""
    rows = evidence.of(INDUCTOR)
    whole, by_model = rows[rows["set"] == ALL], rows[rows["set"] != ALL]
    ranked = whole[(whole["metric"] == "rank_correlation") & (whole["method"] == "fusion_cost")].to_dict("records")
    over_default = rows[(rows["metric"] == "run_time") & (rows["baseline"] == DEFAULT)]
    return {
        "methods": _methods(whole[whole["metric"] != "rank_correlation"]),
        "models": _models(by_model),
        "kernels": _kernels(by_model),
        "rank_correlation": in_text(ranked[0], two) if ranked else "",
        "head_room": _head_room(whole),
        "figures": drawings(
            inductor_run_times=(run_times, over_default), inductor_kernels=(kernels, kernel_counts(by_model))
        ),
    }


def _methods(rows: pd.DataFrame) -> Table:
    """A line for each method, over all models: against the default and the control, and the share of the head room."""
    shown: list[Column] = [METHOD]
    shown.append(("Against the default", metric(over, "run_time", baseline=DEFAULT, **_TIMED)))
    shown.append(("Against the control's upper end", metric(over, "run_time", baseline="control_high", **_TIMED)))
    query = {"baseline": DEFAULT, "judge": JUDGE}
    shown.append(("Share of the head room", metric(share, "share_of_head_room", **query)))
    return filled(table(shown, lines(rows, ["method"], {"method": (CONTROL, *_TRIED)}), right=1))


def _head_room(rows: pd.DataFrame) -> str:
    """What the best of all candidates saves, as a text; empty if it was not measured."""
    best = rows[(rows["method"] == BEST) & (rows["metric"] == "run_time") & (rows["baseline"] == DEFAULT)]
    if best.empty:
        return ""
    row = best.iloc[0]
    saved: Row = {"value": 1 - row["value"], "low": 1 - row["high"], "high": 1 - row["low"]}
    return in_text(saved, percent)


def _models(rows: pd.DataFrame) -> Table:
    """A line for each model: run times of the methods against the default."""
    shown: list[Column] = [("Model", of("set", spelt))]
    for method in (CONTROL, *_TRIED):
        shown.append((label(method), metric(over, "run_time", method=method, baseline=DEFAULT, **_TIMED)))
    return filled(table(shown, lines(rows, ["set"]), right=1))


def _kernels(rows: pd.DataFrame) -> Table:
    """A line for each model: numbers of kernels by method."""
    shown: list[Column] = [("Model", of("set", spelt))]
    shown += [(label(method), metric(digits, "kernels", method=method)) for method in _COUNTED]
    return filled(table(shown, lines(rows[rows["metric"] == "kernels"], ["set"]), right=1))


def kernel_counts(rows: pd.DataFrame) -> pd.DataFrame:
    """Columns `name`, `method` and `kernels` of every model."""
    counted = rows[(rows["metric"] == "kernels") & rows["method"].isin(_COUNTED)]
    counted = counted.assign(name=counted["set"].map(spelt), rank=counted["method"].map(_COUNTED.index))
    return counted.sort_values(["rank", "name"]).rename(columns={"value": "kernels"})[["name", "method", "kernels"]]


def run_times(rows: pd.DataFrame) -> Figure:
    """A point with its range for each model and method; the band is the difference of two processes of the default.

    rows: run times over the default's, for each model and for all.
    """
    models = [*sorted(set(rows["set"]) - {ALL}), *([ALL] if ALL in set(rows["set"]) else [])]
    style = styles([name for name in _TRIED if name in set(rows["method"])])
    with subplots(9, 1.4 + 0.1 * (len(style) + 1.5) * len(models)) as (figure, axes):
        ax = axes[0, 0]
        for k, model in enumerate(models):
            _model(ax, rows[rows["set"] == model], -k, style)
            ax.axhline(-k - 0.5, color="#eeeeee", linewidth=0.8)
        ax.axvline(1, color="#444444", linewidth=0.8)
        _ratios(ax)
        downwards(ax, [spelt(model) if model != ALL else "all models" for model in models])
        ax.set_xlabel("run time over the default's")
        band = Patch(color=_BAND, label="control: the default in a second process")
        legend(figure, [band, *(key(label(name), linewidth=1.6, markersize=5, **style[name]) for name in style)], 3)
    return figure


def _model(ax: Axes, rows: pd.DataFrame, middle: float, style: dict[str, dict[str, Any]]) -> None:
    """The methods of one model below each other, around the height `middle`, over the control's band."""
    heights = dict(zip(style, np.linspace(middle + 0.38, middle - 0.38, len(style)), strict=True))
    for row in rows.to_dict("records"):
        if row["method"] == CONTROL:
            ax.fill_betweenx([middle - 0.5, middle + 0.5], row["low"], row["high"], color=_BAND, linewidth=0, zorder=0)
        elif row["method"] in heights:
            point(ax, row, heights[row["method"]], 1.6, markersize=4.5, **style[row["method"]])


def _ratios(ax: Axes) -> None:
    """A logarithmic axis of ratios, with ticks at round numbers."""
    ax.set_xscale("log")
    low, high = ax.get_xlim()
    ticks = [tick for tick in _TICKS if low <= tick <= high]
    ax.xaxis.set_major_locator(FixedLocator(ticks))
    ax.xaxis.set_major_formatter(FixedFormatter([f"{tick:g}" for tick in ticks]))
    ax.xaxis.set_minor_locator(NullLocator())
