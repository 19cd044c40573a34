"""What a method sees of a project: activities that need resources, and the order that some of them have.

The problem is the RCPSP, the resource-constrained project scheduling problem (Pritsker, Watters and Wolfe 1969):
every activity runs once and without interruption, after all activities that precede it; at no time do the running
activities need more of a resource than there is; the last end, the makespan, shall be early. A job-shop is the special
case in which each job is a chain of activities, and each needs one machine, a resource of capacity 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numba import njit

MOST_ACTIVITIES, MOST_RESOURCES = 100_000, 1_000
MOST_DEMANDS = 2**24  # activities x resources: 128 MiB
LONGEST = 2**31 - 1  # units of time, and of a resource


class Invalid(ValueError):
    """Arrays are no project; `number` is the activity (in a job-shop: the job) with the first fault, if it has one."""

    def __init__(self, message: str, number: int | None = None) -> None:
        super().__init__(message)
        self.number = number


@dataclass(frozen=True)
class JobShop:
    """J jobs, each of which visits every one of M machines once, in an order of its own.

    Raises Invalid, a ValueError, that names job and step of the first fault.
    """

    machines: np.ndarray  # (J, M) int32: the machine of each step of each job, from 0 on
    durations: np.ndarray  # (J, M) int64: units of time

    def __post_init__(self) -> None:
        if self.machines.ndim != 2 or self.machines.shape != self.durations.shape:
            raise Invalid(
                f"machines of shape {self.machines.shape} and durations of shape {self.durations.shape}; "
                "both must be jobs x machines"
            )
        jobs, steps = self.machines.shape
        if jobs * steps * steps > MOST_DEMANDS:
            raise Invalid(f"{jobs} jobs on {steps} machines are too many: jobs x machines^2 is above {MOST_DEMANDS}")
        if len(wrong := np.argwhere((self.machines < 0) | (self.machines >= steps))):
            job, step = wrong[0].tolist()
            raise Invalid(
                f"job {job}, step {step}: there is no machine {self.machines[job, step]}; "
                f"the {steps} machines have the numbers 0 to {steps - 1}",
                job,
            )
        by_machine = np.sort(self.machines, axis=1)
        if len(wrong := np.argwhere(by_machine[:, 1:] == by_machine[:, :-1])):
            job, place = wrong[0].tolist()
            raise Invalid(
                f"job {job} visits machine {by_machine[job, place]} more than once; "
                "in a job-shop it visits every machine once",
                job,
            )
        if len(wrong := np.argwhere((self.durations < 0) | (self.durations > LONGEST))):
            job, step = wrong[0].tolist()
            raise Invalid(
                f"job {job}, step {step}: the duration {self.durations[job, step]} is not from 0 to {LONGEST}", job
            )


@dataclass(frozen=True)
class Project:
    """n activities and R resources. Activity i precedes targets[offsets[i]:offsets[i + 1]], in any numbering.

    Raises Invalid, a ValueError, that names the first faulty activity or resource: a precedence that is cyclic or leads
    nowhere, a duration or a demand that is negative, a demand that is greater than the capacity.
    """

    durations: np.ndarray  # (n,) int64 units of time
    offsets: np.ndarray  # (n + 1,) int32
    targets: np.ndarray  # (E,) int32
    demands: np.ndarray  # (n, R) int64 units of each resource, while the activity runs
    capacities: np.ndarray  # (R,) int64
    names: tuple[str, ...] = ()  # n: of the activities in messages; empty: their numbers
    resources: tuple[str, ...] = ()  # R: of the resources in messages; empty: their numbers
    job_shop: JobShop | None = None  # if the project is one: step k of job j is activity j * M + k

    @classmethod
    def from_rows(
        cls, rows: Sequence[Sequence[int]], successors: Sequence[Sequence[int]], capacities: Sequence[int]
    ) -> Project:
        """A project as files of instances list it. rows: duration and demands of each activity; successors: from 0 on.

        Raises Invalid. Activities and resources are named by their numbers from 1 on.
        """
        table = np.array(rows, np.int64)
        return cls(
            durations=table[:, 0],
            offsets=np.cumsum([0, *map(len, successors)]).astype(np.int32),
            targets=np.array([target for row in successors for target in row], np.int32),
            demands=table[:, 1:],
            capacities=np.array(capacities, np.int64),
            names=tuple(f"activity {number}" for number in range(1, len(rows) + 1)),
            resources=tuple(f"resource {number}" for number in range(1, len(capacities) + 1)),
        )

    def __post_init__(self) -> None:
        n, count = len(self.durations), len(self.capacities)
        if n > MOST_ACTIVITIES or count > MOST_RESOURCES or n * count > MOST_DEMANDS:
            raise Invalid(
                f"{n} activities and {count} resources are too many: at most {MOST_ACTIVITIES} and {MOST_RESOURCES}, "
                f"and {MOST_DEMANDS} demands; divide the project"
            )
        if self.demands.shape != (n, count) or len(self.names) not in (0, n) or len(self.resources) not in (0, count):
            raise Invalid(f"demands and names do not belong to {n} activities and {count} resources")
        self._check_amounts()
        self._check_precedence()

    def _check_amounts(self) -> None:
        if len(wrong := np.flatnonzero((self.durations < 0) | (self.durations > LONGEST))):
            i = int(wrong[0])
            raise Invalid(f"{self.name_of(i)}: the duration {self.durations[i]} is not from 0 to {LONGEST}", i)
        if len(wrong := np.flatnonzero((self.capacities < 0) | (self.capacities > LONGEST))):
            r = int(wrong[0])
            raise Invalid(f"{self.resource_of(r)}: the capacity {self.capacities[r]} is not from 0 to {LONGEST}")
        if len(cells := np.argwhere((self.demands < 0) | (self.demands > self.capacities))):
            i, r = cells[0].tolist()
            raise Invalid(
                f"{self.name_of(i)} needs {self.demands[i, r]} units of {self.resource_of(r)}, "
                f"of which there are {self.capacities[r]}; it can never run",
                i,
            )

    def _check_precedence(self) -> None:
        n, offsets, targets = len(self.durations), self.offsets, self.targets
        if len(offsets) != n + 1 or offsets[0] != 0 or offsets[-1] != len(targets) or (np.diff(offsets) < 0).any():
            raise Invalid(f"the offsets do not cut {len(targets)} precedences into {n} parts")
        if len(wrong := np.flatnonzero((targets < 0) | (targets >= n))):
            i = int(np.searchsorted(offsets, wrong[0], side="right")) - 1
            raise Invalid(f"{self.name_of(i)} precedes {targets[wrong[0]]}, but there are {n} activities", i)
        if len(self.order) < n:
            first = int(np.setdiff1d(np.arange(n), self.order)[0])
            raise Invalid(f"{self.name_of(first)} is in or behind a cycle of precedences", first)

    def __len__(self) -> int:
        return len(self.durations)

    def name_of(self, activity: int) -> str:
        """The name of an activity in messages."""
        return self.names[activity] if self.names else f"activity {activity}"

    def resource_of(self, resource: int) -> str:
        """The name of a resource in messages."""
        return self.resources[resource] if self.resources else f"resource {resource}"

    @property
    def sources(self) -> np.ndarray:
        """(E,) int32: the activity that each precedence starts at."""
        return np.repeat(np.arange(len(self), dtype=np.int32), np.diff(self.offsets))

    @cached_property
    def order(self) -> np.ndarray:
        """(n,) int32: the activities in a topological order."""
        return _topological(self.offsets, self.targets)

    @cached_property
    def heads(self) -> np.ndarray:
        """(n,) int64: the longest path before an activity: no schedule starts it earlier."""
        return _heads(self.order, self.offsets, self.targets, self.durations)

    @cached_property
    def tails(self) -> np.ndarray:
        """(n,) int64: the longest path from an activity's start to the end of the project."""
        return _tails(self.order, self.offsets, self.targets, self.durations)

    @cached_property
    def bound(self) -> int:
        """A lower bound of every makespan: the longest path, or for a resource its work between two shortest paths.

        No activity that needs the resource starts before the least of their heads, and after the last of them ends
        there is still the least of the paths behind them.
        """
        least = int(self.tails.max(initial=0))
        for capacity, demand in zip(self.capacities, self.demands.T, strict=True):
            users = np.flatnonzero((demand > 0) & (self.durations > 0))
            if len(users):
                work = int((self.durations[users] * demand[users]).astype(object).sum())
                behind = (self.tails - self.durations)[users].min()
                least = max(least, int(self.heads[users].min() + -(-work // int(capacity)) + behind))
        return least


def project_of(job_shop: JobShop) -> Project:
    """A job-shop as a project: each job is a chain, each machine a resource of capacity 1."""
    jobs = chains(list(job_shop.machines), list(job_shop.durations), job_shop.machines.shape[1])
    return replace(jobs, job_shop=job_shop)


def chains(machines: Sequence[np.ndarray], durations: Sequence[np.ndarray], count: int) -> Project:
    """Jobs whose steps follow each other, each on one of `count` machines, which a job may visit never or again.

    machines, durations: of the steps of each job. Raises Invalid as `Project` does.
    """
    lengths = [len(row) for row in machines]
    jobs = np.repeat(np.arange(len(lengths)), lengths)
    n = len(jobs)
    activities = np.arange(n, dtype=np.int32)
    continued = np.r_[jobs[1:] == jobs[:-1], np.zeros(min(n, 1), bool)]  # all steps of a job but the last
    demands = np.zeros((n, count), np.int64)
    if n:
        demands[activities, np.concatenate(machines)] = 1
    return Project(
        durations=np.concatenate([np.zeros(0, np.int64), *durations]),
        offsets=np.r_[0, np.cumsum(continued)].astype(np.int32),
        targets=activities[continued] + np.int32(1),
        demands=demands,
        capacities=np.ones(count, np.int64),
        names=tuple(f"job {job}, step {step}" for job, length in enumerate(lengths) for step in range(length)),
        resources=tuple(f"machine {machine}" for machine in range(count)),
    )


@njit(cache=True)
def _topological(offsets: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Activities in a topological order, without those in or behind a cycle."""
    n = len(offsets) - 1
    waits = np.zeros(n, np.int32)
    for target in targets:
        waits[target] += 1
    order = np.empty(n, np.int32)
    last = 0
    for i in range(n):
        if waits[i] == 0:
            order[last] = i
            last += 1
    first = 0
    while first < last:
        for edge in range(offsets[order[first]], offsets[order[first] + 1]):
            waits[targets[edge]] -= 1
            if waits[targets[edge]] == 0:
                order[last] = targets[edge]
                last += 1
        first += 1
    return order[:last]


@njit(cache=True)
def _heads(order: np.ndarray, offsets: np.ndarray, targets: np.ndarray, durations: np.ndarray) -> np.ndarray:
    heads = np.zeros(len(durations), np.int64)
    for i in order:
        for edge in range(offsets[i], offsets[i + 1]):
            heads[targets[edge]] = max(heads[targets[edge]], heads[i] + durations[i])
    return heads


@njit(cache=True)
def _tails(order: np.ndarray, offsets: np.ndarray, targets: np.ndarray, durations: np.ndarray) -> np.ndarray:
    tails = durations.copy()
    for i in order[::-1]:
        longest = 0
        for edge in range(offsets[i], offsets[i + 1]):
            longest = max(longest, tails[targets[edge]])
        tails[i] += longest
    return tails
