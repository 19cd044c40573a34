"""Claims as the questions of a page: the target, the measured value, the verdict."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import pandas as pd

from pipeline.lab.claims import Claim, declared, parsed
from pipeline.lab.page.anchors import anchor
from pipeline.lab.page.names import mode
from pipeline.lab.page.numbers import Write, count, hundredths, is_share, percent, small
from pipeline.lab.page.tables import Table

SIGNS = {"<=": "≤", ">=": "≥", "<": "<", ">": ">", "==": "="}
_UNITS = "+% p"  # left out of an interval, which has the unit of its value


@dataclass(frozen=True)
class Question:
    """The question of a claim, the writer of its numbers, and the paper's number."""

    text: str
    write: Write = percent
    paper: str = ""


class Answer(NamedTuple):
    """Texts of a claim's target, its measured value and its verdict."""

    goal: str
    measured: str
    holds: str


def answer(claims: pd.DataFrame, name: str, write: Write) -> Answer | None:
    """The answer of table `claims` to the claim of this name; None if it was not measured."""
    rows = [] if claims.empty else claims[(claims["claim"] == name) & claims["value"].notna()].to_dict("records")
    if not rows:
        return None
    claim = rows[0]
    sign, goal = parsed(str(claim["target"]))
    value, low, high = (write(claim[key]) for key in ("value", "low", "high"))
    interval = "" if math.isnan(claim["low"]) else f"{low.strip(_UNITS)} to {high.strip(_UNITS)}"
    return Answer(f"{SIGNS[sign]} {write(goal) if goal else 0}", small(value, interval), f"**{claim['holds']}**")


def answered(claims: pd.DataFrame, questions: Mapping[str, Question]) -> Table:
    """A line for each question whose claim was measured; `questions` by name of the claim.

    A column shows the papers' numbers, if any question has one.
    """
    papers = any(question.paper for question in questions.values())
    lines = []
    for name, question in questions.items():
        if reply := answer(claims, name, question.write):
            beside = [question.paper or "-"] if papers else []
            lines.append([anchor(name) + question.text, reply.goal, *beside, reply.measured, reply.holds])
    return Table(["Question", "Wanted", *(["Papers"] if papers else []), "Measured", "Reached"], lines, right=1)


def further(claims: pd.DataFrame, experiments: Collection[str], shown: Collection[str]) -> Table:
    """A line for each measured claim of these experiments that is not `shown`, with the row of results behind it."""
    sources = {} if claims.empty else dict(zip(claims["claim"], claims["source"], strict=True))
    lines = []
    for claim in declared():
        is_left = claim.row["experiment"] in experiments and claim.name not in shown
        if is_left and (reply := answer(claims, claim.name, _writer(claim))):
            name = anchor(claim.name) + mode(claim.name)
            lines.append([name, mode(sources[claim.name]), reply.goal, reply.measured, reply.holds])
    return Table(["Claim", "Row of the results", "Wanted", "Measured", "Reached"], lines, right=2)


def _writer(claim: Claim) -> Write:
    """Shares as percentages; other numbers with three digits, or whole."""
    metric = claim.row["metric"]
    if claim.form in ("gain", "gap", "excess") or is_share(metric) or metric.endswith("share"):
        return hundredths
    return lambda value: count(value) if abs(value) >= 1000 else f"{value:.3g}"
