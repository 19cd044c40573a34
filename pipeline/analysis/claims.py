"""The paper's claims, each as a question that the table of results answers: yes, no or undecided.

A claim about a difference is answered by the paired difference's interval alone: "undecided" where it
spans 0. Nothing here knows a result.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import pandas as pd

from pipeline.analysis import paper

VALID_DECODERS = ["topological", "expected_slots", "best"]
Answer = Literal["yes", "no", "undecided", "not measured"]


@dataclass(frozen=True)
class Claim:
    """One question put to one experiment."""

    question: str
    metric: str
    scheduler: str
    decoder: str
    paper: float | None  # the paper's difference or value, where it gives one
    value: float | None  # ours, in the metric's unit
    ci_low: float | None
    ci_high: float | None
    n_blocks: int | None
    answer: Answer
    note: str = ""
    headline: bool = True  # shown in the summary


_OTHERS = ["popocs_extrapolated", "popocs_nearest"]  # asked too where an experiment has them
_ASKED = ["popocs_20", "popocs_150", *_OTHERS]
# question, metric, baseline, sign that makes it true, schedulers asked: the first one is the headline
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


def sign(ci_low: float, ci_high: float, wanted: int) -> Answer:
    """Whether an interval of differences lies on the `wanted` side of 0 (+1: above, -1: below)."""
    if pd.isna(ci_low) or pd.isna(ci_high):
        return "not measured"
    if ci_low <= 0 <= ci_high:
        return "undecided"
    return "yes" if (ci_low > 0) == (wanted > 0) else "no"


def on_par(ci_low: float, ci_high: float, margin: float) -> Answer:
    """Whether an interval of extra cost stays below `margin` ("yes") or begins above it ("no")."""
    if pd.isna(ci_low) or pd.isna(ci_high):
        return "not measured"
    if ci_high < margin:
        return "yes"
    return "no" if ci_low > margin else "undecided"


def _row(results: pd.DataFrame, scheduler: str, decoder: str, metric: str) -> pd.Series | None:
    rows = results[
        (results["scheduler"] == scheduler) & (results["decoder"] == decoder) & (results["metric"] == metric)
    ]
    return None if rows.empty or pd.isna(rows.iloc[0]["value"]) else rows.iloc[0]


def _claim(
    question: str,
    metric: str,
    row: pd.Series | None,
    scheduler: str,
    decoder: str,
    paper_value: float | None,
    answer: Answer,
) -> Claim:
    if row is None:
        return Claim(question, metric, scheduler, decoder, paper_value, None, None, None, None, "not measured")
    return Claim(
        question,
        metric,
        scheduler,
        decoder,
        paper_value,
        float(row["value"]),
        float(row["ci_low"]),
        float(row["ci_high"]),
        int(row["n_blocks"]),
        answer,
    )


def _differences(results: pd.DataFrame) -> list[Claim]:
    found = []
    for question, metric, baseline, wanted, schedulers in _DIFFERENCES:
        for scheduler in schedulers:
            if scheduler in _OTHERS and scheduler not in set(results["scheduler"]):
                continue
            row_metric = f"{metric}_minus_{baseline}"
            row = _row(results, scheduler, "hungarian", row_metric)
            answer: Answer = "not measured" if row is None else sign(row["ci_low"], row["ci_high"], wanted)
            reference = paper.difference(scheduler, baseline, metric)
            claim = _claim(question, row_metric, row, scheduler, "hungarian", reference, answer)
            found.append(replace(claim, headline=scheduler == schedulers[0]))
    return found


def _latency(results: pd.DataFrame, metric: str, question: str, paper_value: float | None) -> Claim:
    row_metric = f"{metric}_minus_gcc"
    row = _row(results, "popocs_20", "hungarian", row_metric)
    gcc = _row(results, "gcc", "none", metric)
    if row is None or gcc is None:
        return _claim(question, row_metric, None, "popocs_20", "hungarian", paper_value, "not measured")
    margin = paper.ON_PAR_SHARE * float(gcc["value"])
    answer = on_par(row["ci_low"], row["ci_high"], margin)
    claim = _claim(question, row_metric, row, "popocs_20", "hungarian", paper_value, answer)
    return replace(claim, note=f"margin {margin:.4f} cycles")


def _always_valid(results: pd.DataFrame) -> Claim:
    question = "Is valid-by-construction decoding 100% valid?"
    rows = results[results["decoder"].isin(VALID_DECODERS) & (results["metric"] == "valid_share")]
    rows = rows.dropna(subset=["value"])
    if rows.empty:
        return _claim(question, "valid_share", None, "every network", "legal ones", None, "not measured")
    worst = rows.sort_values("value").iloc[0]
    answer: Answer = "yes" if worst["value"] == 1.0 else "no"
    return _claim(question, "valid_share", worst, "every network, the worst shown", "legal ones", None, answer)


def check(results: pd.DataFrame) -> list[Claim]:
    """The claims of the paper put to one experiment.

    `results`: rows of one experiment and one kind of dependencies with seed `all` (table `results`).
    """
    haswell = "Is latency on Haswell on par with GCC's?"
    atom = "And on Atom, where order matters more (not in the paper)?"
    return [
        *_differences(results),
        _latency(results, "cycles_per_iteration_haswell", haswell, paper.TABLE_2["popocs_20"] - paper.TABLE_2["gcc"]),
        _latency(results, "single_pass_cycles_atom", atom, None),
        _always_valid(results),
    ]
