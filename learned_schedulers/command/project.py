"""The verb `project`: schedules of projects and job-shops in the published forms, beside the best makespans known."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import numpy as np
import typer
from tqdm import tqdm

from learned_schedulers.command.kernels import announce
from learned_schedulers.files import replacing
from learned_schedulers.method_settings import entry
from learned_schedulers.projects import methods
from learned_schedulers.projects.models import SHIPPED
from learned_schedulers.projects.problem import Project
from learned_schedulers.projects.read.best_known import BestKnown, read_best_known
from learned_schedulers.projects.read.reading import read_project

By = Literal["rule", "randomised", "cp_sat", "policy"]
_METHODS: dict[By, str] = {
    "rule": "priority_rules",
    "randomised": "randomised_rules",
    "cp_sat": "cp_sat",
    "policy": "job_shop_policy",
}  # files of projects/methods
_COLUMNS = ("activities", "resources", "makespan", "bound", "known", "gap")


class _Answer(NamedTuple):
    """What became of a file."""

    path: Path
    project: Project
    starts: np.ndarray  # (n,) int64
    makespan: int
    bound: int
    status: str


def main(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE...", help="PSPLIB's projects (.sm), and job-shops in the standard text."),
    ],
    by: Annotated[
        By,
        typer.Option(
            help="rule: the best of four priority rules by two schemes; randomised: the best rule with noise on its "
            "priorities; cp_sat: OR-Tools' solver, which also proves; policy: a trained network, of job-shops alone."
        ),
    ] = "rule",
    best_known: Annotated[
        Path | None,
        typer.Option(
            "--known",
            help="CSV file with the best makespans known: columns instance and best_known (43, 82..87 or ..83), or "
            "instance, lower_bound and upper_bound.",
        ),
    ] = None,
    seconds: Annotated[
        float, typer.Option(min=0.001, help="Of cp_sat: its deterministic time for each file; 5 to 10 of the clock.")
    ] = 10.0,
    schedules: Annotated[
        int, typer.Option(min=1, max=1_000_000, help="Number of schedules that randomised and policy draw.")
    ] = 512,
    seed: Annotated[
        int, typer.Option(min=0, help="Seed of all random draws; the same seed gives the same schedules.")
    ] = 0,
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", help="CSV file to write: when each activity of each file starts."),
    ] = None,
) -> None:
    """Schedule projects and job-shops of others, and compare with the best makespans known.

    A project has activities that need resources and precede each other (the RCPSP); a job-shop is a project of chains
    on machines. A line of the table is a file: its makespan, judged apart from the method; a lower bound, of cp_sat its
    proven one; and how far the makespan is above the best one known. The form of a file is recognised by its content:
    docs/instances.md. Nothing of a file is run.

    A file that cannot be read is named with the line and the reason, and the others go on; the exit code is then 1, as
    it is if a makespan is below a bound that --known calls proven.

    Example, in an empty folder: two jobs of two operations, each a machine and a time:

    \b
    printf '2 2\\n0 3 1 2\\n1 2 0 4\\n' > jobs.txt
    learned-schedulers project jobs.txt

    Other calls:

    \b
    learned-schedulers project j301_1.sm
    learned-schedulers project taillard/*.txt --by randomised --known taillard/best_known.csv
    learned-schedulers project j60/*.sm --by cp_sat --seconds 5 --known j60/best_known.csv -o starts.csv
    """
    if out is not None and any(out.resolve() == path.resolve() for path in (*files, best_known) if path is not None):
        raise ValueError(f"--out {out}: the starts would take the place of an instance; name another file")
    values = {} if best_known is None else read_best_known(best_known)
    limits: dict[By, dict[str, float]] = {
        "rule": {},
        "randomised": {"schedules": schedules},
        "cp_sat": {"seconds": seconds},
        "policy": {"schedules": schedules},
    }
    settings = entry("project", _METHODS[by], **limits[by])
    method = methods.make(settings, {"weights": SHIPPED})
    announce()
    width = max(len("instance"), *(len(path.name) for path in files))
    print(f"{'instance':{width}}" + "".join(f"  {name:>10}" for name in _COLUMNS) + "  status", flush=True)
    answers: list[_Answer] = []
    faults = 0
    for path in tqdm(files, unit="file", leave=False, disable=None):
        try:
            answer = _answer(path, method, methods.Budget.of(settings), seed)
            value = values.get(path.name) or values.get(path.stem)
            tqdm.write(_line(answer, value, width))
            sys.stdout.flush()
            answers.append(answer)
            if value is not None and value.lower is not None and answer.makespan < value.lower:
                raise ValueError(f"{path}: {answer.makespan} is below {value.lower}, which {best_known} calls proven")
        except ValueError as error:
            faults += 1
            tqdm.write(f"error: {error}", file=sys.stderr)
    if out is not None:
        _write(out, answers)
    if faults:
        raise typer.Exit(1)


def _answer(path: Path, method: methods.Method, budget: methods.Budget, seed: int) -> _Answer:
    """The best schedule of a file. Raises ValueError if it cannot be read, or the method does not support it."""
    project = read_project(path)
    schedules = method.schedule(project, np.random.default_rng(seed), budget)
    if schedules.status == methods.UNSUPPORTED:
        raise ValueError(f"{path}: {schedules.message}; choose another method with --by")
    starts, makespan = methods.best(project, schedules)
    bound = max(project.bound, schedules.bound)
    return _Answer(path, project, starts, makespan, bound, "optimal" if makespan == bound else schedules.status)


def _line(answer: _Answer, value: BestKnown | None, width: int) -> str:
    project = answer.project
    texts = [f"{number:>10}" for number in (len(project), len(project.capacities), answer.makespan, answer.bound)]
    texts += [f"{value or '-'!s:>10}", f"{'-':>10}" if value is None else f"{value.gap(answer.makespan):>10.1%}"]
    return "  ".join([f"{answer.path.name:{width}}", *texts, answer.status])


def _rows(answers: list[_Answer]) -> Iterator[tuple[str, int, str, int]]:
    for answer in answers:
        for activity, start in enumerate(answer.starts.tolist()):
            yield answer.path.name, activity, answer.project.name_of(activity), start


def _write(out: Path, answers: list[_Answer]) -> None:
    """A table with a line for each activity of each file, the activities in the order of the file."""
    with replacing(out, follow=True) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(("instance", "number", "activity", "start"))
        table.writerows(_rows(answers))
    print(f"{out}: the starts of {len(answers)} schedules", file=sys.stderr)
