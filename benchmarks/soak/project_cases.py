"""Cases of projects and job-shops, and of schedules that were computed elsewhere, sound and damaged."""

from __future__ import annotations

import csv
import json
import re
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.mutated_instances import mutations
from benchmarks.soak import judges
from benchmarks.soak.calling import Difference, Tools, refusal
from benchmarks.soak.code_cases import same
from learned_schedulers.bench.elsewhere import graphs_of, write_instances
from learned_schedulers.bench.instances import instances
from learned_schedulers.graphs.methods.rules.listing import by_critical_path
from learned_schedulers.projects.read.reading import read_project
from pipeline.lab.trial import drawn_projects

_SET, _TARGET = "development_real", "bandwidth"
_SHOWN = re.compile(r"^> .* (\d+) of (\d+) ", re.MULTILINE)


def project(rng: np.random.Generator, folder: Path, tools: Tools) -> None:
    """A project or a job-shop, damaged or not: refused, or the starts are a schedule that takes the makespan told."""
    is_shop = rng.random() < 0.5
    path, out, again = folder / f"drawn{'.txt' if is_shop else '.sm'}", folder / "starts.csv", folder / "again.csv"
    size, width = int(rng.integers(1, 25)), int(rng.integers(1, 6))
    if is_shop:
        text = drawn_projects.job_shop_text(drawn_projects.job_shop(rng, size, width, int(rng.integers(1, 60))))
    else:
        numbering = bool(rng.random() < 0.8)
        text = drawn_projects.psplib_text(
            drawn_projects.project(rng, size + 1, width, int(rng.integers(1, 20)), numbering)
        )
    path.write_text(text)
    if rng.random() < 0.5:
        path.write_bytes(mutations.mutated(path.read_bytes(), rng))
    by = str(
        rng.choice(["rule", "rule", "randomised", "cp_sat", "policy"] if is_shop else ["rule", "randomised", "cp_sat"])
    )
    words = ["project", path, "--by", by, "--seed", int(rng.integers(1000)), "--seconds", 0.5, "--schedules", 30]
    ended = tools.call(*words, "-o", out)
    if ended.code:
        raise refusal(path, ended)
    printed, bound = map(int, ended.out.splitlines()[-1].split()[3:5])
    with out.open(newline="") as file:
        starts = np.array([int(row["start"]) for row in csv.DictReader(file)], np.int64)
    makespan = judges.check_starts(read_project(path), starts)
    if makespan != printed or makespan < bound:
        raise Difference(f"the makespan is {makespan}, told as {printed}, with a bound of {bound}")
    if rng.random() < 0.3:
        tools.answered(path, *words, "-o", again, output=again, real=True, threads=2)
        same(out, again)


@cache
def frozen() -> dict[str, tuple[dict[str, Any], dict[str, Any]]]:
    """By hash, the instances of a set as JSON, as users get them, and a legal schedule of each."""
    graphs = graphs_of(_SET, instances(_SET))
    with tempfile.TemporaryDirectory() as name:
        write_instances(graphs, _TARGET, Path(name))
        contents = {path.stem: json.loads(path.read_text()) for path in sorted(Path(name).iterdir())}
    answers = {}
    for graph in graphs:
        order, placement = by_critical_path(graph.problem)
        answers[graph.graph_id] = {"order": order.tolist(), "placement": placement.tolist()}
    return {graph_id: (content, answers[graph_id]) for graph_id, content in contents.items()}


def schedules(rng: np.random.Generator, folder: Path, tools: Tools) -> None:
    """`compare` judges a file of schedules; some are illegal, or the file is damaged: just the legal ones count."""
    path, cases = folder / "schedules.json", frozen()
    listed = {}
    for graph_id, (_, schedule) in cases.items():
        order, placement = list(schedule["order"]), list(schedule["placement"])
        chance = rng.random()
        if chance < 0.2 and len(order) > 1:
            a, b = rng.integers(0, len(order), 2).tolist()
            order[a], order[b] = order[b], order[a]
        elif chance < 0.3:
            placement[int(rng.integers(len(order)))] = int(rng.integers(0, 12))
        elif chance < 0.35:
            continue
        listed[graph_id] = [{"order": order, "placement": placement}]
    path.write_text(json.dumps({"name": "drawn", "schedules": listed}))
    if rng.random() < 0.5:
        path.write_bytes(mutations.mutated(path.read_bytes(), rng))
    words = ["compare", "--set", _SET, "--target", _TARGET, "--schedules", path, "--seeds", 1]
    ended = tools.call(*words)
    if ended.code:
        raise refusal(path, ended)
    content = json.loads(path.read_bytes())["schedules"]
    legal = sum(_are_legal(content.get(graph_id), instance) for graph_id, (instance, _) in cases.items())
    shown = _SHOWN.search(ended.out)
    if shown is None or (int(shown[1]), int(shown[2])) != (legal, len(cases)):
        raise Difference(f"{legal} of {len(cases)} graphs have legal schedules alone: {ended.out[-1500:]}")


def _are_legal(answers: Any, instance: dict[str, Any]) -> bool:
    """Whether all schedules of a graph are legal."""
    try:
        return bool(answers) and all(judges.is_schedule(answer, instance) for answer in answers)
    except (TypeError, KeyError, ValueError):
        return False


KINDS = {case.__name__: case for case in (project, schedules)}
