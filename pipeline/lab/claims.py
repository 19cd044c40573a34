"""What a claim is, all that the chapters declare, and what the results answer: yes, no, uncertain, not measured.

A target that no method could reach, such as more legal orders than there are, is neither met nor missed: it is out of
reach.

A chapter declares in `claims.py` what its papers claim and what it set out to reach; such a module knows no result.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Literal

import pandas as pd

from pipeline.lab import chapters
from pipeline.lab.shared_tables import CLAIMS

CHANGED = "changed_since"  # metric: published experiments to which today's code would give other numbers
ALIKE = "equal_parameters"  # metric: runs of methods on the dashboard that have the parameters of another one
FOR_PEOPLE = "metrics_for_people"  # metric: numbers that `dvc metrics` lists

Holds = Literal["yes", "no", "uncertain", "not measured", "out of reach"]
Row = dict[str, str]  # column of table `results` -> value; a missing column may have any value
_OPERATORS = {">=": operator.ge, ">": operator.gt, "<=": operator.le, "<": operator.lt, "==": operator.eq}


@dataclass(frozen=True)
class Claim:
    """One statement. Of several matching rows, the one that is furthest from the target counts."""

    name: str
    target: str  # an operator and a number
    row: Row
    # Of a ratio, gain is 1 - ratio and gap is ratio - 1. Of two rows, share is value / beside, times is beside / value,
    # and excess is value / beside - 1.
    form: Literal["value", "gain", "gap", "share", "times", "excess"] = "value"
    beside: Row | None = None
    question: str = ""  # as a page asks it
    write: str = "percent"  # how its numbers are printed: a name of `numbers.WRITERS`
    paper: str = ""  # the paper's number
    front: str = ""  # the page on whose card of the front page it stands

    def as_question(self, question: str, write: str = "percent", paper: str = "", front: str = "") -> Claim:
        """The claim with what a page says of it."""
        return replace(self, question=question, write=write, paper=paper, front=front)


def row_of(experiment: str, **columns: str) -> Row:
    """Key of a row over all seeds: a value over all blocks or graphs, where `columns` say nothing else."""
    fixed = {"seed": "all", "comparison": "value", "baseline": "none", "judge": "none", "lengths": "all"}
    return {"experiment": experiment, **fixed, **columns}


def declared() -> list[Claim]:
    """Every claim: those of the chapters, and what the laboratory promises of its own numbers and of its command."""
    of_chapters = [claim for module in chapters.modules("claims") for claim in module.claims()]
    return [*of_chapters, *_promises()]


def _promises() -> Iterator[Claim]:
    for product, minutes in (("first_picture", 10), ("own_program", 12), ("own_model", 12)):
        row = row_of("newcomer", method="readme", target="this_machine", metric=f"minutes_to_{product}")
        yield Claim(f"newcomer_minutes_to_{product}", f"<= {minutes}", row)
    for task, minutes in (("own_project", 12), ("changed_setting", 20)):
        row = row_of("newcomer_trials", method=task, target="this_machine", metric=f"minutes_to_{task}")
        yield Claim(f"newcomer_minutes_to_{task}", f"<= {minutes}", row)
    lines = row_of("newcomer_trials", method="readme", target="this_machine", metric="readme_lines")
    yield Claim("readme_lines", "<= 120", lines)
    yield Claim("experiments_changed_since", "<= 3", row_of("published", metric=CHANGED))
    yield Claim("dvc_metrics_for_people", "<= 40", row_of("published", metric=FOR_PEOPLE))
    yield Claim("mlflow_runs_with_equal_parameters", "== 0", row_of("published", metric=ALIKE))
    for name, method, metric, target in (
        ("light_install_seconds", "pip", "install_seconds", "<= 60"),
        ("light_install_megabytes", "pip", "install_megabytes", "<= 400"),
        ("help_seconds", "help", "start_up_seconds", "<= 0.25"),
        ("order_start_up_seconds", "order", "start_up_seconds", "<= 0.8"),
    ):
        yield Claim(name, target, row_of("start_up", method=method, target="this_machine", metric=metric))


def table(
    results: pd.DataFrame,
    claims: Iterable[Claim],
    states: Mapping[str, str] = MappingProxyType({}),
    frozen: Mapping[str, Collection[str]] = MappingProxyType({}),
) -> pd.DataFrame:
    """Table `claims`: every claim with the answer of `results` (all experiments, fresh and published).

    `states`: experiment -> the state of its numbers; without one they were made now. `frozen`: experiment -> methods
    whose code is gone.
    """
    measured = results[results["value"].notna()]
    by_metric = dict(list(measured.groupby(["experiment", "metric"])))
    rows = [_answered(claim, by_metric) for claim in claims]
    for row in rows:
        experiment, *columns = str(row["source"]).split()
        state = states.get(experiment, "current")
        if any(f"{place}={name}" in columns for name in frozen.get(experiment, ()) for place in ("method", "baseline")):
            state = "frozen"
        row["state"] = "-" if row["holds"] == "not measured" else state
    return pd.DataFrame(rows, columns=CLAIMS.schema.names)


def holds(target: str, value: float, low: float, high: float) -> Holds:
    """Whether a value reaches its target; if it has an interval, the interval alone decides."""
    if math.isnan(value):
        return "not measured"
    if math.isnan(low) or math.isnan(high) or target.startswith("=="):  # a count has no interval
        return "yes" if reaches(target, value) else "no"
    answers = {reaches(target, end) for end in (low, high)}
    return "uncertain" if len(answers) == 2 else "yes" if answers == {True} else "no"


def reaches(target: str, value: float) -> bool:
    """Whether a value satisfies the target."""
    sign, number = parsed(target)
    return bool(_OPERATORS[sign](value, number))


def parsed(target: str) -> tuple[str, float]:
    """Operator and number of a target."""
    match = re.fullmatch(r"(>=|>|<=|<|==) (\S+)", target)
    if match is None:
        raise ValueError(f"target {target!r}: expected an operator and a number, such as `>= 0.2`")
    return match[1], float(match[2])


ByMetric = Mapping[Any, pd.DataFrame]  # experiment, metric -> rows of results


def _answered(claim: Claim, by_metric: ByMetric) -> dict[str, object]:
    sign, number = parsed(claim.target)
    beside = _beside(claim, by_metric)
    rows = _matching(by_metric, claim.row) if beside is not None else []
    rows = sorted(rows, key=lambda row: -row["n"])  # of equal values, the row with the largest n comes first
    formed = [(_formed(claim.form, _measured(row), beside or _ONES), row) for row in rows]
    formed = formed or [((math.nan, math.nan, math.nan), {**claim.row})]

    def reached(answer: tuple[Measured, dict[Any, Any]]) -> float:
        value = answer[0][0]
        return {">": value, "<": -value}.get(sign[0], -abs(value - number))

    (value, low, high), row = min(formed, key=reached)
    source = source_of(row) + (f" beside {source_of(claim.beside)}" if claim.beside is not None else "")
    answer = "out of reach" if _impossible(claim, row, by_metric) else holds(claim.target, value, low, high)
    numbers = {"value": value, "low": low, "high": high, "holds": answer}
    return {"claim": claim.name, "target": claim.target, **numbers, "source": source}


def _impossible(claim: Claim, row: Mapping[Any, Any], by_metric: ByMetric) -> bool:
    """Whether no share could differ from the baseline's share by as much as the claim wants."""
    if claim.form != "value" or row.get("comparison") != "difference" or row.get("unit") != "share":
        return False
    of_baseline = {"method": row["baseline"], "comparison": "value", "baseline": "none"}
    levels = _matching(by_metric, {name: row[name] for name in ("experiment", "seed", *_NAMED)} | of_baseline)
    sign, number = parsed(claim.target)
    return any(not 0 <= level["value"] + number <= 1 and sign[0] in "<>" for level in levels)


