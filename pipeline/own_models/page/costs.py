"""FLOPs against hand calculation, a module beside its ONNX file, expected seconds beside measured ones.

Frozen, or published by benchmarks/own_model_times.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from learned_schedulers.figures import subplots
from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.names import mode
from pipeline.lab.page.numbers import count, number, percent, spread, times, two
from pipeline.lab.page.plots import downwards, drawings
from pipeline.lab.page.tables import Column, Table, lines, metric, of, table, value

MODELS, TIMES, ALL = "own_models", "own_model_times", "all"
FACTOR = 2.0  # beyond which a kind of operations is an outlier
FORMS_APART = 0.1  # difference of a module and its export that is called one
_JUDGES = {"flop_counter": "products, by torch's own counter", "by_hand": "single operators, by hand", ALL: "**all**"}
_FORMS = {"forms_difference": "FLOPs", "forms_seconds_difference": "expected seconds"}
_FLOPS: list[Column] = [
    ("Compared with", of("method", lambda name: _JUDGES[name])),
    ("Compared", value(count, "flops_error", "n")),
    ("Largest error", value(lambda share: percent(share, 2), "flops_error")),
]
_TIMED: list[Column] = [
    ("Model", of("set", lambda name: f"**{name}**" if name == ALL else mode(name))),
    ("Operations", value(count, "operations")),
    ("Rank correlation", metric(lambda row: spread(row, two), "rank_correlation")),
    ("Median error of an operation", metric(lambda row: spread(row, percent), "median_error")),
    ("Expected over measured, in total", metric(lambda row: spread(row, two), "total_ratio")),
]
_TINTS = {False: "#0072b2", True: "#d55e00"}  # by whether it is an outlier


def section(evidence: Evidence) -> dict[str, Any]:
    """The section's tables and figures; they are empty if the benchmarks were not run."""
    rows, timed = evidence.of(MODELS), evidence.of(TIMES)
    models = [*sorted(set(timed["set"]) - {ALL}), ALL]
    kinds = timed[timed["metric"] == "kind_ratio"].sort_values("value")
    totals = timed[(timed["metric"] == "total_ratio") & (timed["set"] != ALL)]
    return {
        "flops": table(
            _FLOPS, lines(rows[rows["metric"] == "flops_error"], ["method"], {"method": list(_JUDGES)}), right=1
        ),
        "forms": _forms(rows),
        "apart": bool((rows[rows["metric"] == "forms_seconds_difference"]["value"] > FORMS_APART).any()),
        "times": table(_TIMED, lines(timed[timed["metric"] != "kind_ratio"], ["set"], {"set": models}), right=1),
        "outliers": _outliers(kinds),
        "figures": drawings(own_models_totals=(by_model, totals), own_models_times=(by_kind, kinds)),
    }


def _forms(rows: pd.DataFrame) -> Table:
    """The largest difference between a module and its export."""
    written = rows[rows["metric"].isin(_FORMS)].sort_values("metric").to_dict("records")
    lines_of = [[_FORMS[row["metric"]], count(row["n"]), percent(row["value"])] for row in written]
    return Table(["Quantity", "Exports", "Largest difference"], lines_of, 1)


def is_outlier(ratio: Any) -> Any:
    """Whether measured seconds are off by more than FACTOR."""
    return (ratio > FACTOR) | (ratio < 1 / FACTOR)


def _outliers(kinds: pd.DataFrame) -> str:
    """The outliers among the kinds, the slowest first, in words."""
    chosen = kinds[is_outlier(kinds["value"])].iloc[::-1].to_dict("records")
    return ", ".join(f"`{row['judge']}` {times(row['value'])} (of {count(row['n'])})" for row in chosen)


def _short(kind: str) -> str:
    """A kind without what torch adds to its name: `_native_batch_norm_legit_no_training` is `batch_norm`."""
    return kind.strip("_").removeprefix("native_").removesuffix("_legit_no_training")


def by_model(totals: pd.DataFrame) -> Figure:
    """Measured over expected seconds of each model. totals: rows `total_ratio`, which are expected over measured."""
    models = totals.assign(value=1 / totals["value"], low=np.nan, high=np.nan, judge=totals["set"])
    return by_kind(models.sort_values("value"), 5.6, "Models, with the number of their operations")


def by_kind(rows: pd.DataFrame, width: float = 7.4, title: str = "") -> Figure:
    """Measured over expected seconds, with quartiles; `rows` as rows `kind_ratio` of table `results`, in inches."""
    with subplots(width, 0.8 + 0.2 * len(rows)) as (figure, axes):
        ax = axes[0, 0]
        ends = [*rows["value"], *rows["low"], *rows["high"]]
        least, most = (np.nanmin([0.4, *ends]), np.nanmax([2.5, *ends]))
        ax.axvspan(1 / FACTOR, FACTOR, color="#eef4f8", zorder=0)
        ax.axvline(1, color="#222222", linewidth=0.8)
        for height, row in enumerate(rows.to_dict("records")):
            tint = _TINTS[bool(is_outlier(row["value"]))]
            ax.plot([row["low"], row["high"]], [-height, -height], color=tint, linewidth=1.6)
            ax.plot(row["value"], -height, linestyle="", marker="o", markersize=5.5, color=tint)
        downwards(ax, [f"{_short(row['judge'])} ({row['n']})" for row in rows.to_dict("records")])
        ax.set(title=title, xscale="log", xlim=(least / 1.1, most * 1.1))
        ticks = [tick for tick in (0.25, 0.5, 1, 2, 4, 8) if least / 1.1 <= tick <= most * 1.1]
        ax.set_xticks(ticks, [f"{number(tick, 2).rstrip('0').rstrip('.')}×" for tick in ticks])
        ax.xaxis.set_minor_locator(NullLocator())
        for label, row in zip(ax.get_yticklabels(), rows.to_dict("records"), strict=True):
            label.set_color(_TINTS[True] if is_outlier(row["value"]) else "#222222")
        ax.set_xlabel("measured seconds over expected ones, on one core")
    return figure
