"""SAGA's schedulers (https://github.com/ANRGUSC/saga) as methods of learned_schedulers, through one adapter.

SAGA schedules tasks with costs on nodes with speeds, over links with speeds; a transfer takes size / speed. Here all
nodes have speed 1, a task costs its seconds, a link between two nodes has speed 1, and an edge carries as its size the
seconds that the whole transfer takes, slope * bytes + delay. So a delay is exact, too. Within a node SAGA's link has an
infinite speed, and a transfer takes no time.

Times are whole steps, 2^40 of them in their sum, so that SAGA's sums and differences are exact. With other numbers SAGA
computes some starts as end - duration, which rounding may put before the end of a parent without cost; SAGA then raises
an error. The schedule is judged with the true times.

Ties: SAGA's loops go through sets. Their sequence depends on the hashes of names, which Python draws anew in every
process, so that SAGA's schedules differ from process to process. Here the hashes of tasks, nodes and edges are their
numbers, by which sets of them are in rising sequence: of equal choices the lowest number is taken.

SAGA's `create` adds a task without cost before several sources, and one after several sinks; no scheduler here needs
them, so the graphs are made without.
"""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Iterable
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from saga import Network, NetworkEdge, NetworkNode, Schedule, Scheduler, TaskGraph, TaskGraphEdge, TaskGraphNode
from saga.schedulers import (
    CpopScheduler,
    DuplexScheduler,
    ETFScheduler,
    FastestNodeScheduler,
    FCPScheduler,
    FLBScheduler,
    GDLScheduler,
    HeftScheduler,
    MaxMinScheduler,
    MCTScheduler,
    MinMinScheduler,
    OLBScheduler,
    SufferageScheduler,
)
from saga.schedulers.cpop import cpop_ranks, upward_rank

from learned_schedulers.graphs.devices.ordering import by_times
from learned_schedulers.graphs.devices.targets import Target
from learned_schedulers.graphs.methods import Budget, Proposals
from learned_schedulers.graphs.methods.rules.proposing import proposed
from learned_schedulers.graphs.methods.rules.repair import fits
from learned_schedulers.graphs.problems.problem import Problem
from learned_schedulers.method_settings import MethodSettings

_STEPS = 2.0**40  # in the sum of all times; no schedule takes longer, and sums are exact up to 2^53


class _Task(TaskGraphNode):
    def __hash__(self) -> int:
        return number(self.name)


class _Edge(TaskGraphEdge):
    rank: int  # its number among all edges

    def __hash__(self) -> int:
        return self.rank


class _Node(NetworkNode):
    def __hash__(self) -> int:
        return number(self.name)


class _Link(NetworkEdge):
    rank: int

    def __hash__(self) -> int:
        return self.rank


class _Graph(TaskGraph):
    """Gives the same answers as SAGA's class, which goes through all tasks for each of them."""

    @cached_property
    def by_name(self) -> dict[str, TaskGraphNode]:
        return {task.name: task for task in self.tasks}

    @cached_property
    def by_ends(self) -> dict[tuple[str, str], TaskGraphEdge]:
        return {(edge.source, edge.target): edge for edge in self.dependencies}

    @cached_property
    def by_target(self) -> dict[str, list[TaskGraphEdge]]:
        return _grouped(self.dependencies, "target")

    @cached_property
    def by_source(self) -> dict[str, list[TaskGraphEdge]]:
        return _grouped(self.dependencies, "source")

    def get_task(self, name: str | TaskGraphNode) -> TaskGraphNode:
        return self.by_name[_name(name)]

    def get_dependency(self, source: str | TaskGraphNode, target: str | TaskGraphNode) -> TaskGraphEdge:
        return self.by_ends[_name(source), _name(target)]

    def in_edges(self, task: str | TaskGraphNode) -> list[TaskGraphEdge]:
        return self.by_target.get(_name(task), [])

    def out_edges(self, task: str | TaskGraphNode) -> list[TaskGraphEdge]:
        return self.by_source.get(_name(task), [])


def _grouped(edges: Iterable[TaskGraphEdge], end: str) -> dict[str, list[TaskGraphEdge]]:
    groups: dict[str, list[TaskGraphEdge]] = defaultdict(list)
    for edge in edges:
        groups[getattr(edge, end)].append(edge)
    return dict(groups)


def _name(task: str | TaskGraphNode) -> str:
    return task if isinstance(task, str) else task.name


def named(index: int) -> str:
    """The name of an operation or of a device: names sort as numbers do, for SAGA breaks some ties by name."""
    return f"{index:09d}"


def number(name: str) -> int:
    """The operation or the device of a name."""
    return int(name)


def steps_in_a_second(problem: Problem) -> float:
    """A power of two, so that times which are whole steps stay as they are."""
    total = float(problem.seconds.sum() + problem.delays.sum())
    return 2.0 ** math.floor(math.log2(_STEPS / total)) if total > 0 else 1.0


