"""The front page: a card for each system with its goals, and every claim."""

from __future__ import annotations

from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from learned_schedulers.figures import subplots
from pipeline.lab.page.asked import answer
from pipeline.lab.page.cards import Card, Picture, cards
from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.names import label, mode
from pipeline.lab.page.numbers import cell, number
from pipeline.lab.page.pages import pages
from pipeline.lab.page.plots import downwards, drawings, key, point, shares
from pipeline.lab.page.tables import Table, of, records, table
from pipeline.lab.shared_tables import CLAIMS


def section(evidence: Evidence) -> dict[str, Any]:
    """The page's cards and tables, and the unpublished experiments of each page."""
    every = cards()
    pictures = {card.picture.name: (draw, _rows(card.picture, evidence), card.picture) for card in every}
    return {
        "cards": [(card, _answers(card, evidence.claims)) for card in every],
        "holding": holding(evidence.claims),
        "claims": claims(evidence.claims),
        "fingerprints": Table(["What", "Fingerprint"], [[k, mode(v)] for k, v in evidence.fingerprints.items()]),
        "unpublished": {
            page.name: [name for name in page.experiments if not evidence.measured(name)] for page in pages()
        },
        "figures": drawings(**pictures),
    }


def _answers(card: Card, rows: pd.DataFrame) -> Table:
    """The card's questions with the paper's number or the goal, our number, and the verdict; rows: table `claims`."""
    lines = []
    for name, question in card.questions.items():
        reply = answer(rows, name, question.write)
        ours = [reply.measured, reply.holds] if reply else ["-", "not measured"]
        goal = reply.goal if reply and not reply.goal.endswith(" 0") else "-"
        text = f"[{question.text}](claim:{name})" if reply else question.text
        lines.append([text, question.paper or goal, *ours])
    return Table(["Question", "Paper, goal", "Ours", "Holds"], lines)


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


def holding(rows: pd.DataFrame) -> Table:
    """Number of claims by verdict and by the experiment that answers them (the first word of `source`)."""
    if rows.empty:
        return Table()
    counts = rows.groupby([rows["source"].str.split().str[0], "holds"]).size().unstack(fill_value=0)
    counts = counts.reindex(columns=["yes", "no", "uncertain", "not measured"], fill_value=0)
    lines = [[mode(str(name)), str(row.sum()), *map(str, row)] for name, row in counts.iterrows()]
    return Table(["Experiment", "Claims", "Hold", "Do not hold", "Uncertain", "Not measured"], lines, 1)


def claims(rows: pd.DataFrame) -> Table:
    """Table `claims`; the name of a claim leads to the cell that answers it, if a page shows it."""

    def written(entry: Any) -> str:
        return number(entry, 4) if isinstance(entry, float) else "-" if entry is None else cell(entry)

    linked = ("Claim", of("claim", lambda name: f"[{cell(name)}](claim:{name})"))
    return table([linked, *((name.capitalize(), of(name, written)) for name in CLAIMS.schema.names[1:])], records(rows))
