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
from pipeline.report.numbers import Row, count, is_share, shown, signed
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
# question, metric, baseline, sign that makes it true, methods asked: the first one is the headline
_DIFFERENCES: list[tuple[str, str, str, int, list[str]]] = [
    ("Is accuracy (exact match) higher than Sinkhorn's?", "exact_match", "sinkhorn", 1, _ASKED),
    ("Is the Kendall tau distance smaller?", "kendall_tau_distance", "sinkhorn", -1, _ASKED),
    ("Are fewer dependencies violated?", "violations_per_block", "sinkhorn", -1, _ASKED),
    ("Are more schedules valid?", "valid_share", "sinkhorn", 1, _ASKED),
    (
        "Does the valid share grow with test-time iterations?",
        "valid_share",
        "popocs_20",
        1,
        ["popocs_150", "popocs_60", "popocs_40"],
    ),
]


def sign(low: float, high: float, wanted: int) -> Answer:
    """Whether an interval of differences lies on the `wanted` side of 0 (+1: above, -1: below)."""
    if pd.isna(low) or pd.isna(high):
        return "not measured"
    if low <= 0 <= high:
        return "undecided"
    return "yes" if (low > 0) == (wanted > 0) else "no"


def on_par(low: float, high: float, margin: float) -> Answer:
    """Whether an interval of extra cost stays below `margin` ("yes") or begins above it ("no")."""
    if pd.isna(low) or pd.isna(high):
        return "not measured"
    if high < margin:
        return "yes"
    return "no" if low > margin else "undecided"


def ask(rows: pd.DataFrame) -> list[Question]:
    """The claims of the paper put to one experiment; `rows`: its results over all seeds, one kind of dependencies."""
    measured = Line({}, rows.dropna(subset=["value"]).to_dict("records"))
    haswell = "Is latency on Haswell on par with GCC's?"
    atom = "And on Atom, where order matters more (not in the paper)?"
    return [
        *_differences(measured, set(rows["method"])),
        _latency(measured, "haswell_100", haswell, paper.TABLE_2["popocs_20"] - paper.TABLE_2["gcc"]),
        _latency(measured, "atom", atom, None),
        _always_valid(measured),
    ]


def _differences(measured: Line, methods: set[str]) -> list[Question]:
    asked = []
    for question, metric, baseline, wanted, those in _DIFFERENCES:
        for method in those:
            if method in _OTHERS and method not in methods:
                continue
            where = {"decoder": "hungarian", "comparison": "difference", "baseline": baseline}
            row = measured.find(method=method, metric=metric, **where)
            answer: Answer = "not measured" if row is None else sign(row["low"], row["high"], wanted)
            reference = paper.difference(method, baseline, metric)
            asked.append(Question(question, method, row, reference, answer, headline=method == those[0]))
    return asked


def _latency(measured: Line, judge: str, question: str, reference: float | None) -> Question:
    where = {"comparison": "difference", "baseline": "gcc", "metric": "cycles", "judge": judge}
    row = measured.find(method="popocs_20", decoder="hungarian", **where)
    gcc = measured.find(method="gcc", decoder="none", metric="cycles", judge=judge)
    if row is None or gcc is None:
        return Question(question, "popocs_20", None, reference, "not measured")
    margin = paper.ON_PAR_SHARE * float(gcc["value"])
    answer = on_par(row["low"], row["high"], margin)
    return Question(question, "popocs_20", row, reference, answer, f"margin {margin:.4f} cycles")


def _always_valid(measured: Line) -> Question:
    question = "Is valid-by-construction decoding 100% valid?"
    shares = [
        row
        for row in measured.rows
        if row["metric"] == "valid_share" and row["comparison"] == "value" and row["decoder"] in VALID_DECODERS
    ]
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
    note = f"<br><small>{asked.note}</small>" if asked.note else ""
    return [
        asked.question,
        label(asked.method),
        write(asked.paper),
        write(value),
        f"{write(low)} to {write(high)}{note}",
        "-" if row is None else count(row["n"]),
        f"**{asked.answer}**",
    ]


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