def network_of(problem: Problem) -> Network:
    """SAGA's network: identical devices, each with a link to itself, as SAGA's own networks have it."""
    devices = range(problem.devices)
    pairs = [(a, b) for a in devices for b in devices if a <= b]
    links = [
        _Link(source=named(a), target=named(b), speed=math.inf if a == b else 1.0, rank=rank)
        for rank, (a, b) in enumerate(pairs)
    ]
    return Network(nodes=frozenset(_Node(name=named(k), speed=1.0) for k in devices), edges=frozenset(links))


def task_graph_of(problem: Problem) -> TaskGraph:
    """SAGA's graph of the problem's operations, in steps."""
    steps = steps_in_a_second(problem)
    costs, delays = (np.rint(seconds * steps).tolist() for seconds in (problem.seconds, problem.delays))
    pairs = zip(problem.children.sources.tolist(), problem.children.targets.tolist(), strict=True)
    edges = [_Edge(source=named(a), target=named(b), size=delays[a], rank=rank) for rank, (a, b) in enumerate(pairs)]
    tasks = [_Task(name=named(i), cost=cost) for i, cost in enumerate(costs)]
    return _Graph(tasks=frozenset(tasks), dependencies=frozenset(edges))


def order_and_placement(problem: Problem, schedule: Schedule) -> tuple[np.ndarray, np.ndarray]:
    """Order and placement of SAGA's schedule, (n,) int32 each. Raises ValueError if it lacks an operation."""
    n = len(problem)
    starts, ends, placement = np.full(n, np.nan), np.full(n, np.nan), np.zeros(n, np.int32)
    for node, tasks in schedule.items():
        for task in tasks:
            i = number(task.name)
            starts[i], ends[i], placement[i] = task.start, task.end, number(node)
    if len(missing := np.flatnonzero(~np.isfinite(starts + ends))):
        raise ValueError(f"SAGA's schedule has no time for operation {missing[0]} ({len(missing)} such operations)")
    return by_times(starts, ends), placement


def scheduled(scheduler: Scheduler, problem: Problem) -> Schedule:
    """SAGA's schedule of the problem, in steps. Raises ValueError for weights that operations share."""
    if len(problem.shared.readers):
        raise ValueError("operations share weights, which SAGA's graphs cannot express")
    try:
        return scheduler.schedule(network_of(problem), task_graph_of(problem))
    finally:
        for cached in (upward_rank, cpop_ranks):  # SAGA keeps every graph and its ranks for ever
            cached.cache_clear()


class SagaMethod:
    """One schedule of one of SAGA's schedulers, which knows the target; of drawn run times it knows the means."""

    class Settings(MethodSettings):
        needs: ClassVar[frozenset[str]] = frozenset({"target"})
        draws: ClassVar[bool] = False

    scheduler: ClassVar[type[Scheduler]]

    def __init__(self, settings: MethodSettings, target: Target) -> None:
        self._target = target

    def propose(self, problem: Problem, rng: np.random.Generator, budget: Budget) -> Proposals:
        """At most one schedule; none where it needs more memory than there is, which SAGA does not know."""
        began = time.perf_counter()
        if not len(problem):
            nothing = np.zeros((1, 0), np.int32)
            return proposed(self._target, nothing, nothing, began)
        mean = self._target.mean
        try:
            order, placement = order_and_placement(mean, scheduled(self.scheduler(), mean))
        except ValueError as error:
            return Proposals.unsupported(len(problem), str(error))
        if not fits(mean, order, placement):
            reason = f"the schedule needs more than the {mean.memory:g} bytes of a device; SAGA does not know memory"
            return Proposals.unsupported(len(problem), reason)
        return proposed(self._target, order[None], placement[None], began)


class _SortedETF(ETFScheduler):
    """ETF goes through sets of names; here it goes through them in the sequence of their numbers."""

    def _get_ready_tasks(self, task_map: Any, task_graph: TaskGraph) -> Any:
        return sorted(super()._get_ready_tasks(task_map, task_graph))  # a list has `remove`, which is all ETF uses

    def _get_start_times(
        self, task_map: Any, ready_tasks: Any, ready_nodes: Any, *others: Any, **named_others: Any
    ) -> Any:
        return super()._get_start_times(task_map, ready_tasks, sorted(ready_nodes), *others, **named_others)


class Heft(SagaMethod):
    scheduler = HeftScheduler


class Cpop(SagaMethod):
    scheduler = CpopScheduler


class Etf(SagaMethod):
    scheduler = _SortedETF


class MinMin(SagaMethod):
    scheduler = MinMinScheduler


class MaxMin(SagaMethod):
    scheduler = MaxMinScheduler


class Duplex(SagaMethod):
    scheduler = DuplexScheduler


class Mct(SagaMethod):
    scheduler = MCTScheduler


class Olb(SagaMethod):
    scheduler = OLBScheduler


class FastestNode(SagaMethod):
    scheduler = FastestNodeScheduler


class Sufferage(SagaMethod):
    scheduler = SufferageScheduler


class Fcp(SagaMethod):
    scheduler = FCPScheduler


class Flb(SagaMethod):
    scheduler = FLBScheduler


class Gdl(SagaMethod):
    scheduler = GDLScheduler
