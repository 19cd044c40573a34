"""One method on all instances of a set: what its best schedules cost on the target, and what it spent on them.

The rule of the benchmark: of at most 1,000 proposals the best 100 on the target that the method sees are judged on the
target, and the best of them counts. On a placement set every method sees the target.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Literal, NamedTuple, Protocol

import numpy as np

from learned_schedulers.bench.budgets import Limit, spend
from learned_schedulers.bench.instances import Instance
from learned_schedulers.graphs.devices.targets import Target
from learned_schedulers.graphs.method_settings import GraphMethodSettings, Sight
from learned_schedulers.graphs.methods import UNSUPPORTED, Budget, Proposals, make
from learned_schedulers.graphs.methods.rules.checking import faults
from learned_schedulers.graphs.methods.rules.keeping import KEPT, keep
from learned_schedulers.section import Section

Status = Literal["unsupported", "no schedule fits", "failed"]
REFUSED: Status = "unsupported"  # by the method, which says why
UNFIT: Status = "no schedule fits"  # the memory
FAILED: Status = "failed"  # the method raised an error, or its proposals are no schedules
_WARMED = Budget(1, 1)


class Entrant(NamedTuple):
    """A method of the comparison."""

    name: str
    settings: GraphMethodSettings
    weights: Path | None = None

    @property
    def sees(self) -> Sight:
        return "target" if "target" in self.settings.needs | self.settings.uses else "proxy"

    def proposing(self, instance: Instance, target: Target, seed: int, name: str) -> Callable[[Budget], Proposals]:
        """The method for one instance; a call makes it anew, so that every call has the same random draws."""
        resources = {"target": target} | ({} if self.weights is None else {"weights": self.weights})

        def propose(budget: Budget) -> Proposals:
            method = make(self.settings, resources)
            return method.propose(instance.proxy.draws[0], instance.rng(seed, name), budget)

        return propose


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
    """Where schedules of an instance come from."""

    def __call__(self, instance: Instance, target: Target, seed: int) -> Result: ...


def run(source: Source, instances: Sequence[Instance], target: str, seeds: Sequence[int]) -> Run:
    """The results of a source of schedules on all instances."""
    results = [[source(each, each.target(target), seed) for each in instances] for seed in seeds]
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


def of_method(entrant: Entrant, target_name: str, limit: Limit) -> Source:
    """Schedules by a method within the limit. An error of the method on one graph is the result of that graph."""

    def result(instance: Instance, target: Target, seed: int) -> Result:
        try:
            spent = spend(entrant.proposing(instance, target, seed, target_name), limit)
        except Exception as error:  # whatever a stranger's code raises
            return Result(None, 0.0, 0, (FAILED, f"{type(error).__name__}: {error}"))
        wrong = list(faults(spent.proposals, instance.proxy.draws[0], spent.budget))
        if wrong:
            return Result(None, spent.seconds, 0, (FAILED, "; ".join(wrong)))
        curve = spent.proposals.stats.get("evaluations", np.zeros(0))
        evaluations = int(curve[-1]) if len(curve) else len(spent.proposals.orders)
        cost, failure = judged(spent.proposals, instance, target, entrant.sees)
        return Result(cost, spent.seconds, evaluations, failure)

    return result


def judged(
    proposals: Proposals, instance: Instance, target: Target, sees: Sight
) -> tuple[float | None, tuple[Status, str] | None]:
    """The cost of the best of the kept schedules on the target, or why there is none."""
    if proposals.status == UNSUPPORTED:
        return None, (REFUSED, proposals.message)
    visible = target if sees == "target" or instance.limited else instance.proxy
    schedules = keep(proposals, visible, target, 1 if instance.limited else KEPT)
    if not len(schedules.orders):
        return None, (UNFIT, "none of its schedules fits the devices' memory")
    return float(schedules.judged_seconds[schedules.best]), None


def warm_up(entrant: Entrant, instances: Sequence[Instance], target: str) -> None:
    """Call the method once on the smallest graph, so that what is compiled or loaded at first is not timed."""
    smallest = min(instances, key=lambda instance: len(instance.problem))
    try:
        entrant.proposing(smallest, smallest.target(target), 0, target)(_WARMED)
    except Exception:  # the run reports it
        return


def over_runs(run: Run, limit: Limit) -> int:
    """Graphs and seeds at which the method spent more than the limit."""
    spent: Iterable[Iterable[float]] = run.evaluations if limit.unit == "evaluations" else run.seconds
    return sum(amount > limit.amount for row in spent for amount in row)


def seeds_of(settings: GraphMethodSettings, seeds: Sequence[int]) -> list[int]:
    """A method without random draws has one seed."""
    return list(seeds if settings.draws else seeds[:1])
