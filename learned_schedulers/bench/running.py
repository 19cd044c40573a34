"""One method on all instances of a set: what its answers cost on the target, and what it spent on them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from learned_schedulers.bench.budgets import Limit, spend
from learned_schedulers.bench.kinds import FAILED, Entrant, Instance, Status
from learned_schedulers.graphs.methods import Budget
from learned_schedulers.outside_methods import described
from learned_schedulers.section import Section

_WARMED = Budget(1, 1)


class Failure(Section):
    """Why a graph has no schedule, or what was wrong with the method there."""

    graph_id: str
    seed: int
    status: Status
    message: str


class Run(Section):
    """A method's schedules of the G graphs of a set on one target, with S seeds."""

    seeds: list[int]
    costs: list[list[float | None]]  # (S, G) seconds of the best schedule on the target; none: no schedule
    seconds: list[list[float]]  # (S, G) wall time of the method
    evaluations: list[list[int]]  # (S, G) simulated schedules, as far as the method says; else those that it proposed
    failures: list[Failure] = []

    @property
    def array(self) -> np.ndarray:
        """(S, G) costs, NaN without a schedule."""
        return np.array([[np.nan if cost is None else cost for cost in row] for row in self.costs], float)


class Result(NamedTuple):
    """One graph, with one seed."""

    cost: float | None
    seconds: float
    evaluations: int
    failure: tuple[Status, str] | None = None  # with the message


class Source(Protocol):
    """Where answers to an instance come from."""

    def __call__(self, instance: Any, target: str, seed: int) -> Result: ...


Progress = Callable[[int, int], None]  # number of the instance that comes next, from 1 on, and of how many


def silent(number: int, total: int) -> None:
    """Tell nobody."""


def on_stderr(name: str) -> Progress:
    """Say on one line which instance a method is at: one that hangs does so there."""

    def show(number: int, total: int) -> None:
        print(f"\r{name}: {number} of {total}", end="\n" if number == total else "", file=sys.stderr, flush=True)

    return show


def run(
    source: Source, instances: Sequence[Instance], target: str, seeds: Sequence[int], progress: Progress = silent
) -> Run:
    """The results of a source on all instances, each of which is announced, and counts once for each seed."""
    results: list[list[Result]] = []
    for row, seed in enumerate(seeds):
        results.append([])
        for column, each in enumerate(instances, 1):
            progress(row * len(instances) + column, len(seeds) * len(instances))
            results[-1].append(source(each, target, seed))
    return Run(
        seeds=list(seeds),
        costs=[[result.cost for result in row] for row in results],
        seconds=[[round(result.seconds, 6) for result in row] for row in results],
        evaluations=[[result.evaluations for result in row] for row in results],
        failures=[
            Failure(graph_id=instance.graph_id, seed=seed, status=result.failure[0], message=result.failure[1])
            for seed, row in zip(seeds, results, strict=True)
            for instance, result in zip(instances, row, strict=True)
            if result.failure is not None
        ],
    )


def of_method(entrant: Entrant, limit: Limit) -> Source:
    """Answers of a method within the limit. An error of the method on one instance is the result of that instance."""

    def result(instance: Instance, target: str, seed: int) -> Result:
        try:
            spent = spend(entrant.attempt(instance, target, seed), limit, entrant.arrays)
        except Exception as error:  # whatever a stranger's code raises
            return Result(None, 0.0, 0, (FAILED, described(error)))
        verdict = entrant.judge(spent.answer, instance, target, spent.budget)
        return Result(verdict.cost, spent.seconds, verdict.evaluations, verdict.failure)

    return result


def warm_up(entrant: Entrant, instances: Sequence[Instance], target: str) -> None:
    """Call the method once on the smallest instance, so that what is compiled or loaded at first is not timed."""
    try:
        entrant.attempt(min(instances, key=len), target, 0)(_WARMED)
    except Exception:  # the run reports it
        return


def over_runs(run: Run, limit: Limit) -> int:
    """Instances and seeds at which the method spent more than the limit."""
    spent: Iterable[Iterable[float]] = run.evaluations if limit.unit == "evaluations" else run.seconds
    return sum(amount > limit.amount for row in spent for amount in row)


def seeds_of(entrant: Entrant, seeds: Sequence[int]) -> list[int]:
    """A method without random draws has one seed."""
    return list(seeds if entrant.draws else seeds[:1])
