"""The tidy table of every number: its fresh and published rows, its CSV, its tree for `dvc metrics`."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import pandas as pd

from pipeline.lab.page.names import label

Metrics = dict[str, dict[str, dict[str, float]]]  # experiment -> method -> metric -> value
FLOAT_FORMAT = "%.6g"

MAIN_METRICS = [
    "exact_match",
    "exact_match_multi_order",
    "slot_accuracy",
    "kendall_tau_distance",
    "violations_per_block",
    "valid_share",
    "cycles",
]
# What `dvc metrics` lists: metrics, each with the baseline that it is compared with; all others stand in results.csv.
_FOR_PEOPLE = {"exact_match": "none", "cycles": "none", "makespan": "list_scheduling"}
_DECODERS = ("none", "hungarian", "best")  # of these a method has one


def merge(fresh: pd.DataFrame, published: pd.DataFrame, beside: pd.DataFrame | None = None) -> pd.DataFrame:
    """Fresh rows, and the published rows of experiments without fresh ones, in a fixed order.

    `beside`: fresh rows that replace no published ones. All frames have a column `experiment`, and further columns.
    """
    old = published[~published["experiment"].isin(set(fresh["experiment"]))]
    frames = [frame for frame in (fresh, old, beside) if frame is not None and len(frame)]
    merged = pd.concat(frames, ignore_index=True) if frames else fresh
    names = [name for name in merged.columns if merged[name].dtype.kind not in "f"]
    return merged.sort_values(names, kind="stable").reset_index(drop=True)


def csv(frame: pd.DataFrame) -> str:
    """The frame as CSV with six significant digits, but all digits of counts: same rows, same bytes."""
    return frame.to_csv(index=False, float_format=_text, lineterminator="\n")


def _text(value: object) -> str:
    number = float(str(value))
    if not _whole(number):
        number = float(FLOAT_FORMAT % number)  # it may be whole now; then reading and writing again gives the same text
    return f"{number:.0f}" if _whole(number) else FLOAT_FORMAT % number


def _whole(number: float) -> bool:
    return number.is_integer() and abs(number) < 2**53


def rounded(value: float) -> float:
    """`value` as in the CSV, so that every published form of a number agrees."""
    return float(_text(value))


def main(results: pd.DataFrame) -> pd.DataFrame:
    """Measured rows of the main metrics, without differences and ratios."""
    rows = results[results["metric"].isin(MAIN_METRICS) & (results["comparison"] == "value")]
    return rows.dropna(subset=["value"])


def name(row: Mapping[Hashable, Any], *columns: str) -> str:
    """A number's name: these columns, then metric, comparison, baseline, judge ..., without defaults.

    `fresh_10_40.none.cycles.ratio.gcc.atom`.
    """
    more = (row[column] for column in ("comparison", "baseline", "judge", "lengths", "iterations"))
    words = [word for word in more if word not in ("none", "value", "all")]
    return ".".join([*(row[column] for column in columns), row["metric"], *words])


def metrics_of(fresh: pd.DataFrame) -> Metrics:
    """experiment -> method, as the report names it -> metric -> value over all seeds, for `dvc metrics`.

    `fresh`: results of this run. Of each experiment, the first set, dependencies and target by their names count.
    """
    tree: Metrics = {}
    baselines = fresh["metric"].map(_FOR_PEOPLE)
    whole = (fresh["seed"] == "all") & (fresh["lengths"] == "all") & (fresh["iterations"] == "none")
    chosen = fresh[whole & (fresh["baseline"] == baselines) & fresh["decoder"].isin(_DECODERS)].dropna(subset=["value"])
    for experiment, rows in chosen.groupby("experiment"):
        for column in ("set", "dependencies", "target"):
            rows = rows[rows[column] == rows[column].min()]
        methods = tree.setdefault(str(experiment), {})
        for row in rows.to_dict("records"):
            methods.setdefault(label(row["method"]), {})[name(row)] = rounded(row["value"])
    return tree
