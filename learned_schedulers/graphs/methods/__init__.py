"""One file, one method: each proposes schedules of a computation graph on several devices.

`make(settings, resources)` returns a method's object; its `propose(problem, rng, budget)` returns proposals for a
graph. A method sees the proxy, a problem without transfers; a method whose settings need the target also gets the
target. One rule for all methods chooses among the proposals: rules/keeping.py. Shared code is in rules/.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from learned_schedulers import methods as registry
from learned_schedulers.graphs.problems.problem import Problem
from learned_schedulers.method_settings import MethodSettings, names

OK, TIMED_OUT, UNSUPPORTED = registry.OK, registry.TIMED_OUT, registry.UNSUPPORTED


@dataclass(frozen=True)
class Budget:
    """What a method may spend on a graph; the defaults hold for settings that have no such limit."""

    proposals: int = 1000  # schedules that it may hand over
    evaluations: int = 1  # schedules that it may simulate to find them
    seconds: float = 0.0  # deterministic seconds: a solver's measure of its own work

    @staticmethod
    def of(settings: MethodSettings) -> Budget:
        """The budget that the settings allow: their values of the same names."""
        return registry.allowed(Budget, settings)


@dataclass(frozen=True)
class Proposals:
    """A method's proposals for a graph of n operations: S schedules; none if it does not support the graph."""

    orders: np.ndarray  # (S, n) int32, orders[s, t] = operation in slot t
    placements: np.ndarray  # (S, n) int32, device of each operation
    status: str = OK  # ok | timed out (there are schedules, and more time may find better ones) | unsupported
    message: str = ""  # why the status is not ok
    stats: dict[str, np.ndarray] = field(default_factory=dict)
    # evaluations, best, seconds: (C,) each, the least cost after that many evaluations, and after that much wall time
    # (rules/proposing.py); bound: (), a lower bound of the makespan on the proxy

    @staticmethod
    def unsupported(n: int, message: str) -> Proposals:
        """No schedule of n operations, and the reason."""
        nothing = np.zeros((0, n), np.int32)
        return Proposals(nothing, nothing, UNSUPPORTED, message)


class Method(Protocol):
    """The interface of every method. One that also knows devices that differ has the attribute `unequal`, True."""

    def propose(self, problem: Problem, rng: np.random.Generator, budget: Budget) -> Proposals:
        """At most `budget.proposals` schedules of the problem, which has no transfers."""
        ...


@dataclass
class _EqualAlone:
    """A method that knows equal devices and links alone."""

    method: Method
    name: str

    def propose(self, problem: Problem, rng: np.random.Generator, budget: Budget) -> Proposals:
        if not problem.equal:
            return Proposals.unsupported(len(problem), f"devices or links differ; {self.name} knows equal ones alone")
        return self.method.propose(problem, rng, budget)


def make(settings: MethodSettings, resources: Mapping[str, object] | None = None) -> Method:
    """The method of an entry; it gets those of the resources that its settings need.

    `target`: a Target (devices/targets.py) of the graph that is to be scheduled.
    Raises ValueError if a resource that it needs is missing.
    """
    method: Method = registry.make("graph", settings, resources or {})
    return method if getattr(method, "unequal", False) else _EqualAlone(method, settings.method)


def methods() -> list[str]:
    """Names of all methods: the files of this folder."""
    return names("graph")
