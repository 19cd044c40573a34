"""What comes of a file of an instance: it is read, or refused with file, place and remedy, or something is wrong.

A file is read by the function that the console command calls for it. What it has read must be a problem: a simple
schedule of it is judged, and takes no less than the lower bound.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from learned_schedulers.graphs.devices.evaluation import evaluated
from learned_schedulers.graphs.methods.rules.listing import by_critical_path
from learned_schedulers.graphs.plans.sources import on_devices, read_file
from learned_schedulers.graphs.problems.problem import Problem
from learned_schedulers.projects import methods
from learned_schedulers.projects.method_settings import project_entry
from learned_schedulers.projects.problem import Project
from learned_schedulers.projects.read.best_known import BestKnown, read_best_known
from learned_schedulers.projects.read.reading import read_project

READ, WITH_LINE, WITH_NAME, AS_A_WHOLE, WRONG = "read", "refused_with_line", "refused_with_name", "refused", "wrong"
OUTCOMES = (READ, WITH_LINE, WITH_NAME, AS_A_WHOLE, WRONG)
FORMS = ("psplib", "job_shop", "best_known", "stg", "wfcommons", "saga", "workload")

_LINE = re.compile(r"\bline \d+\b")
_WHOLE = (  # reasons that have no place in the file
    *("the file is empty", "this is neither", "the file has no numbers", "no line has", "there is no line such as"),
    *("the part ", "brackets are nested too deeply", "(whole file): "),
)
_NAME = re.compile(r"^: (\w+\.[\w.]+|\w+(?=:)|maxFPGAs) ?|\b(operation|task|node|edge|id|name) \S|' -> '")


class Outcome(NamedTuple):
    """What came of a file: one of OUTCOMES, and the message."""

    kind: str
    message: str = ""


class Read(NamedTuple):
    """What a file has, and its judge, which raises an error for what is no problem."""

    form: str
    judge: Callable[[], None]


def outcome(path: Path) -> Outcome:
    """Of one file. It raises nothing: every error that is not a refusal is wrong."""
    try:
        read = read_instance(path)
    except ValueError as error:
        return refusal(path, str(error))
    except Exception as error:
        return Outcome(WRONG, f"{type(error).__name__}: {error}")
    try:
        read.judge()
    except Exception as error:
        return Outcome(WRONG, f"read, but no problem: {type(error).__name__}: {error}")
    return Outcome(READ)


def refusal(path: Path, message: str) -> Outcome:
    """A message with file, place and remedy in one line that a terminal can show; otherwise it is wrong."""
    reason = message.removeprefix(f"{path}")
    if reason == message or "; " not in reason or not message.isprintable():
        return Outcome(WRONG, f"the message lacks file or remedy, or is not a printable line: {message!r}")
    if _LINE.search(reason):
        return Outcome(WITH_LINE, message)
    if reason.removeprefix(": ").startswith(_WHOLE):
        return Outcome(AS_A_WHOLE, message)
    if _NAME.search(reason):
        return Outcome(WITH_NAME, message)
    return Outcome(WRONG, f"the message has no place: {message}")


def read_instance(path: Path) -> Read:
    """An instance, or a table of the best values known, as the console command reads it. Raises as the readers do."""
    if path.suffix == ".csv":
        values = read_best_known(path)
        return Read("best_known", lambda: _judge_values(values))
    if path.suffix not in (".json", ".stg"):
        project = read_project(path)
        return Read("psplib" if project.job_shop is None else "job_shop", lambda: _judge_project(project))
    source = read_file(path, {})
    problem = on_devices(source)
    return Read(source.graph.family if source.graph.family in FORMS else "workload", lambda: _judge_graph(problem))


def _judge_values(values: dict[str, BestKnown]) -> None:
    for name, value in values.items():
        assert 0 <= (value.lower or 0) <= value.upper, name


def _judge_project(project: Project) -> None:
    """The judge refuses a schedule of what is no project."""
    schedules = methods.make(project_entry("priority_rules")).schedule(
        project, np.random.default_rng(0), methods.Budget()
    )
    makespan = methods.best(project, schedules).makespan
    assert makespan >= project.bound, f"{makespan} is below the bound {project.bound}"


def _judge_graph(problem: Problem) -> None:
    order, placement = by_critical_path(problem)
    schedule = evaluated(problem, order[None], placement[None])
    seconds = float(schedule.seconds[0])
    assert sorted(order.tolist()) == list(range(len(problem))), "an operation is missing"
    assert np.isfinite(problem.seconds).all() and (problem.seconds >= 0).all() and (problem.sizes >= 0).all()
    assert np.isfinite(seconds) and seconds >= problem.bound * (1 - 1e-9), f"{seconds} is below {problem.bound}"
