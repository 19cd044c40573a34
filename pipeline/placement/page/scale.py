"""Seconds and memory of the network by the number of operations, and its quality on the largest graph."""

from __future__ import annotations

from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from learned_schedulers.figures import subplots
from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.graphs import over, short
from pipeline.lab.page.names import label
from pipeline.lab.page.numbers import count
from pipeline.lab.page.panels import COLOURS
from pipeline.lab.page.plots import drawings, key, legend, logarithmic
from pipeline.lab.page.tables import Column, Table, lines, metric, of, table
from pipeline.placement.page.shared import DECISIONS, SCALE

_NUMBERS = {
    "decision_seconds": "Decision, seconds",
    "decision_gigabytes": "Decision, GB",
    "update_seconds": "Update, seconds",
    "update_gigabytes": "Update, GB",
}


def section(evidence: Evidence) -> dict[str, Any]:
    """Tables and the figure; they are empty if nothing was published."""
    rows = evidence.of(SCALE)
    sized = rows[rows["metric"].isin(_NUMBERS)]
    return {
        "sizes": _sizes(sized),
        "quality": _quality(rows[rows["metric"] == "makespan"]),
        "decisions": _decisions(evidence.of(DECISIONS)),
        "figures": drawings(placement_scale=(growth, sized)),
    }


def _sizes(rows: pd.DataFrame) -> Table:
    shown: list[Column] = [("Operations", of("lengths", lambda text: count(float(text))))]
    shown += [(text, metric(short, name)) for name, text in _NUMBERS.items()]
    return table(shown, lines(rows, ["lengths"]), right=0)


def _decisions(rows: pd.DataFrame) -> Table:
    """Seconds of one schedule within little memory."""
    shown: list[Column] = [("Operations", of("lengths", lambda text: count(float(text))))]
    for method, text in (("go_start", "Without a network"), ("go_round", "With one pass through the network")):
        shown.append((f"{text}, seconds", metric(short, "decision_seconds", method=method)))
    sizes = sorted(set(rows["lengths"]), key=int)
    return table(shown, lines(rows, ["lengths"], {"lengths": sizes}), right=0)


def _quality(rows: pd.DataFrame) -> Table:
    """GO's time over each peer's, on each link."""
    query = {"comparison": "ratio", "judge": "simulator"}
    links = [name for name in ("pcie", "nvlink", "all") if name in set(rows["target"])]
    shown: list[Column] = [("Against", of("baseline", label))]
    shown += [(link, metric(over, "makespan", target=link, **query)) for link in links]
    return table(shown, lines(rows, ["baseline", "lengths"]), right=1)


def growth(rows: pd.DataFrame) -> Figure:
    """Seconds against operations, both logarithmic; dotted lines show proportional growth."""
    with subplots(6, 3.4) as (figure, axes):
        ax, keys = axes[0, 0], []
        for colour, name in zip(COLOURS, ("decision_seconds", "update_seconds"), strict=False):
            points = rows[rows["metric"] == name]
            points = points.assign(n=points["lengths"].astype(float)).sort_values("n")
            ax.plot(points["n"], points["value"], "-o", color=colour, markersize=4)
            last = points.iloc[-1]
            ax.plot(points["n"], points["n"] * last["value"] / last["n"], ":", color=colour, linewidth=1)
            keys.append(key(_NUMBERS[name].split(",")[0].lower(), color=colour))
        logarithmic(ax.xaxis, 6)
        logarithmic(ax.yaxis, 6)
        ax.set(xlabel="operations", ylabel="seconds")
        legend(figure, [*keys, key("proportional growth", color="#444444", linestyle=":")], 3)
    return figure
