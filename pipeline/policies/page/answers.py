"""The claims of the paper, and further questions, each with the answer of the results.

The interval alone gives the answer: "uncertain" if it spans the target. No answer is written here.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pipeline.lab.claims import holds, parsed
from pipeline.lab.page.anchors import anchors
from pipeline.lab.page.asked import SIGNS
from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.graphs import LIST, OF_PAPER, PROXY, REAL, SYNTHETIC
from pipeline.lab.page.names import label, set_label
from pipeline.lab.page.numbers import number, percent, small
from pipeline.lab.page.tables import Table
from pipeline.policies.page.exactness import EXACT, sigmas
from pipeline.policies.page.exactness import EXPERIMENT as EXACTNESS
from pipeline.policies.page.shared import GFLOWNET, KEPT, ONE_GRAPH, UNSEEN, with_extensions

Form = Literal["value", "gain", "gap"]  # as in pipeline/lab/claims.py: a gain is 1 - ratio, a gap is ratio - 1
DRAWN = "gflownet_drawn"
PEERS = (LIST, "brkga", "ppo", "randomised_list")  # the paper has the first three
_LARGE = "unseen_large"
_SETS = {"one_graph": ONE_GRAPH, SYNTHETIC: UNSEEN, REAL: UNSEEN, _LARGE: UNSEEN}  # -> experiment


@dataclass(frozen=True)
class Question:
    """One question and the row that answers it; of several rows, the worst one counts."""

    text: str
    target: str  # an operator and a number, as in table `claims`
    row: Mapping[str, str]  # column of table `results` -> value; other columns may have any value
    form: Form = "value"
    paper: str = "-"  # what the paper says
    share: bool = True  # written as a percentage


@dataclass(frozen=True)
class Answer:
    """The answer of the results, in the form of the question; n: graphs."""

    holds: str = "not measured"
    value: float = math.nan
    low: float = math.nan
    high: float = math.nan
    n: int = 0
    anchors: str = ""  # of the claims that the row answers


@with_extensions
def section(evidence: Evidence) -> dict[str, Any]:
    """The tables of questions; they have no lines if nothing answers them."""
    against = {method: _against_peers(evidence, method) for method in (GFLOWNET, DRAWN)}
    return {
        "against": against[GFLOWNET],
        "drawn": against[DRAWN],
        "asked": _by_set(evidence),
        "exact": _exact(evidence),
    }


def _against_peers(evidence: Evidence, method: str) -> Table:
    """A line for each set and question, a column for each peer: the answer and the gain, or the difference."""
    every = []
    for name, experiment in _SETS.items():
        for target in OF_PAPER:
            asks = [Question("", "> 0", _ratio(experiment, name, method, peer, target), "gain") for peer in PEERS]
            every.append(
                [set_label(name), f"Shorter on {target}?", *(_verdict(evidence, question) for question in asks)]
            )
        asks = [Question("", "> 0", _more_diverse(experiment, name, method, peer)) for peer in PEERS]
        every.append([set_label(name), "More diverse?", *(_verdict(evidence, question) for question in asks)])
    head = ["Graphs", "Question", *(f"Against {label(peer)}" for peer in PEERS)]
    return Table(head, [line for line in every if set(line[2:]) != {"-"}], right=2)


def _verdict(evidence: Evidence, question: Question) -> str:
    answer = answered(evidence, question)
    verdict = f"{answer.anchors}**{answer.holds}**, {_ours(question, answer)}"
    return "-" if answer.holds == "not measured" else verdict


def questions(name: str, experiment: str) -> Iterator[Question]:
    """Further questions about one set: first the paper's claims, then others."""
    listed = _ratio(experiment, name, GFLOWNET, LIST, PROXY)
    yield Question("Is it at most 2% longer than list scheduling on the proxy?", "<= 0.02", listed, "gap", "yes")
    for metric, text, target in (
        ("diversity", "Does a higher sigma make the kept schedules more diverse? (rank correlation)", "> 0.5"),
        ("kept_speedup", "Does it make them slower on average? (rank correlation)", "< -0.5"),
    ):
        row = {"experiment": experiment, "set": name, "method": GFLOWNET, "metric": "rank_correlation"}
        yield Question(text, target, {**row, **KEPT, "baseline": metric}, paper="yes", share=False)
    for target in ("bandwidth", "latency"):
        told_target = _ratio(experiment, name, "gflownet_on_target", "heft", target)
        yield Question(f"Told the target, is it shorter than HEFT on {target}?", "> 0", told_target, "gain")
        drawn = _ratio(experiment, name, DRAWN, "randomised_list", target, "spread")
        text = f"Told drawn targets, is it shorter than randomised list scheduling on {target}"
        yield Question(f"{text}, if schedules on few devices are kept too?", "> 0", drawn, "gain")


