"""How a page opens: its answer, in sentences with the values and verdicts of claims, then the picture of its system."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from learned_schedulers.figures import subplots
from pipeline.lab.page.asked import answer
from pipeline.lab.page.cards import Picture, picture
from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.names import label
from pipeline.lab.page.numbers import is_share
from pipeline.lab.page.pages import Page, Sentence
from pipeline.lab.page.plots import downwards, drawings, key, legend, point, shares


def section(page: Page, evidence: Evidence) -> dict[str, Any]:
    """The sentences of the measured claims, and the picture, which this section draws or another one of the page."""
    shown = picture(page.name)
    compared = {shown.name: (draw, _rows(shown, evidence), shown)} if isinstance(shown, Picture) else {}
    return {
        "sentences": [text for sentence in page.answer for text in _completed(sentence, evidence.claims)],
        "picture": shown,
        "figures": drawings(**compared),
    }


def _completed(sentence: Sentence, claims: pd.DataFrame) -> Iterator[str]:
    reply = answer(claims, sentence.claim, sentence.write)
    if reply:
        value, small, interval = reply.measured.partition(" <small>")
        text = sentence.text.format(f"[{value}](claim:{sentence.claim}){small}{interval}")
        yield f"{text} (wanted {reply.goal}: {reply.holds})."


def _rows(shown: Picture, evidence: Evidence) -> pd.DataFrame:
    """The picture's rows, one for each measured method."""
    rows = evidence.of(shown.rows["experiment"])
    for name, value in shown.rows.items():
        rows = rows[rows[name] == value]
    rows = rows[rows["method"].isin(shown.methods) & rows["decoder"].isin(shown.decoders)]
    rows = rows.sort_values("decoder", key=lambda names: names.map(shown.decoders.index), kind="stable")
    return rows.dropna(subset=["value"]).drop_duplicates("method")


def draw(rows: pd.DataFrame, shown: Picture) -> Figure:
    """A line for each method with its value and interval, and the paper's value if it has one."""
    methods = [name for name in shown.methods if name in set(rows["method"])]
    with subplots(4.4, 1.9 if shown.papers is None else 2.2) as (figure, axes):
        ax = axes[0, 0]
        for row in rows.to_dict("records"):
            tint = "#0072b2" if row["method"] in shown.methods[: shown.leading] else "#8a8a8a"
            point(ax, row, -methods.index(row["method"]), 2.0, color=tint, marker="o", markersize=6)
        if shown.level is not None:
            ax.axvline(shown.level, color="#222222", linewidth=0.8)
        if shown.papers is not None:
            papers = {name: value for name, value in shown.papers.items() if name in methods}
            style: Any = {"color": "#d55e00", "markerfacecolor": "none", "linestyle": "", "marker": "D"}
            ax.plot(list(papers.values()), [-methods.index(name) for name in papers], markersize=5, **style)
            legend(figure, [key("ours", color="#0072b2", marker="o"), key("paper", **style)], 2)
        if is_share(shown.rows["metric"]):
            shares(ax.xaxis)
        downwards(ax, [label(name) for name in methods])
        ax.locator_params(axis="x", nbins=5)
        figure.suptitle(shown.title, x=0.01, ha="left", fontsize=10.5)
    return figure
