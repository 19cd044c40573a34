"""How a page opens: its answer, in sentences with the values and verdicts of claims, then the picture of its system."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from learned_schedulers.figures import subplots
from pipeline.lab.page.asked import answer
from pipeline.lab.page.cards import Picture, cards
from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.names import label
from pipeline.lab.page.pages import Page, Sentence
from pipeline.lab.page.plots import downwards, drawings, key, point, shares


def section(page: Page, evidence: Evidence) -> dict[str, Any]:
    """The sentences of the measured claims, and the picture, if the page has one that is measured."""
    card = cards().get(page.name)
    rows = _rows(card.picture, evidence) if card else []
    return {
        "sentences": [text for sentence in page.answer for text in _said(sentence, evidence.claims)],
        "picture": card.picture if card and len(rows) else None,
        "figures": drawings(**{card.picture.name: (draw, rows, card.picture)}) if card else {},
    }


def _said(sentence: Sentence, claims: pd.DataFrame) -> Iterator[str]:
    reply = answer(claims, sentence.claim, sentence.write)
    if reply:
        value, small, interval = reply.measured.partition(" <small>")
        text = sentence.text.format(f"[{value}](claim:{sentence.claim}){small}{interval}")
        yield f"{text} (wanted {reply.goal}: {reply.holds})."


def _rows(picture: Picture, evidence: Evidence) -> pd.DataFrame:
    """The picture's rows, one for each measured method."""
    rows = evidence.of(picture.rows["experiment"])
    for name, value in picture.rows.items():
        rows = rows[rows[name] == value]
    rows = rows[rows["method"].isin(picture.methods) & rows["decoder"].isin(("hungarian", "none", "best"))]
    return rows.dropna(subset=["value"]).drop_duplicates("method")


def draw(rows: pd.DataFrame, picture: Picture) -> Figure:
    """A line for each method with its value and interval, and the paper's value if it has one."""
    methods = [name for name in picture.methods if name in set(rows["method"])]
    with subplots(4.4, 1.9) as (figure, axes):
        ax = axes[0, 0]
        for row in rows.to_dict("records"):
            tint = "#0072b2" if row["method"] in picture.methods[: picture.leading] else "#8a8a8a"
            point(ax, row, -methods.index(row["method"]), 2.0, color=tint, marker="o", markersize=6)
        if picture.level is not None:
            ax.axvline(picture.level, color="#222222", linewidth=0.8)
        if picture.papers is not None:
            papers = {name: value for name, value in picture.papers.items() if name in methods}
            style: Any = {"color": "#d55e00", "markerfacecolor": "none", "linestyle": "", "marker": "D"}
            ax.plot(list(papers.values()), [-methods.index(name) for name in papers], markersize=5, **style)
            ax.legend(handles=[key("ours", color="#0072b2", marker="o"), key("paper", **style)], loc="best")
            shares(ax.xaxis)
        downwards(ax, [label(name) for name in methods])
        ax.locator_params(axis="x", nbins=5)
        figure.suptitle(picture.title, x=0.01, ha="left", fontsize=10.5)
    return figure