_NAMED = ("set", "dependencies", "target", "method", "decoder", "metric", "comparison", "baseline", "judge", "lengths")


def source_of(row: Mapping[Any, str]) -> str:
    """A row's experiment, and the columns that name it, without defaults: `quick results set=test_5 method=gcc ...`."""
    columns = {name: row[name] for name in _NAMED if row.get(name, "none") not in ("none", "all", "value")}
    return f"{row['experiment']} results " + " ".join(f"{name}={value}" for name, value in columns.items())


def _matching(by_metric: ByMetric, row: Row) -> list[dict[Any, Any]]:
    rows = by_metric.get((row["experiment"], row["metric"]))
    if rows is None:
        return []
    for name, value in row.items():
        rows = rows[rows[name] == value]
    return rows.to_dict("records")


Measured = tuple[float, float, float]  # value, low, high
_ONES: Measured = (1.0, 1.0, 1.0)


def _measured(row: Mapping[Any, Any]) -> Measured:
    return row["value"], row["low"], row["high"]


def _beside(claim: Claim, by_metric: ByMetric) -> Measured | None:
    """The row `beside` of a claim, or ones if it names none; None if it is missing or not unique."""
    if claim.beside is None:
        return _ONES
    rows = _matching(by_metric, claim.beside)
    return _measured(rows[0]) if len(rows) == 1 else None


def _formed(form: str, measured: Measured, beside: Measured) -> Measured:
    """A claim's value and interval. Two rows are not paired, so their interval is the widest possible one.

    Of a share, a difference with an interval of its own over a level, the level counts as known.
    """
    value, low, high = measured
    match form:
        case "gain":
            return 1 - value, 1 - high, 1 - low
        case "gap":
            return value - 1, low - 1, high - 1
        case "share":
            return value / beside[0], low / beside[0], high / beside[0]
        case "times":
            return beside[0] / value, beside[1] / high, beside[2] / low
        case "excess":
            return value / beside[0] - 1, low / beside[2] - 1, high / beside[1] - 1
        case _:
            return measured