def _by_set(evidence: Evidence) -> Table:
    """A line for each question, a column for each set."""
    by_set = {name: list(questions(name, experiment)) for name, experiment in _SETS.items()}
    every = [
        [asks[0].text, _goal(asks[0]), asks[0].paper, *(_verdict(evidence, question) for question in asks)]
        for asks in zip(*by_set.values(), strict=True)
    ]
    head = ["Question", "Wanted", "Paper", *map(set_label, by_set)]
    return Table(head, [line for line in every if set(line[3:]) != {"-"}], right=3)


def _exact(evidence: Evidence) -> Table:
    """Whether schedules are drawn in proportion to their reward: of all small graphs, the worst one answers."""
    rows = evidence.of(EXACTNESS)
    every = []
    for sigma in sigmas(rows):
        row = {"experiment": EXACTNESS, "metric": EXACT, "decoder": sigma}
        question = Question(
            f"Is it within 0.05 of R/Z on every small graph, sigma {sigma}?", "<= 0.05", row, share=False
        )
        every.append([question.text, _goal(question), _verdict(evidence, question)])
    return Table(["Question", "Wanted", "Total variation, worst graph"], every, right=2)


def _ratio(experiment: str, name: str, method: str, peer: str, target: str, rule: str = "best") -> dict[str, str]:
    place = {"experiment": experiment, "set": name, "target": target, "method": method, "baseline": peer}
    return {**place, **KEPT, "metric": "makespan", "comparison": "ratio", "decoder": rule}


def _more_diverse(experiment: str, name: str, method: str, peer: str) -> dict[str, str]:
    place = {"experiment": experiment, "set": name, "target": PROXY, "method": method, "baseline": peer}
    return {**place, **KEPT, "metric": "diversity", "comparison": "difference"}


def answered(evidence: Evidence, question: Question) -> Answer:
    """The answer of the results to a question."""
    rows = evidence.measurements.get((question.row["experiment"], question.row["metric"]), [])
    rows = [row for row in rows if all(row[name] == entry for name, entry in question.row.items())]
    if not rows:
        return Answer()
    every = [_formed(question, row) for row in rows]
    return max(every, key=lambda answer: -answer.value if question.target.startswith(">") else answer.value)


def _formed(question: Question, row: Mapping[Any, Any]) -> Answer:
    value, low, high = row["value"], row["low"], row["high"]
    if question.form == "gain":
        value, low, high = 1 - value, 1 - high, 1 - low
    elif question.form == "gap":
        value, low, high = value - 1, low - 1, high - 1
    return Answer(holds(question.target, value, low, high), value, low, high, int(row["n"]), anchors(row))


def _ours(question: Question, answer: Answer) -> str:
    """The value with its interval."""
    if math.isnan(answer.value):
        return "-"
    interval = (
        "" if math.isnan(answer.low) else f"{_written(question, answer.low)} to {_written(question, answer.high)}"
    )
    return small(_written(question, answer.value), interval)


def _written(question: Question, value: float) -> str:
    return percent(value) if question.share else number(value, 3)


def _goal(question: Question) -> str:
    sign, goal = parsed(question.target)
    return f"{SIGNS[sign]} {_written(question, goal) if goal else 0}"
