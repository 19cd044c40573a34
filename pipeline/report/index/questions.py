"""The paper's claims, each as a question that the table of results answers: yes, no or undecided.

A claim about a difference is answered by the paired difference's interval alone: "undecided" where it spans 0.
Nothing here knows a result.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import pandas as pd

from pipeline.analysis import paper
from pipeline.report.names import label
from pipeline.report.numbers import Row, count, is_share, shown, signed, small
from pipeline.report.tables import Line, Table

VALID_DECODERS = ["topological", "expected_slots", "best"]
Answer = Literal["yes", "no", "undecided", "not measured"]


@dataclass(frozen=True)
class Question:
    """One question put to one experiment."""

    question: str
    method: str
    row: Row | None  # what answers it
    paper: float | None  # the paper's difference or value, where it gives one
    answer: Answer
    note: str = ""
    headline: bool = True  # shown in the summary


_OTHERS = ["popocs_extrapolated", "popocs_nearest"]  # asked too where an experiment has them
_ASKED = ["popocs_20", "popocs_150", *_OTHERS]
_MORE_ITERATIONS = ["popocs_150", "popocs_60", "popocs_40"]
# question, metric, baseline, sign that makes it true, methods asked: the first one is the headline
_DIFFERENCES = [
    ("Is accuracy (exact match) higher than Sinkhorn's?", "exact_match", "sinkhorn", 1, _ASKED),
    ("Is the Kendall tau distance smaller?", "kendall_tau_distance", "sinkhorn", -1, _ASKED),
    ("Are fewer dependencies violated?", "violations_per_block", "sinkhorn", -1, _ASKED),
    ("Are more schedules valid?", "valid_share", "sinkhorn", 1, _ASKED),
    ("Does the valid share grow with test-time iterations?", "valid_share", "popocs_20", 1, _MORE_ITERATIONS),
]
_LATENCY = [  # question, judge, the paper's difference
    ("Is latency on Haswell on par with GCC's?", "haswell_100", paper.TABLE_2["popocs_20"] - paper.TABLE_2["gcc"]),
    ("And on Atom, where order matters more (not in the paper)?", "atom", None),
]


def sign(low: float, high: float, wanted: int, margin: float = 0.0) -> Answer:
    """Whether an interval of differences lies on the `wanted` side of the margin (+1: above, -1: below)."""
    if pd.isna(low) or pd.isna(high):
        return "not measured"
    if low <= margin <= high:
        return "undecided"
    return "yes" if (low > margin) == (wanted > 0) else "no"


def ask(rows: pd.DataFrame) -> list[Question]:
    """The claims of the paper put to one experiment; `rows`: its results over all seeds, one kind of dependencies."""
    measured, methods = Line({}, rows.dropna(subset=["value"]).to_dict("records")), set(rows["method"])
    less: dict[str, str] = {"decoder": "hungarian", "comparison": "difference"}
    asked = []
    for question, metric, baseline, wanted, named in _DIFFERENCES:
        for method in (name for name in named if name in methods or name not in _OTHERS):
            row = measured.find(method=method, metric=metric, baseline=baseline, **less)
            answer: Answer = "not measured" if row is None else sign(row["low"], row["high"], wanted)
            reference = paper.difference(method, baseline, metric)
            asked.append(Question(question, method, row, reference, answer, headline=method == named[0]))
    for question, judge, reference in _LATENCY:
        cycles = {"metric": "cycles", "judge": judge}
        row = measured.find(method="popocs_20", baseline="gcc", **cycles, **less)
        gcc = measured.find(method="gcc", decoder="none", **cycles)
        if row is None or gcc is None:
            asked.append(Question(question, "popocs_20", None, reference, "not measured"))
        else:
            margin = paper.ON_PAR_SHARE * float(gcc["value"])
            answer = sign(row["low"], row["high"], -1, margin)
            asked.append(Question(question, "popocs_20", row, reference, answer, f"margin {margin:.4f} cycles"))
    return [*asked, _always_valid(measured)]


def _always_valid(measured: Line) -> Question:
    question, valid = "Is valid-by-construction decoding 100% valid?", {"metric": "valid_share", "comparison": "value"}
    shares = [row for row in measured.rows if row.items() >= valid.items() and row["decoder"] in VALID_DECODERS]
    if not shares:
        return Question(question, "every network", None, None, "not measured")
    worst = min(shares, key=lambda row: float(row["value"]))
    answer: Answer = "yes" if worst["value"] == 1.0 else "no"
    return Question(question, "every network, the worst shown", worst, None, answer)


def table(asked: list[Question]) -> Table:
    """Every question with the paper's value, ours, its interval and the answer."""
    head = ["Question", "Scheduler", "Paper", "Ours", "Interval", "Blocks", "Answer"]
    return Table(head, [_cells(question) for question in asked])


def _cells(asked: Question) -> list[str]:
    row, write = asked.row, _writer(asked.row)
    value, low, high = (None if row is None else float(row[name]) for name in ("value", "low", "high"))
    interval = small(f"{write(low)} to {write(high)}", asked.note)
    n = "-" if row is None else count(row["n"])
    return [asked.question, label(asked.method), write(asked.paper), write(value), interval, n, f"**{asked.answer}**"]


def _writer(row: Row | None) -> Callable[[float | None], str]:
    """How the row's values are written: differences of shares in percentage points, of others as they are."""
    if row is None or row["comparison"] != "difference":
        return lambda number: shown("" if row is None else row["metric"], number)
    if is_share(row["metric"]):
        return lambda number: "-" if number is None or pd.isna(number) else f"{100 * number:+.2f} pp"
    return signed


def headlines(columns: dict[str, list[Question]], heading: str) -> Table:
    """One line for each question: the question, then the answer of each column."""
    answers: dict[str, list[str]] = {}
    for asked in columns.values():
        for question in asked:
            if question.headline:
                answers.setdefault(question.question, []).append(f"**{question.answer}**")
    return Table([heading, *columns], [[question, *cells] for question, cells in answers.items()])
