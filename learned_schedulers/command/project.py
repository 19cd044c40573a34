"""The verb `project`: schedules of projects and job-shops in the published forms, beside the best makespans known."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
import typer
from tqdm import tqdm

from learned_schedulers.command.kernels import announce
from learned_schedulers.command.settings import settings_of
from learned_schedulers.files import content, replacing
from learned_schedulers.method_settings import class_of, entry
from learned_schedulers.projects import judge, methods
from learned_schedulers.projects.methods import Schedules
from learned_schedulers.projects.models import SHIPPED
from learned_schedulers.projects.problem import Project
from learned_schedulers.projects.read.best_known import BestKnown, read_best_known
from learned_schedulers.projects.read.reading import read_project

By = Literal["rule", "randomised", "cp_sat", "policy", "tabu"]
_METHODS: dict[By, str] = {
    "rule": "priority_rules",
    "randomised": "randomised_rules",
    "cp_sat": "cp_sat",
    "policy": "job_shop_policy",
    "tabu": "tabu_search",
}  # files of projects/methods
_LARGEST = 2**28  # bytes of a file of starts
_LATEST = 2**62  # start of an activity
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
        typer.Argument(
            metavar="FILE...", help="PSPLIB's projects (.sm), Patterson's (.rcp), and job-shops in the standard text."
        ),
    ],
    by: Annotated[
        By,
        typer.Option(
            help="rule: the best of four priority rules by two schemes; randomised: the best rule with noise on its "
            "priorities; cp_sat: OR-Tools' solver, which also proves; policy: a trained network, of job-shops alone; "
            "tabu: tabu search, of job-shops alone."
        ),
    ] = "rule",
    method: Annotated[
        str | None,
        typer.Option(
            metavar="PACKAGE:CLASS",
            help="Your method instead, whose code is RUN, in a process of its own without the network; imports search "
            "the current folder, too. docs/own_method.md",
        ),
    ] = None,
    setting: Annotated[
        list[str] | None, typer.Option(help='Setting of your method, like width=2 or kind="wide". Repeatable.')
    ] = None,
    best_known: Annotated[
        Path | None,
        typer.Option(
            "--known",
            help="CSV file with the best makespans known: columns instance and best_known (43, 82..87 or ..83), or "
            "instance, lower_bound and upper_bound.",
        ),
    ] = None,
    seconds: Annotated[
        float,
        typer.Option(
            min=0.001,
            help="For each file, of tabu; of cp_sat: its deterministic time, 5 to 10 of the clock; of your method: "
            "budget.seconds.",
        ),
    ] = 10.0,
    schedules: Annotated[
        int, typer.Option(min=1, max=1_000_000, help="Number of schedules of randomised, policy, and your method.")
    ] = 512,
    seed: Annotated[
        int, typer.Option(min=0, help="Seed of all random draws; the same seed gives the same schedules.")
    ] = 0,
    starts: Annotated[
        Path | None,
        typer.Option(
            help="Instead of a method: CSV file of starts that were computed elsewhere, in the form of --out; they are "
            "judged."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", help="CSV file to write: when each activity of each file starts."),
    ] = None,
) -> None:
    """Schedule projects and job-shops of others, and compare with the best makespans known.

    A project has activities that need resources and precede each other (the RCPSP); a job-shop is a project of chains
    on machines. A line of the table is a file: its makespan, judged apart from the method; a lower bound, of cp_sat its
    proven one; and how far the makespan is above the best one known, at the end in the mean of all files. The form of a
    file is recognised by its content: docs/instances.md. Nothing of a file is run.

    A file that cannot be read, or has no schedule, is named with the reason, its line ends in "failed", and the others
    go on; the exit code is then 1, as it is if a makespan is below a bound that --known calls proven.

    Example, in an empty folder: two jobs of two operations, each a machine and a time:

    \b
    printf '2 2\\n0 3 1 2\\n1 2 0 4\\n' > jobs.txt
    learned-schedulers project jobs.txt

    Other calls:

    \b
    learned-schedulers project j301_1.sm
    learned-schedulers project taillard/*.txt --by randomised --known taillard/best_known.csv
    learned-schedulers project j60/*.sm --by cp_sat --seconds 5 --known j60/best_known.csv -o starts.csv
    learned-schedulers project j60/*.sm --known j60/best_known.csv --starts mine.csv
    learned-schedulers project j60/*.sm --known j60/best_known.csv --method mypackage:Method --setting width=2
    """
    if setting and method is None:
        raise ValueError("--setting: only your --method has settings here; leave it out")
    if out is not None and any(out.resolve() == path.resolve() for path in (*files, best_known) if path is not None):
        raise ValueError(f"--out {out}: the starts would take the place of an instance; name another file")
    values = {} if best_known is None else read_best_known(best_known)
    announce()
    width = max(len("instance"), *(len(path.name) for path in files))
    print(f"{'instance':{width}}" + "".join(f"  {name:>10}" for name in _COLUMNS) + "  status", flush=True)
    answers: list[_Answer] = []
    faults = 0
    budget, keys = methods.Budget(schedules, seconds), settings_of(setting or [])
    with _source(by, method, keys, starts, budget, seed) as schedules_of:
        for path in tqdm(files, unit="file", leave=False, disable=None):
            try:
                project = read_project(path)
                if project.job_shop is None and (jobs := _jobs(project)):
                    tqdm.write(f"{path}: {jobs} jobs have {len(project)} steps, not all of them as many as machines")
                answer, value = _answer(path, project, schedules_of(path, project)), _best_known_of(values, path)
                tqdm.write(_line(answer, value, width))
                sys.stdout.flush()
                answers.append(answer)
                if value is not None and value.lower is not None and answer.makespan < value.lower:
                    raise ValueError(
                        f"{path}: {answer.makespan} is below {value.lower}, which {best_known} calls proven"
                    )
            except ValueError as error:
                faults += 1
                tqdm.write(f"error: {error}", file=sys.stderr)
                if not answers or answers[-1].path != path:
                    tqdm.write(f"{path.name:{width}}" + f"  {'-':>10}" * len(_COLUMNS) + "  failed")
    gaps = [value.gap(each.makespan) for each in answers if (value := _best_known_of(values, each.path)) is not None]
    if gaps:
        failed = len(files) - len(answers)
        print(f"mean gap of {len(gaps)} files: {np.mean(gaps):.1%}" + f"; {failed} others failed" * bool(failed))
    if out is not None:
        _write(out, answers)
    if faults:
        raise typer.Exit(1)


@contextmanager
def _source(
    by: By, method: str | None, keys: dict[str, Any], starts: Path | None, budget: methods.Budget, seed: int
) -> Iterator[Callable[[Path, Project], Schedules]]:
    """What gives the schedules of a file: a file of starts, a user's method, or one of ours."""
    if starts is not None:
        by_file = _read_starts(starts)
        yield lambda path, project: _elsewhere(path, project, by_file)
        return
    if method is not None:
        from learned_schedulers.bench.apart import Allowance, Apart
        from learned_schedulers.bench.tasks import Fault, ProjectTask

        with Apart(method, keys, Allowance()) as process:
            if process.introduction.kind != "project":
                raise ValueError(f"--method {method}: it is for graphs, which `learned-schedulers compare` takes")

            def of_theirs(path: Path, project: Project) -> Schedules:
                try:
                    return process.prepared(ProjectTask(project, np.random.default_rng(seed), budget))()
                except Fault as fault:
                    raise ValueError(f"{path}: {fault}") from fault

            yield of_theirs
        return
    knows = class_of("project", _METHODS[by]).model_fields
    limits = {name: value for name, value in asdict(budget).items() if name in knows}
    settings = entry("project", _METHODS[by], **limits)
    of_ours = methods.make(settings, {"weights": SHIPPED})
    yield lambda path, project: of_ours.schedule(project, np.random.default_rng(seed), methods.Budget.of(settings))


def _best_known_of(values: Mapping[str, BestKnown], path: Path) -> BestKnown | None:
    return values.get(path.name) or values.get(path.stem)


def _jobs(project: Project) -> int:
    """How many chains on machines a project consists of; 0 if it does not."""
    chained = (np.bincount(project.targets, minlength=1) <= 1).all() and (np.diff(project.offsets) <= 1).all()
    machines = (project.capacities == 1).all() and (project.demands.sum(1) == 1).all()
    return len(project) - len(project.targets) if chained and machines else 0


def _read_starts(path: Path) -> dict[str, dict[int, int]]:
    """Of each instance: the start of each activity by its number. Raises ValueError that names file and line."""
    rows = csv.DictReader(io.StringIO(content(path, _LARGEST).decode("utf-8-sig", "replace"), newline=""))
    if not {"instance", "number", "start"} <= {*(rows.fieldnames or ())}:
        raise ValueError(f"{path}: the columns are {rows.fieldnames}; give instance, number and start, as --out does")
    starts: dict[str, dict[int, int]] = {}
    try:
        for row in rows:
            number, start = int(row["number"] or ""), int(row["start"] or "")
            if abs(start) > _LATEST or starts.setdefault(row["instance"], {}).setdefault(number, start) != start:
                raise ValueError(f"activity {number} starts at {start}, and at another time above, or too late")
    except (ValueError, csv.Error) as error:
        raise ValueError(f"{path}, line {rows.line_num}: {error}; give each activity one start") from error
    return starts


def _elsewhere(path: Path, project: Project, by_file: Mapping[str, Mapping[int, int]]) -> Schedules:
    """The schedule of a file that was computed elsewhere. Raises ValueError if activities have no start."""
    starts = by_file.get(path.name) or by_file.get(path.stem)
    if starts is None:
        raise ValueError(f"{path}: there are no starts of an instance {path.name}, but of {', '.join(by_file)[:200]}")
    if sorted(starts) != list(range(len(project))):
        raise ValueError(f"{path}: {len(starts)} starts of {len(project)} activities; give each one, from 0 on")
    return Schedules(np.array([[starts[number] for number in range(len(project))]], np.int64))


def _answer(path: Path, project: Project, schedules: Schedules) -> _Answer:
    """The best schedule of a file, judged. Raises ValueError if there is none."""
    if schedules.status == methods.UNSUPPORTED:
        raise ValueError(f"{path}: {schedules.message}; choose another method with --by")
    try:
        starts, makespan = methods.best(project, schedules)
    except judge.Violation as error:
        raise ValueError(f"{path}: this is no schedule: {error}") from error
    bound = max(project.bound, schedules.bound)
    return _Answer(path, project, starts, makespan, bound, "optimal" if makespan == bound else "not proven")


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
