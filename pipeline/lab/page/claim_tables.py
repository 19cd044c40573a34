"""Claims as tables: a page's questions, the cards of the front page, and every claim with its row of the results."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from typing import Any, NamedTuple

import pandas as pd

from pipeline.lab.claims import Claim, declared, parsed
from pipeline.lab.page.anchors import anchor
from pipeline.lab.page.names import mode
from pipeline.lab.page.numbers import WRITERS, Write, cell, count, hundredths, is_share, number, saves, small
from pipeline.lab.page.pages import Card, Page
from pipeline.lab.page.pages import declared as declared_pages
from pipeline.lab.page.tables import Table, of, records, table
from pipeline.lab.shared_tables import CLAIMS

SIGNS = {"<=": "≤", ">=": "≥", "<": "<", ">": ">", "==": "="}
_MIRRORED = str.maketrans("<>", "><")  # the sign of a target, if a ratio is told as what it saves
_UNITS = "+% p"  # left out of an interval, which has the unit of its value


class Answer(NamedTuple):
    """Texts of a claim's target, its measured value and its verdict; and its state, if that is not `current`."""

    goal: str
    measured: str
    holds: str
    state: str


def answer(claims: pd.DataFrame, claim: Claim, write: Write) -> Answer | None:
    """The answer of table `claims` to a claim; None if it was not measured. Gains are told in words."""
    rows = [] if claims.empty else claims[(claims["claim"] == claim.name) & claims["value"].notna()].to_dict("records")
    if not rows:
        return None
    row = rows[0]
    sign, goal = parsed(str(row["target"]))
    value, low, high = row["value"], row["low"], row["high"]
    if claim.write == "saves":
        sign, goal = sign.translate(_MIRRORED), 1 - goal
        value, low, high = 1 - value, 1 - high, 1 - low
    if claim.form == "gain" or claim.write == "saves":
        measured = saves(value, low, high, write)
    else:
        interval = "" if math.isnan(low) else f"{write(low).strip(_UNITS)} to {write(high).strip(_UNITS)}"
        measured = small(write(value), interval)
    state = f", {row['state']}" if row["state"] in ("frozen", "changed") else ""
    return Answer(f"{SIGNS[sign]} {write(goal) if goal else 0}", measured, f"**{row['holds']}**", state)


def answered(claims: pd.DataFrame, claims_shown: Collection[Claim]) -> Table:
    """A line for each claim that was measured. A column shows the papers' numbers, if any claim has one."""
    papers = any(claim.paper for claim in claims_shown)
    lines = []
    for claim in claims_shown:
        if reply := answer(claims, claim, WRITERS[claim.write]):
            beside = [claim.paper or "-"] if papers else []
            lines.append(
                [anchor(claim.name) + claim.question, reply.goal, *beside, reply.measured + reply.state, reply.holds]
            )
    return Table(["Question", "Wanted", *(["Papers"] if papers else []), "Measured", "Reached"], lines, right=1)


def further(claims: pd.DataFrame, experiments: Collection[str], shown: Collection[str]) -> Table:
    """A line for each measured claim of these experiments that is not `shown`, with the row of results behind it."""
    sources = {} if claims.empty else dict(zip(claims["claim"], claims["source"], strict=True))
    lines = []
    for claim in declared():
        is_left = claim.row["experiment"] in experiments and claim.name not in shown
        if is_left and (reply := answer(claims, claim, _writer(claim))):
            name = anchor(claim.name) + mode(claim.name)
            lines.append([name, mode(sources[claim.name]), reply.goal, reply.measured + reply.state, reply.holds])
    return Table(["Claim", "Row of the results", "Wanted", "Measured", "Reached"], lines, right=2)


def _writer(claim: Claim) -> Write:
    """Shares as percentages; other numbers with three digits, or whole."""
    metric = claim.row["metric"]
    if claim.form in ("gain", "gap", "excess") or is_share(metric) or metric.endswith("share"):
        return hundredths
    return lambda value: count(value) if abs(value) >= 1000 else f"{value:.3g}"


def sentences(page: Page, claims: pd.DataFrame) -> list[str]:
    """The page's answer: a sentence for each measured claim, with its value and its verdict."""
    by_name, every = {claim.name: claim for claim in declared()}, []
    for name, text in page.answer.items():
        claim = by_name.get(name)
        if claim and (reply := answer(claims, claim, WRITERS[claim.write])):
            value, small_print, interval = reply.measured.partition(" <small>")
            sentence = text.format(f"[{value}](claim:{name}){small_print}{interval}")
            every.append(f"{sentence} (wanted {reply.goal}: {reply.holds}{reply.state}).")
    return every


def cards(claims: pd.DataFrame) -> list[tuple[Card, Table]]:
    """The cards of the front page in the order of their pages: first the page's own claims, then those of others."""
    every = declared()
    return [
        (page.card, _card(claims, _own_first(page, [claim for claim in every if claim.front == page.name])))
        for page in sorted(declared_pages(), key=lambda page: page.place)
        if page.card is not None
    ]


def _own_first(page: Page, claims_shown: Iterable[Claim]) -> list[Claim]:
    return sorted(claims_shown, key=lambda claim: claim.row["experiment"] not in page.experiments)


def _card(claims: pd.DataFrame, claims_shown: Iterable[Claim]) -> Table:
    """Questions with the paper's number or the goal, our number, and the verdict."""
    lines = []
    for claim in claims_shown:
        reply = answer(claims, claim, WRITERS[claim.write])
        ours = [reply.measured + reply.state, reply.holds] if reply else ["-", "not measured"]
        goal = reply.goal if reply and not reply.goal.endswith(" 0") else "-"
        text = f"[{claim.question}](claim:{claim.name})" if reply else claim.question
        lines.append([text, claim.paper or goal, *ours])
    return Table(["Question", "Paper, goal", "Ours", "Holds"], lines)


def holding(rows: pd.DataFrame) -> Table:
    """Number of claims by verdict and by the experiment that answers them (the first word of `source`)."""
    if rows.empty:
        return Table()
    verdicts = {"yes": "Hold", "no": "Do not hold", "uncertain": "Uncertain", "out of reach": "Out of reach"}
    verdicts |= {"not measured": "Not measured"}
    counts = rows.groupby([rows["source"].str.split().str[0], "holds"]).size().unstack(fill_value=0)
    counts = counts.reindex(columns=[*verdicts], fill_value=0)
    lines = [[mode(str(name)), str(row.sum()), *map(str, row)] for name, row in counts.iterrows()]
    return Table(["Experiment", "Claims", *verdicts.values()], lines, 1)


def every(rows: pd.DataFrame) -> Table:
    """Table `claims`; the name of a claim leads to the cell that answers it. If no page has one, it is this row."""

    def written(entry: Any) -> str:
        return number(entry, 4) if isinstance(entry, float) else "-" if entry is None else cell(entry)

    linked = ("Claim", of("claim", lambda name: f"{anchor(name)}[{cell(name)}](claim:{name})"))
    return table([linked, *((name.capitalize(), of(name, written)) for name in CLAIMS.schema.names[1:])], records(rows))
