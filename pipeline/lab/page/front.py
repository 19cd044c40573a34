"""The front page: what learning is worth, a card for each system with its goals, and every claim."""

from __future__ import annotations

from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from learned_schedulers.figures import subplots
from pipeline.lab.page.anchors import anchor
from pipeline.lab.page.asked import answer
from pipeline.lab.page.cards import Card, cards, worth
from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.names import mode
from pipeline.lab.page.numbers import cell, number
from pipeline.lab.page.pages import pages
from pipeline.lab.page.plots import downwards, drawings, key, legend, point, shares
from pipeline.lab.page.tables import Table, of, records, table
from pipeline.lab.provenance import kind
from pipeline.lab.shared_tables import CLAIMS

KINDS: dict[str, tuple[str, dict[str, Any]]] = {  # of methods -> words and style
    "heuristic": ("a heuristic, at once", {"color": "#8a8a8a", "marker": "s"}),
    "learned": ("learned", {"color": "#0072b2", "marker": "o"}),
    "searched": ("search, nothing learned", {"color": "#d55e00", "marker": "D", "markerfacecolor": "white"}),
}


def section(evidence: Evidence) -> dict[str, Any]:
    """The page's cards and tables, and the unpublished experiments of each page."""
    return {
        "cards": [(card, _answers(card, evidence)) for card in cards().values()],
        "holding": holding(evidence.claims),
        "claims": claims(evidence.claims),
        "fingerprints": Table(["What", "Fingerprint"], [[k, mode(v)] for k, v in evidence.fingerprints.items()]),
        "unpublished": {
            page.name: [name for name in page.experiments if not evidence.measured(name)] for page in pages()
        },
        "figures": drawings(front=(draw, saved(evidence))),
    }


def _answers(card: Card, evidence: Evidence) -> Table:
    """The card's questions with the paper's number or the goal, our number, and the verdict."""
    rows = evidence.claims
    states = {} if rows.empty else dict(zip(rows["claim"], rows["state"], strict=True))
    lines = []
    for name, question in card.questions.items():
        reply = answer(rows, name, question.write)
        ours = ["-", "not measured"]
        if reply:
            ours = [reply.measured + _aged(states[name]), reply.holds]
        goal = reply.goal if reply and not reply.goal.endswith(" 0") else "-"
        text = f"[{question.text}](claim:{name})" if reply else question.text
        lines.append([text, question.paper or goal, *ours])
    return Table(["Question", "Paper, goal", "Ours", "Holds"], lines)


def _aged(state: str) -> str:
    """What a number that today's code does not make says of itself: `, frozen`, `, changed`."""
    return f", {kind(state)}" if kind(state) in ("frozen", "changed") else ""


def saved(evidence: Evidence) -> pd.DataFrame:
    """Columns text (of a line of the figure), kind (heuristic, learned, searched), value, low, high: shares of time."""
    every = []
    for line in worth():
        text = line.text + _aged(evidence.states.get(line.rows["experiment"], ""))
        for name in KINDS:
            query = {**line.rows, **getattr(line, name)}
            rows = evidence.measurements.get((query["experiment"], query["metric"]), [])
            ratio = next((row for row in rows if row.items() >= query.items()), None)
            if ratio is not None:
                ends = {"value": 1 - ratio["value"], "low": 1 - ratio["high"], "high": 1 - ratio["low"]}
                every.append({"text": text, "kind": name, **ends})
    return pd.DataFrame(every)


def draw(rows: pd.DataFrame) -> Figure:
    """A line for each problem: the time that each kind of method saves, with its interval."""
    texts = list(dict.fromkeys(rows["text"]))
    with subplots(8.4, 0.9 + 0.72 * len(texts)) as (figure, axes):
        ax = axes[0, 0]
        for row in rows.to_dict("records"):
            place = list(KINDS).index(row["kind"])
            point(ax, row, -texts.index(row["text"]) + 0.22 * (1 - place), 2.2, markersize=7, **KINDS[row["kind"]][1])
        ax.axvline(0, color="#222222", linewidth=0.8)
        downwards(ax, texts)
        shares(ax.xaxis)
        ax.set_xlabel("time saved, with 95% intervals")
        legend(figure, [key(text, linestyle="", **style) for text, style in KINDS.values()], 3)
    return figure


def holding(rows: pd.DataFrame) -> Table:
    """Number of claims by verdict and by the experiment that answers them (the first word of `source`)."""
    if rows.empty:
        return Table()
    counts = rows.groupby([rows["source"].str.split().str[0], "holds"]).size().unstack(fill_value=0)
    counts = counts.reindex(columns=["yes", "no", "uncertain", "out of reach", "not measured"], fill_value=0)
    lines = [[mode(str(name)), str(row.sum()), *map(str, row)] for name, row in counts.iterrows()]
    return Table(["Experiment", "Claims", "Hold", "Do not hold", "Uncertain", "Out of reach", "Not measured"], lines, 1)


def claims(rows: pd.DataFrame) -> Table:
    """Table `claims`; the name of a claim leads to the cell that answers it. If no page has one, it is this row."""

    def written(entry: Any) -> str:
        return number(entry, 4) if isinstance(entry, float) else "-" if entry is None else cell(entry)

    linked = ("Claim", of("claim", lambda name: f"{anchor(name)}[{cell(name)}](claim:{name})"))
    return table([linked, *((name.capitalize(), of(name, written)) for name in CLAIMS.schema.names[1:])], records(rows))
