"""Speeds of what computation graphs are scheduled with: `python -m benchmarks.speed SUBJECT`, minutes.

- `simulator`: random valid schedules of a graph that are simulated in a second, by its number of operations, and the
  exponent of the growth (slope of seconds per schedule over operations, both logarithms; edges grow with operations);
- `environment`: whole schedules of a layered graph, built by random allowed actions: a batch, or one at a
  time by gymnasium. A step adds one operation to one schedule;
- `sampling`: 1,000 schedules of a graph, drawn by a GFlowNet that is not trained (the work is the same) on two cores;
  and the first schedules in a new process, where nothing is compiled yet;
- `placing`: whole graphs of `placement_small`, placed by methods that learn from one graph;
- `decision`: one schedule on devices of little memory, by the number of operations: without a network (`go_start`), and
  with one pass through GO's (`go_round`).

All is warmed up by a round that does not count. Rounds take turns, so that a slow moment of the computer falls on all.
It publishes `<subject>_speed`: median of the rounds, with the least and the most.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Literal, NamedTuple, get_args

import numba
import numpy as np
import torch
import typer

from benchmarks.publishing import PUBLISHED, in_turns, of_rounds, publish
from learned_schedulers.graphs.devices import targets
from learned_schedulers.graphs.devices.completion import Completion
from learned_schedulers.graphs.devices.limits import limited
from learned_schedulers.graphs.devices.simulator import makespans
from learned_schedulers.graphs.environment.batched import Environment, Sequence
from learned_schedulers.graphs.environment.single import ScheduleEnv
from learned_schedulers.graphs.methods import Budget, make
from learned_schedulers.graphs.methods.go import Settings as GoSettings
from learned_schedulers.graphs.models import policy
from learned_schedulers.graphs.models.whole_graph.network import WholeGraph
from learned_schedulers.graphs.models.whole_graph.search import State, draw_round
from learned_schedulers.graphs.problems.problem import Edges, Problem, Transfers
from learned_schedulers.graphs.read import synthetic
from learned_schedulers.graphs.read.roofline import problem_of
from learned_schedulers.method_settings import entry
from pipeline.graph_sets.placed import chosen
from pipeline.lab.config import params
from pipeline.lab.rows import Quantity, Row, results, row

DEVICES = 4
PARENTS, NEAR = 3, 30  # of each operation of a simulated graph, drawn from so many before it
SCHEDULED = 2_000_000  # operations of all schedules that are simulated at once
FAMILIES = ("layered", "erdos_renyi")  # as those of the frozen sets `unseen_synthetic` and `unseen_large`
TRANSFERS = Transfers(slope=1e-6, delay=0.1)  # results are of up to a megabyte, run times of up to a second
_FIRST_RUN = "from benchmarks.speed import first_run; print(first_run())"


def near(n: int, rng: np.random.Generator) -> Problem:
    """A graph whose edges grow with its operations: each has a few parents among those shortly before it."""
    ends = np.repeat(np.arange(1, n), PARENTS)
    sources = ends - 1 - (rng.random(len(ends)) * np.minimum(ends, NEAR)).astype(int)
    sources, ends = np.unique(np.stack([sources, ends]), axis=1)
    offsets = np.r_[0, np.cumsum(np.bincount(sources, minlength=n))]
    edges = Edges(offsets.astype(np.int32), ends.astype(np.int32))
    return Problem(rng.random(n), rng.random(n), edges, DEVICES, Transfers(0.1, 0.1))


def simulator(rounds: int, sizes: tuple[int, ...] = (50, 200, 1000, 5000, 20_000, 80_000)) -> Iterator[Row]:
    """Schedules per second by operations, and the exponent of growth."""
    rng, place = np.random.default_rng(0), {"method": "simulator"}
    work: dict[int, Callable[[], object]] = {}
    counts = {n: max(1, SCHEDULED // n) for n in sizes}
    for n, count in counts.items():
        problem = near(n, rng)
        few = make(entry("graph", "random_valid")).propose(problem, rng, Budget(proposals=min(1000, count)))
        picked = np.arange(count) % len(few.orders)
        work[n] = partial(makespans, problem, few.orders[picked], few.placements[picked])
    speeds = {n: counts[n] / seconds for n, seconds in in_turns(work, rounds).items()}
    for n, of_size in speeds.items():
        yield of_rounds(place, Quantity("schedules_per_second", lengths=str(n), unit="schedules/s"), of_size)
    span = Quantity("growth_exponent", lengths=f"{min(sizes)}-{max(sizes)}")
    yield row({**place, "seed": "all"}, span, growth(speeds), n=len(sizes))


def growth(speeds: Mapping[int, np.ndarray]) -> float:
    """The exponent with which the time of one piece of work grows with its size; speeds by size, of each round."""
    medians = [np.median(of_size) for of_size in speeds.values()]
    return float(-np.polyfit(np.log(list(speeds)), np.log(medians), 1)[0])


def environment(rounds: int, batch: int = 1000, singles: int = 50, operations: int = 50) -> Iterator[Row]:
    """Steps per second, and their ratio to those of schedules that are built one at a time."""
    problem = layered(operations)
    generator, rng = torch.Generator().manual_seed(0), np.random.default_rng(0)
    work: dict[tuple[str, Sequence], Callable[[], object]] = {}

    def batches(sequence: Sequence, threads: int) -> object:
        numba.set_num_threads(min(threads, numba.config.NUMBA_NUM_THREADS))  # type: ignore[attr-defined]
        return build_batch(Environment(problem, batch, sequence), generator)

    def one_at_a_time(sequence: Sequence) -> object:
        alone = ScheduleEnv(problem, sequence)
        return [build_one(alone, rng) for _ in range(singles)]

    for sequence in get_args(Sequence):
        work["compiled", sequence] = partial(batches, sequence, 1)
        work["compiled_on_two", sequence] = partial(batches, sequence, 2)
        work["single", sequence] = partial(one_at_a_time, sequence)
    steps = {key: (singles if key[0] == "single" else batch) * operations for key in work}
    speeds = {key: steps[key] / seconds for key, seconds in in_turns(work, rounds).items()}
    for (method, sequence), speed in speeds.items():
        place = {"set": "layered", "target": sequence, "method": method}
        yield of_rounds(place, Quantity("steps_per_second", lengths=str(operations), unit="steps/s"), speed)
        if method != "single":
            ratio = Quantity("speedup", "ratio", "single", lengths=str(operations))
            yield of_rounds(place, ratio, speed / speeds["single", sequence])


def layered(operations: int) -> Problem:
    """The graph whose schedules are built."""
    graph = synthetic.draw("layered", operations, np.random.default_rng(0))
    return replace(problem_of(graph, DEVICES), transfers=TRANSFERS)


def build_batch(many: Environment, generator: torch.Generator) -> torch.Tensor:
    """Build every schedule of the batch to its end; returns the rewards, (B,)."""
    for _ in range(many.operations):
        uniforms = torch.rand(many.batch, generator=generator, dtype=torch.float64)
        many.step(*many.random_actions(uniforms))
    return many.speedup


def build_one(single: ScheduleEnv, rng: np.random.Generator) -> float:
    """Build one schedule to its end; returns its reward."""
    _, details = single.reset()
    reward, ended = 0.0, False
    while not ended:
        allowed = np.flatnonzero(details["action_mask"])
        _, reward, ended, _, details = single.step(int(allowed[int(rng.random() * len(allowed))]))
    return reward


def sampling(rounds: int, sizes: tuple[int, ...] = (50, 1000), schedules: int = 1000) -> Iterator[Row]:
    """Seconds for 1,000 schedules by graph, and of the first ones where nothing is compiled."""
    place = {"target": "proxy", "method": "gflownet"}
    with TemporaryDirectory() as cache:
        command, environment = (sys.executable, "-c", _FIRST_RUN), {**os.environ, "NUMBA_CACHE_DIR": cache}
        child = subprocess.run(command, check=True, capture_output=True, env=environment)
    numba.set_num_threads(min(2, numba.config.NUMBA_NUM_THREADS))  # type: ignore[attr-defined]
    work = {(family, n): drawing(family, n, schedules) for n in sizes for family in FAMILIES}
    for (family, n), seconds in in_turns(work, rounds).items():
        quantity = Quantity("seconds_per_1000_schedules", lengths=str(n), unit="seconds")
        yield of_rounds(place | {"set": family}, quantity, seconds * 1000 / schedules)
    yield row({**place, "seed": "all"}, Quantity("compile_seconds", unit="seconds"), float(child.stdout), n=1)


def drawing(family: str, operations: int, schedules: int, **options: int) -> Callable[[], None]:
    """What draws schedules of a graph by an untrained policy. It raises ValueError if the method proposes fewer."""
    problem = problem_of(synthetic.draw(family, operations, np.random.default_rng(0)), DEVICES)
    torch.manual_seed(0)
    with TemporaryDirectory() as folder:
        weights = Path(folder) / "policy.safetensors"
        policy.save(policy.make(params.load().on_graphs["gflownet"].models["gflownet"]), weights)
        method = make(entry("graph", "gflownet", **options), {"weights": weights})
    budget, rng = replace(Budget(), proposals=schedules), np.random.default_rng(0)

    def run() -> None:
        proposals = method.propose(problem, rng, budget)
        if len(proposals.orders) != schedules:
            raise ValueError(f"{len(proposals.orders)} of {schedules} schedules: {proposals.message}")

    return run


def first_run() -> float:
    """Seconds of two schedules of a small graph, in this process."""
    draw = drawing(FAMILIES[0], 50, 2)
    began = time.perf_counter()
    draw()
    return time.perf_counter() - began


def placing(rounds: int, evaluations: int = 2000) -> Iterator[Row]:
    """Seconds of each method, mean over graphs; and GO's over those of each other method, geometric means."""
    settings = params.load()
    placed, link = settings.placement_sets["placement_small"], settings.links["pcie"]
    linked = []
    for graph in chosen(placed):
        problem = problem_of(graph, DEVICES, settings.devices[placed.device], np.inf)
        linked.append(targets.linked(limited(problem), link))
    entries = {name: entry("graph", name, evaluations=evaluations) for name in ("go", "hdp", "decision_annealing")}
    entries["go_untaught"] = entry("graph", "go", learns=False, evaluations=evaluations)
    work: dict[tuple[str, int], Callable[[], object]] = {}
    for name, method_settings in entries.items():
        for k, target in enumerate(linked):
            method, budget = make(method_settings, {"target": target}), Budget.of(method_settings)
            work[name, k] = partial(method.propose, target.mean, np.random.default_rng(k), budget)
    measured = in_turns(work, rounds)
    seconds = {name: np.array([measured[name, k] for k in range(len(linked))]) for name in entries}  # (graphs, rounds)
    place = {"set": "placement_small", "target": "pcie"}
    for name, of_method in seconds.items():
        quantity = Quantity("search_seconds", unit="seconds")
        yield of_rounds(place | {"method": name}, quantity, of_method.mean(0))
        if name != "go":
            ratios = np.exp(np.log(seconds["go"] / of_method).mean(0))
            yield of_rounds(place | {"method": "go"}, Quantity("search_seconds", "ratio", name), ratios)


