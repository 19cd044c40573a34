"""The time in which a policy draws 1,000 schedules of a graph, on two cores: `python -m benchmarks.sampling_speed`.

Graphs: a layered and an Erdos-Renyi one, drawn in the same way as those of the frozen sets `unseen_synthetic` and
`unseen_large`, of 50 and 1,000 operations each, on four devices. Timed: `propose` of the method, as its stage calls it:
the graph is read, schedules are drawn, and each is simulated. The policy is not trained, or the one of `--weights`; the
amount of work is the same. Rounds take turns. Everything is compiled by one small run before, whose seconds, with
nothing compiled yet, are published separately (a new process, with an empty cache).

It publishes seconds_per_1000_schedules, median, least and most of the rounds, and compile_seconds.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import numba
import numpy as np
import torch
import typer
from tqdm import tqdm

from benchmarks.publishing import PUBLISHED, publish
from pipeline.analysis.rows import Quantity, Row, results, row
from pipeline.config import params
from pipeline.config.graph_methods import graph_entry
from pipeline.graphs.corpus import synthetic
from pipeline.graphs.corpus.roofline import problem_of
from pipeline.graphs.models import policy
from pipeline.graphs.problems.problem import Problem
from pipeline.graphs.schedulers import Budget, Method, make

FAMILIES, SIZES, DEVICES = ("layered", "erdos_renyi"), (50, 1000), 4
SCHEDULES, CORES = 1000, 2
_COMPILE = "from benchmarks.sampling_speed import first_run; print(first_run())"
Place = tuple[str, int]  # family and operations


def untrained(folder: Path) -> Path:
    """The file of a policy of the experiment `gflownet`, before its training."""
    torch.manual_seed(0)
    weights = folder / "policy.safetensors"
    policy.save(policy.make(params.load().on_graphs["gflownet"].models["gflownet"]), weights)
    return weights


def problems(seed: int) -> dict[Place, Problem]:
    """The graphs whose schedules are drawn."""
    return {
        (family, n): problem_of(synthetic.draw(family, n, np.random.default_rng(seed)), DEVICES)
        for n in SIZES
        for family in FAMILIES
    }


def seconds(method: Method, problem: Problem, schedules: int, seed: int) -> float:
    """Wall time of drawing that many schedules of a graph. Raises ValueError if the method proposes fewer."""
    began = time.perf_counter()
    proposals = method.propose(problem, np.random.default_rng(seed), replace(Budget(), proposals=schedules))
    duration = time.perf_counter() - began
    if len(proposals.orders) != schedules:
        raise ValueError(f"{len(proposals.orders)} of {schedules} schedules: {proposals.message}")
    return duration


def first_run() -> float:
    """Seconds of two schedules of a small graph in a new process."""
    with TemporaryDirectory() as folder:
        method = make(graph_entry("gflownet"), {"weights": untrained(Path(folder))})
        return seconds(method, problems(0)[FAMILIES[0], SIZES[0]], 2, 0)


def compile_seconds() -> float:
    """Seconds of the first run where nothing has been compiled."""
    with TemporaryDirectory() as cache:
        command = (sys.executable, "-c", _COMPILE)
        child = subprocess.run(command, check=True, capture_output=True, env={**os.environ, "NUMBA_CACHE_DIR": cache})
    return float(child.stdout)


def measured(method: Method, rounds: int, seed: int, schedules: int = SCHEDULES) -> dict[Place, np.ndarray]:
    """Seconds of each round for 1,000 schedules, (rounds,), by graph."""
    graphs, durations = problems(seed), defaultdict(list)
    for problem in graphs.values():
        seconds(method, problem, 2, seed)
    for number in tqdm(range(rounds), desc="rounds"):
        for place, problem in graphs.items():
            durations[place].append(seconds(method, problem, schedules, seed + number) * SCHEDULES / schedules)
    return {place: np.array(of_graph) for place, of_graph in durations.items()}


def rows_of(experiment: str, durations: dict[Place, np.ndarray], compiling: float) -> list[Row]:
    """Rows of each graph: the median round with the fastest and the slowest."""
    place = {"experiment": experiment, "target": "proxy", "method": "gflownet", "seed": "all"}
    rows = []
    for (family, n), of_graph in durations.items():
        quantity = Quantity("seconds_per_1000_schedules", lengths=str(n), unit="seconds")
        numbers = (float(np.median(of_graph)), of_graph.min(), of_graph.max(), len(of_graph))
        rows.append(row(place | {"set": family}, quantity, *numbers, over="rounds"))
    return [*rows, row(place | {"set": "all"}, Quantity("compile_seconds", unit="seconds"), compiling, n=1)]


def main(
    output: Annotated[Path, typer.Option(help="Folder to publish in.")] = PUBLISHED / "sampling_speed",
    weights: Annotated[Path | None, typer.Option(help="Of a trained policy; otherwise it is untrained.")] = None,
    rounds: Annotated[int, typer.Option(help="Times that each graph is timed.")] = 5,
    seed: Annotated[int, typer.Option(help="Of the graphs and the schedules.")] = 0,
) -> None:
    """Time the method on every graph, and publish."""
    compiling = compile_seconds()
    numba.set_num_threads(min(CORES, numba.config.NUMBA_NUM_THREADS))
    with TemporaryDirectory() as folder:
        weights_file = weights or untrained(Path(folder))
        durations = measured(make(graph_entry("gflownet"), {"weights": weights_file}), rounds, seed)
    table = results(rows_of(output.name, durations, compiling))
    print(table[["set", "lengths", "metric", "value", "low", "high"]].to_string(index=False))
    options = {"schedules": SCHEDULES, "cores": CORES, "rounds": rounds, "seed": seed, "trained": weights is not None}
    modules = ["benchmarks.sampling_speed", "pipeline.graphs.schedulers.gflownet"]
    publish(output, {"results": table}, options, modules, weights=[] if weights is None else [weights])


if __name__ == "__main__":
    typer.run(main)
