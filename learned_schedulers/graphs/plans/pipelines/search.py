"""The pipelines of a network that are worth a look, and the fastest of each schedule that fits the memory.

The network is split by the programme for the largest load (Tarnawski et al. 2020): into as many stages as devices or
fewer, alone or with as many copies of the whole pipeline as there are devices for; into parts that have several devices
each; and into several stages for each device (interleaved). Links send while devices compute, so the programme balances
the devices' work with its transfers, and without them. Every schedule of each split is simulated. Where what is in
flight finds no room, stages run forward anew before their backward pass, and splits that leave more room are tried.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import NamedTuple

import numpy as np

from learned_schedulers.graphs.plans.pipelines.schedules import Kind, Pass, Pipeline, orders
from learned_schedulers.graphs.plans.pipelines.simulator import Times, peaks, simulated
from learned_schedulers.graphs.plans.pipelines.stages import Stages, stages_of
from learned_schedulers.graphs.plans.sources import Source
from learned_schedulers.graphs.plans.splits.programme import Programmed, along, least
from learned_schedulers.graphs.plans.splits.units import units_of
from learned_schedulers.graphs.problems.problem import Problem
from learned_schedulers.graphs.read.workloads import Workload

_IDEALS = 2_000  # that the programme visits in a second
_EVERY = 8  # up to so many devices, every smaller number of stages is looked at
_CHUNKS = (2, 4)  # stages of a device, interleaved


@dataclass(frozen=True)
class Task:
    """m micro-batches of a network, which is to be split, on equal devices."""

    source: Source
    problem: Problem  # the source on the devices
    memory: float  # bytes of each device
    micro_batches: int
    classes: np.ndarray | None = None  # (n,) int64: operations of the same class share a stage; None: as in the source
    cuts: np.ndarray | None = None  # (n,) bool: operations that a stage, an interval of them, may begin with; None: all

    @cached_property
    def backward(self) -> np.ndarray:
        """(n,) bool: the operation computes gradients."""
        passes = self.source.passes
        return np.zeros(len(self.problem), bool) if passes is None else passes.backward

    @property
    def device_names(self) -> tuple[str, ...]:
        """(m,) names of the devices: their numbers where they have no others."""
        return self.problem.device_names or tuple(map(str, range(self.problem.devices)))

    @property
    def bound(self) -> float:
        """Seconds that no step is below: of all work on all devices, the largest unit's turns, or the longest path."""
        turns = -(-self.micro_batches // self.problem.devices)
        unit = float(units_of(self.workload(1)).accelerator_seconds.max(initial=0.0))
        work = self.micro_batches * float(self.problem.seconds.sum()) / self.problem.devices
        return max(work, turns * unit, self.problem.critical_path)

    def workload(self, devices: int, in_flight: int = 0, transfers: bool = True) -> Workload:
        """The workload of the programme. in_flight: micro-batches that find room; transfers: whether they take time."""
        problem, parts, backward = self.problem, self.problem.parts, self.backward
        n = len(problem)
        late = np.bincount(parts.readers.sources, backward[parts.readers.targets], len(parts.owners)) > 0
        of_gradients = backward[parts.owners]
        rooms = np.where(of_gradients, parts.lasting, in_flight * late) * parts.sizes
        slope, delay = problem.transfers.mean
        classes, passes = self.classes, self.source.passes
        if classes is None:
            classes = self.source.groups if passes is None else passes.classes
        return Workload(
            graph=replace(
                self.source.graph,
                bytes_kept=self.source.graph.bytes_kept + np.bincount(parts.owners, rooms, n).astype(np.int64),
            ),
            ids=np.arange(n),
            colors=np.full(n, -1, np.int32) if classes is None else classes.astype(np.int32),
            supported=np.ones(n, bool),
            backward=backward,
            cpu_seconds=problem.seconds,
            accelerator_seconds=problem.seconds,
            transfer_seconds=(slope * problem.sizes + delay) * transfers,
            accelerators=devices,
            cpus=0,
            memory=self.memory,
        )

    def split(self, workload: Workload, copies: bool = False) -> Programmed:
        """The programme's answer."""
        if self.cuts is None:
            return least(workload, "load", most=_IDEALS, copies=copies)
        _, firsts = np.unique(units_of(workload).labels, return_index=True)  # operation of each unit
        begins = np.r_[self.cuts[firsts], True]
        begins[0] = True
        return along(workload, "load", copies, begins)


class Split(NamedTuple):
    """Stages and the devices that have them."""

    stage_of: np.ndarray  # (n,) int64 stage of each operation
    homes: tuple[tuple[int, ...], ...]  # of a `Pipeline`
    exact: bool  # whether no contiguous split of so many stages has a smaller largest load
    interleaved: bool = False


@dataclass(frozen=True)
class Plan:
    """A pipeline with its schedule."""

    split: Split
    stages: Stages
    pipeline: Pipeline
    listed: list[list[Pass]]  # of each device
    anew: np.ndarray  # (k,) bool: the stage runs forward anew before its backward pass
    peaks: np.ndarray  # (m,) bytes of the devices that have a stage
    times: Times | None  # None: it does not fit the memory

    @property
    def seconds(self) -> float:
        """Of a step."""
        return np.inf if self.times is None else self.times.seconds

    @property
    def copies(self) -> tuple[int, ...]:
        """(k,) devices that have each stage."""
        return tuple(map(len, self.pipeline.homes))

    @property
    def placement(self) -> np.ndarray:
        """(n,) int64 device of each operation, of those with copies of its stage the first."""
        return np.array([home[0] for home in self.pipeline.homes])[self.split.stage_of]

    @property
    def name(self) -> str:
        """Its row in a table."""
        if len(self.stages) == 1:
            return "one device" if self.copies == (1,) else "copies"
        one_way = not self.stages.training and self.pipeline.kind == "gpipe"
        return "pipeline" if one_way else self.pipeline.kind

    @property
    def rank(self) -> tuple[float, float, int]:
        """The less, the better: seconds up to rounding, bytes of the fullest device, devices."""
        return float(f"{self.seconds:.9e}"), float(self.peaks.max()), self.pipeline.devices


def best_plans(task: Task, suits: Callable[[Plan], bool] = lambda plan: True) -> dict[str, Plan]:
    """The best plan of each row of a table; of a row without any that fits, the one with the least memory.

    suits: whether a plan is one that is looked for.
    """
    best: dict[str, Plan] = {}
    for in_flight in (0, 1, task.problem.devices):
        plans = [plan_of(task, split, kind) for split in _splits(task, in_flight) for kind in _kinds(task, split)]
        for plan in plans:
            if plan is not None and suits(plan):
                best[plan.name] = min(best.get(plan.name, plan), plan, key=lambda each: each.rank)
        if not any(plan is not None and (plan.times is None or plan.anew.any()) for plan in plans):
            break
    return best


def _splits(task: Task, in_flight: int) -> Iterator[Split]:
    """Splits with room for so many micro-batches."""
    m = task.problem.devices
    evenly = sorted({m // copies for copies in range(1, m + 1)})
    for copies in sorted({1, min(m, task.micro_batches)}):
        yield Split(np.zeros(len(task.problem), np.int64), _homes((copies,)), True)
    for transfers in (True, False):
        for count in sorted({*evenly, *range(1, min(m, _EVERY) + 1)} - {1}):
            programmed = task.split(task.workload(count, in_flight, transfers))
            if programmed.devices is not None:
                parts = int(programmed.devices.max(initial=0)) + 1
                for copies in sorted({1, min(m // parts, task.micro_batches)}):
                    yield Split(programmed.devices, _homes((copies,) * parts), programmed.exact)
        programmed = task.split(task.workload(m, in_flight, transfers), copies=True)
        if programmed.devices is not None and programmed.copies is not None and len(task.problem):
            firsts, stage_of = np.unique(programmed.devices, return_inverse=True)
            yield Split(stage_of, _homes(programmed.copies[firsts].tolist()), programmed.exact)
        for count, chunks in product(evenly, _CHUNKS):
            copies = m // count
            if count == 1 or task.micro_batches % (count * copies):
                continue
            programmed = task.split(task.workload(count * chunks, in_flight, transfers))
            if programmed.devices is not None and len(np.unique(programmed.devices)) == count * chunks:
                yield Split(programmed.devices, _homes((copies,) * count) * chunks, programmed.exact, True)


def _homes(copies: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """The devices of stages with so many copies, one after the other."""
    ends = np.cumsum(copies).tolist()
    return tuple(tuple(range(end - count, end)) for end, count in zip(ends, copies, strict=True))


def _kinds(task: Task, split: Split) -> tuple[Kind, ...]:
    """Schedules of a split that differ. A stage alone takes turns, because then nothing waits in its memory."""
    if split.interleaved:
        return ("interleaved",)
    if not task.backward.any():
        return ("gpipe",)
    return ("gpipe", "1f1b") if len(split.homes) > 1 else ("1f1b",)


def plan_of(task: Task, split: Split, kind: Kind) -> Plan | None:
    """The plan of a split; None if its stages wait for each other."""
    stages = stages_of(task.source, task.problem, split.stage_of)
    if stages is None:
        return None
    pipeline = Pipeline(split.homes, kind, task.micro_batches)
    listed = orders(pipeline, stages.training)
    most = peaks(stages, pipeline, listed)
    over = np.array([any(most[device] > task.memory for device in home) for home in split.homes])
    anew = over & stages.training
    if anew.any():
        stages = stages.recomputed(anew)
        most = peaks(stages, pipeline, listed)
    times = None
    if (most <= task.memory).all():
        slope, delay = task.problem.transfers.mean
        times = simulated(stages, pipeline, listed, slope, delay)
    return Plan(split, stages, pipeline, listed, anew, most, times)
