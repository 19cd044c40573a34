"""One file, one method: each proposes schedules of a computation graph on several devices.

`make(settings, resources)` gives a method's object; `propose(problem, rng, budget)` what it proposes for one graph. It
sees the proxy, a problem without transfers; a method whose settings need the target is given that too. What of the
proposals counts is the same for all methods: rules/keeping.py. What several methods share stands in rules/.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from importlib import import_module
from pathlib import Path
from typing import Protocol

import numpy as np

from pipeline.config.graph_methods import GraphMethodSettings
from pipeline.graphs.problems.problem import Problem

OK, TIMED_OUT, UNSUPPORTED = "ok", "timed out", "unsupported"


@dataclass(frozen=True)
class Budget:
    """What a method may spend on a graph. A method has the least of what it is not given."""

    proposals: int = 1000  # schedules that it may hand over
    evaluations: int = 1  # schedules that it may simulate to find them
    seconds: float = 0.0  # deterministic ones: a solver's measure of its own work

    @staticmethod
    def of(settings: GraphMethodSettings) -> Budget:
        """What the settings allow: those of the same names."""
        given = {limit.name: getattr(settings, limit.name, None) for limit in fields(Budget)}
        return Budget(**{name: value for name, value in given.items() if value is not None})


@dataclass(frozen=True)
class Proposals:
    """What a method says of a graph of n operations: S schedules, none where it is not supported."""

    orders: np.ndarray  # (S, n) int32, orders[s, t] = operation in slot t
    placements: np.ndarray  # (S, n) int32, device of each operation
    status: str = OK  # ok | timed out (there are schedules, and more time may find better ones) | unsupported
    message: str = ""  # why it is not ok
    stats: dict[str, np.ndarray] = field(default_factory=dict)
    # evaluations, best, seconds: (C,) each, the least cost seen after so many evaluations and seconds of the clock
    # (rules/curve.py); bound: (), no schedule takes less on the proxy

    @staticmethod
    def unsupported(n: int, message: str) -> Proposals:
        """No schedule of n operations, and why."""
        nothing = np.zeros((0, n), np.int32)
        return Proposals(nothing, nothing, UNSUPPORTED, message)


class Method(Protocol):
    """Every method is this small."""

    def propose(self, problem: Problem, rng: np.random.Generator, budget: Budget) -> Proposals:
        """At most `budget.proposals` schedules of the problem, which has no transfers."""
        ...


def make(settings: GraphMethodSettings, resources: Mapping[str, object] | None = None) -> Method:
    """The method of an entry. It is handed those of the resources that its settings say it needs.

    `target`: a Target (devices/targets.py), of the very graph that is to be scheduled.
    Raises ValueError where one that it needs is missing.
    """
    given = resources or {}
    if missing := sorted(settings.needs - set(given)):
        raise ValueError(f"the method {settings.method!r} is not given what it needs: {', '.join(missing)}")
    module = import_module(f"pipeline.graphs.schedulers.{settings.method}")
    method: Method = module.make(settings, **{name: given[name] for name in settings.needs})
    return method


def methods() -> list[str]:
    """Names of all methods: the files of this folder."""
    files = (path for folder in __path__ for path in Path(folder).glob("*.py"))
    return sorted(path.stem for path in files if not path.stem.startswith("_"))
