"""Claims as the questions of a page: what is wanted, what was measured, whether it is reached."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from pipeline.analysis.claims import parsed
from pipeline.report.numbers import Write, percent, small
from pipeline.report.tables import Table

SIGNS = {"<=": "≤", ">=": "≥", "<": "<", ">": ">", "==": "="}


@dataclass(frozen=True)
class Question:
    """What a claim asks, how its numbers are written, and what a paper says of it."""

    text: str
    write: Write = percent
    paper: str = ""


def answered(claims: pd.DataFrame, questions: Mapping[str, Question]) -> Table:
    """A line for each question whose claim, by its name, was measured; claims: table `claims`.

    A column has what papers say, where a question has that.
    """
    by_name = {row["claim"]: row for row in claims.to_dict("records")}
    papers = any(question.paper for question in questions.values())
    lines = []
    for name, question in questions.items():
        claim = by_name.get(name)
        if claim is None or math.isnan(claim["value"]):
            continue
        sign, goal = parsed(str(claim["target"]))
        wanted = f"{SIGNS[sign]} {question.write(goal) if goal else 0}"
        value, low, high = (question.write(claim[key]) for key in ("value", "low", "high"))
        interval = "" if math.isnan(claim["low"]) else f"{low} to {high}"
        beside = [question.paper or "-"] if papers else []
        lines.append([question.text, wanted, *beside, small(value, interval), f"**{claim['holds']}**"])
    return Table(["Question", "Wanted", *(["Papers"] if papers else []), "Measured", "Reached"], lines, right=1)
