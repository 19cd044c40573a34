"""One file, one method: each proposes schedules of a project or a job-shop.

`make(settings, resources)` returns a method's object; its `schedule(project, rng, budget)` returns the starts of all
activities, for one schedule or several. The judge alone says what they are worth: `best` chooses by it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from learned_schedulers import methods as registry
from learned_schedulers.method_settings import MethodSettings, names
from learned_schedulers.projects import judge
from learned_schedulers.projects.problem import Project

OK, TIMED_OUT, UNSUPPORTED = registry.OK, registry.TIMED_OUT, registry.UNSUPPORTED


@dataclass(frozen=True)
class Budget:
    """What a method may spend on a project; the defaults hold for settings that have no such limit."""

    schedules: int = 1000  # that it may make
    seconds: float = 0.0  # deterministic seconds: a solver's measure of its own work

    @staticmethod
    def of(settings: MethodSettings) -> Budget:
        """The budget that the settings allow: their values of the same names."""
        return registry.allowed(Budget, settings)


@dataclass(frozen=True)
class Schedules:
    """A method's answer for a project of n activities: S schedules; none if it does not support the project."""

    starts: np.ndarray  # (S, n) int64: when each activity starts, from 0 on
    status: str = OK  # ok | timed out (there are schedules, and more time may find better ones) | unsupported
    message: str = ""  # why the status is not ok
    bound: int = 0  # units of time: a lower bound of every makespan that the method has proven

    @staticmethod
    def unsupported(n: int, message: str) -> Schedules:
        """No schedule of n activities, and the reason."""
        return Schedules(np.zeros((0, n), np.int64), UNSUPPORTED, message)


class Method(Protocol):
    """The interface of every method."""

    def schedule(self, project: Project, rng: np.random.Generator, budget: Budget) -> Schedules:
        """At most `budget.schedules` schedules of the project."""
        ...


class Best(NamedTuple):
    """The shortest of a method's schedules, judged."""

    starts: np.ndarray  # (n,) int64
    makespan: int


def best(project: Project, schedules: Schedules) -> Best:
    """The first of the shortest schedules; there must be one. Raises judge.Violation if it is no schedule."""
    ends = (schedules.starts + project.durations).max(1, initial=0)
    starts = schedules.starts[int(ends.argmin())]
    return Best(starts, judge.makespan(project, starts))


def make(settings: MethodSettings, resources: Mapping[str, object] | None = None) -> Method:
    """The method of these settings; it gets those of the resources that they need.

    Raises ValueError if a resource that it needs is missing.
    """
    method: Method = registry.make("project", settings, resources or {})
    return method


def methods() -> list[str]:
    """Names of all methods: the files of this folder."""
    return names("project")
