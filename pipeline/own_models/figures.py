"""Figures of expected beside measured seconds: of models, of kinds of operations, and of pipelines."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from learned_schedulers.figures import subplots
from pipeline.lab.page.colours import BLUE, INK, VERMILION, series
from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.names import in_order
from pipeline.lab.page.plots import Drawing, downwards, drawings, key, legend, point

_FACTOR = 2.0  # beyond which a kind of operations is an outlier


def figures(evidence: Evidence) -> dict[str, Drawing]:
    """Measured over expected seconds, if they were measured."""
    timed = evidence.of("own_model_times")
    kinds = timed[timed["metric"] == "kind_ratio"]
    totals = timed[(timed["metric"] == "total_ratio") & (timed["set"] != "all")]  # expected over measured
    totals = totals.assign(value=1 / totals["value"], low=np.nan, high=np.nan, judge=totals["set"])
    return drawings(
        own_models_totals=(_ratios, totals, 5.6, "Models, with the number of their operations"),
        own_models_times=(_ratios, kinds, 7.4, ""),
        own_models_pipelines=(_pipelines, evidence.table("pipeline_times")),
    )


def _ratios(rows: pd.DataFrame, width: float, title: str) -> Figure:
    """A line for each row, named by its judge, of this width in inches; the band is a factor of two."""
    rows = rows.sort_values("value")
    with subplots(width, 0.8 + 0.2 * len(rows)) as (figure, axes):
        ax = axes[0, 0]
        ends = [*rows["value"], *rows["low"], *rows["high"]]
        least, most = (np.nanmin([0.4, *ends]) / 1.1, np.nanmax([2.5, *ends]) * 1.1)
        ax.axvspan(1 / _FACTOR, _FACTOR, color="#eef4f8", zorder=0)
        ax.axvline(1, color=INK, linewidth=0.8)
        tints = [BLUE if 1 / _FACTOR <= value <= _FACTOR else VERMILION for value in rows["value"]]
        for height, (row, tint) in enumerate(zip(rows.to_dict("records"), tints, strict=True)):
            point(ax, row, -height, 1.6, marker="o", markersize=5.5, color=tint)
        downwards(ax, [f"{_short(name)} ({n})" for name, n in zip(rows["judge"], rows["n"], strict=True)])
        ax.set(title=title, xscale="log", xlim=(least, most))
        ticks = [tick for tick in (0.25, 0.5, 1, 2, 4, 8) if least <= tick <= most]
        ax.set_xticks(ticks, [f"{tick:g}×" for tick in ticks])
        ax.xaxis.set_minor_locator(NullLocator())
        ax.set_xlabel("measured seconds over expected ones, on one core")
    return figure


def _pipelines(times: pd.DataFrame) -> Figure:
    """Measured against expected seconds of each split, with quartiles; on the line both are equal."""
    marks = series(in_order(times["network"], ()))
    with subplots(5.6, 4.4) as (figure, axes):
        ax = axes[0, 0]
        for (network, step), rows in times.groupby(["network", "step"], sort=False):
            filled = {} if step == "training" else {"markerfacecolor": "none"}
            errors = [rows["measured"] - rows["low"], rows["high"] - rows["measured"]]
            ax.errorbar(
                rows["expected"], rows["measured"], errors, linestyle="", linewidth=0.8, **marks[network] | filled
            )
        ends = [times["expected"].min() / 1.2, times["expected"].max() * 1.2]
        ax.plot(ends, ends, color=INK, linewidth=0.8)
        ax.set(xscale="log", yscale="log", xlabel="expected seconds of a step", ylabel="measured seconds")
        legend(figure, [key(name, linestyle="", **mark) for name, mark in marks.items()], 4)
        ax.set_title("Filled: training; hollow: inference")
    return figure


def _short(kind: str) -> str:
    """A kind without what torch adds to its name: `_native_batch_norm_legit_no_training` is `batch_norm`."""
    return kind.strip("_").removeprefix("native_").removesuffix("_legit_no_training")