def decision(rounds: int, sizes: tuple[int, ...] = (1000, 10_000, 80_000)) -> Iterator[Row]:
    """Seconds of the first schedule, and of one that GO's network changes."""
    rng, chosen_settings = np.random.default_rng(0), GoSettings(method="go").settings
    work: dict[tuple[str, int], Callable[[], object]] = {}
    for n in sizes:
        problem = limited(near(n, rng))
        start = State.begin(Completion(problem))
        work["go_start", n] = partial(State.begin, Completion(problem))
        network = WholeGraph(chosen_settings)
        work["go_round", n] = partial(draw_round, network, start, chosen_settings, chosen_settings.placing, 1, rng)
    for (method, n), seconds in in_turns(work, rounds).items():
        yield of_rounds({"method": method}, Quantity("decision_seconds", lengths=str(n), unit="seconds"), seconds)


class Subject(NamedTuple):
    """What is timed."""

    rows: Callable[[int], Iterator[Row]]  # is told the number of rounds
    rounds: int


Name = Literal["simulator", "environment", "sampling", "placing", "decision"]
SUBJECTS: dict[Name, Subject] = {
    "simulator": Subject(simulator, 9),
    "environment": Subject(environment, 21),
    "sampling": Subject(sampling, 5),
    "placing": Subject(placing, 3),
    "decision": Subject(decision, 5),
}


def main(
    subject: Annotated[Name, typer.Argument(help="What is timed.")],
    output: Annotated[Path | None, typer.Option(help="Folder to publish in.")] = None,
    rounds: Annotated[int | None, typer.Option(help="Times that each kind of work is timed.")] = None,
) -> None:
    """Time one subject, and publish."""
    torch.set_num_threads(1)
    numba.set_num_threads(1)
    timed = SUBJECTS[subject]
    folder = output or PUBLISHED / f"{subject}_speed"
    count = rounds or timed.rounds
    table = results([{**measured, "experiment": folder.name} for measured in timed.rows(count)])
    print(table[["set", "target", "method", "lengths", "metric", "baseline", "value"]].to_string(index=False))
    publish(folder, {"results": table}, {"rounds": count})


if __name__ == "__main__":
    typer.run(main)
