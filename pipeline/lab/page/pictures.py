"""Pictures that any page may have: methods compared in one number, and what each kind of method saves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from learned_schedulers.figures import subplots
from pipeline.lab.page.colours import BLUE, GREY, INK, VERMILION, colour
from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.names import label
from pipeline.lab.page.numbers import is_share
from pipeline.lab.page.pages import declared
from pipeline.lab.page.plots import downwards, key, legend, point, saving, shares

KINDS: dict[str, tuple[str, dict[str, Any]]] = {  # of methods -> words and style
    "heuristic": ("a heuristic, at once", {"color": GREY, "marker": "s"}),
    "learned": ("learned", {"color": BLUE, "marker": "o"}),
    "searched": ("search, nothing learned", {"color": VERMILION, "marker": "D", "markerfacecolor": "white"}),
}


def compared_rows(
    rows: pd.DataFrame, where: Mapping[str, str], methods: Sequence[str], decoders: Sequence[str]
) -> pd.DataFrame:
    """A row for each measured method, with the first decoder that it has."""
    for name, value in where.items():
        rows = rows[rows[name] == value]
    rows = rows[rows["method"].isin(methods) & rows["decoder"].isin(decoders)]
    rows = rows.sort_values("decoder", key=lambda names: names.map([*decoders].index), kind="stable")
    return rows.dropna(subset=["value"]).drop_duplicates("method")


def compared(rows: pd.DataFrame, title: str, order: Sequence[str], papers: Mapping[str, float] | None = None) -> Figure:
    """A line for each method with its value and interval, and the paper's value if it has one."""
    methods = [name for name in order if name in set(rows["method"])]
    with subplots(4.4, 2.1 if papers is None else 2.2) as (figure, axes):
        ax = axes[0, 0]
        for row in rows.to_dict("records"):
            tint = colour(row["method"])
            point(ax, row, -methods.index(row["method"]), 2.0, color=tint, marker="o", markersize=6)
        if papers is not None:
            present = {name: value for name, value in papers.items() if name in methods}
            style: Any = {"color": INK, "markerfacecolor": "none", "linestyle": "", "marker": "D"}
            ax.plot(list(present.values()), [-methods.index(name) for name in present], markersize=5, **style)
            legend(figure, [key("ours", color=GREY, marker="o"), key("paper", **style)], 2)
        if is_share(rows["metric"].iloc[0]):
            shares(ax.xaxis)
        if rows["comparison"].iloc[0] == "ratio":
            saving(ax.xaxis)
        downwards(ax, [label(name) for name in methods])
        ax.locator_params(axis="x", nbins=5)
        figure.suptitle(title, x=0.01, ha="left", fontsize=10.5)
    return figure


def saved(evidence: Evidence) -> pd.DataFrame:
    """Columns text (of a line of the figure), kind (heuristic, learned, searched), value, low, high: ratios of time."""
    every = []
    for line in (line for page in sorted(declared(), key=lambda page: page.place) for line in page.worth):
        state = evidence.states.get(line.rows["experiment"], "").split()
        text = line.text + (f", {state[0]}" if state and state[0] == "frozen" else "")
        for name in KINDS:
            query = {**line.rows, **getattr(line, name)}
            rows = evidence.measurements.get((query["experiment"], query["metric"]), [])
            ratio = next((row for row in rows if row.items() >= query.items()), None)
            if ratio is not None:
                every.append({"text": text, "kind": name, **{end: ratio[end] for end in ("value", "low", "high")}})
    return pd.DataFrame(every)


def worth(rows: pd.DataFrame) -> Figure:
    """A line for each problem: the time that each kind of method saves, with its interval."""
    texts = list(dict.fromkeys(rows["text"]))
    with subplots(6.4, 0.9 + 0.72 * len(texts)) as (figure, axes):
        ax = axes[0, 0]
        for row in rows.to_dict("records"):
            place = list(KINDS).index(row["kind"])
            point(ax, row, -texts.index(row["text"]) + 0.22 * (1 - place), 2.2, markersize=7, **KINDS[row["kind"]][1])
        downwards(ax, texts)
        saving(ax.xaxis)
        legend(figure, [key(text, linestyle="", **style) for text, style in KINDS.values()], 3)
    return figure
