"""One method on all instances of a set: what its answers cost on the target, and what it spent on them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from queue import SimpleQueue
from typing import Any, Protocol

import numpy as np
from tqdm import tqdm

from learned_schedulers.bench.budgets import Limit, spend
from learned_schedulers.bench.kinds import FAILED, Instance, Result, Status
from learned_schedulers.bench.stored import Stored
from learned_schedulers.bench.tasks import Fault, Task
from learned_schedulers.graphs.method_settings import Sight
from learned_schedulers.graphs.methods import Budget, Proposals
from learned_schedulers.outside_methods import described
from learned_schedulers.section import Section

_WARMED = Budget(1, 1)


class Method(Protocol):
    """A method, in this process or in one of its own."""

    def prepared(self, task: Task) -> Callable[[], Proposals]:
        """Its call, which alone is timed, and raises Fault, or whatever the method raises."""
        ...


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
    schedules: list[list[str | None]]  # (S, G) that schedule
    seconds: list[list[float]]  # (S, G) wall time of the method
    evaluations: list[list[int]]  # (S, G) simulated schedules, as far as the method says; else those that it proposed
    failures: list[Failure] = []

    @property
    def array(self) -> np.ndarray:
        """(S, G) costs, NaN without a schedule."""
        return np.array([[np.nan if cost is None else cost for cost in row] for row in self.costs], float)


class Source(Protocol):
    """Where answers to an instance come from."""

    def __call__(self, instance: Any, target: str, seed: int) -> Result: ...


def run(
    sources: Collection[Source],
    instances: Sequence[Instance],
    target: str,
    seeds: Sequence[int],
    store: Stored | None = None,
    title: str = "",
) -> Run:
    """The results of a method on all instances, with each seed.

    sources: of the same answers, as many as work at the same time; store: of results that are there already; title: of
    a bar of progress, on a terminal; none without it.
    """
    idle: SimpleQueue[Source] = SimpleQueue()
    for source in sources:
        idle.put(source)
    pairs = list(product(seeds, instances))

    def result(pair: tuple[int, Instance]) -> Result:
        seed, instance = pair
        if store is not None and (stored := store.of(instance, seed)) is not None:
            return stored
        source = idle.get()
        try:
            answer = source(instance, target, seed)
        finally:
            idle.put(source)
        if store is not None:
            store.add(instance, seed, answer)
        return answer

    pool = ThreadPoolExecutor(len(sources))
    try:
        answers = pool.map(result, pairs)
        results = list(tqdm(answers, title, len(pairs), unit="graph", leave=False, disable=None if title else True))
    finally:  # who interrupts it does not wait: the caller ends the processes
        pool.shutdown(wait=False, cancel_futures=True)
    rows = [results[start : start + len(instances)] for start in range(0, len(pairs), len(instances))]
    return Run(
        seeds=list(seeds),
        costs=[[each.cost for each in row] for row in rows],
        schedules=[[each.schedule for each in row] for row in rows],
        seconds=[[each.seconds for each in row] for row in rows],
        evaluations=[[each.evaluations for each in row] for row in rows],
        failures=[
            Failure(graph_id=instance.graph_id, seed=seed, status=each.failure[0], message=each.failure[1])
            for (seed, instance), each in zip(pairs, results, strict=True)
            if each.failure is not None
        ],
    )


def of_method(method: Method, limit: Limit, sees: Sight) -> Source:
    """Answers of a method within the limit. An error of the method on one instance is the result of that instance."""

    def result(instance: Instance, target: str, seed: int) -> Result:
        try:
            spent = spend(lambda budget: method.prepared(instance.task(target, seed, budget, sees)), limit)
        except Fault as fault:
            return Result(failure=(FAILED, str(fault)))
        except Exception as error:  # whatever a method raises
            return Result(failure=(FAILED, described(error)))
        judged = instance.judge(spent.answer, target, sees, spent.budget)
        return judged.model_copy(update={"seconds": round(spent.seconds, 6)})

    return result


def warm_up(method: Method, instances: Sequence[Instance], target: str, sees: Sight) -> None:
    """Call the method once on the smallest instance, so that what is compiled or loaded at first is not timed."""
    try:
        method.prepared(min(instances, key=len).task(target, 0, _WARMED, sees))()
    except Exception:  # the run reports it
        return


def over_runs(run: Run, limit: Limit) -> int:
    """Instances and seeds at which the method spent more than the limit."""
    spent: Iterable[Iterable[float]] = run.evaluations if limit.unit == "evaluations" else run.seconds
    return sum(amount > limit.amount for row in spent for amount in row)
