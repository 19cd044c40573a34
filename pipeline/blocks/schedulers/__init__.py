"""One file, one method; found by the file's name. Called by stages, benchmarks and the console command.

`make(entry, resources)` gives a method's object; `solve(problems, rng, budget)` its answer to a batch of blocks of one
length. A method is given its settings (config/methods/<method>.py) and exactly what these say it needs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from importlib import import_module
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np

from pipeline.blocks.problems.problems import Problems
from pipeline.config.methods import RESOURCES, Entry, MethodSettings

OK, TIMED_OUT, UNSUPPORTED = "ok", "timed out", "unsupported"


@dataclass(frozen=True)
class Budget:
    """What a method may spend on each block. A method has the least of what it is not given."""

    evaluations: int = 1  # orders timed
    states: int = 1  # beginnings of orders looked at
    nodes: int = 1  # of a search tree
    seconds: float = 0.0  # deterministic ones: a solver's measure of its own work

    @staticmethod
    def of(settings: MethodSettings) -> Budget:
        """What the settings allow: those of the same names."""
        given = {one.name: getattr(settings, one.name, None) for one in fields(Budget)}
        return Budget(**{name: value for name, value in given.items() if value is not None})


@dataclass(frozen=True)
class Solution:
    """What a method says of B problems of n instructions."""

    orders: dict[str, np.ndarray]  # decoder -> (B, n) int16, order[b, t] = instruction in slot t; -1 where not ok
    status: np.ndarray  # (B,) str: ok | timed out | unsupported
    message: np.ndarray  # (B,) str: why it is not ok
    stats: dict[str, np.ndarray] = field(default_factory=dict)  # (B,) each; meaningless where not ok:
    # cycles: of the first decoder's order by the machine's model; bound: no legal order takes fewer;
    # confidence: probability that a network gives to the first decoder's order

    @staticmethod
    def of(orders: dict[str, np.ndarray], **stats: np.ndarray) -> Solution:
        """All problems are solved."""
        size = len(next(iter(orders.values())))
        return Solution(orders, np.full(size, OK, object), np.full(size, "", object), stats)

    @staticmethod
    def unsupported(problems: Problems, message: Sequence[str]) -> Solution:
        """No problem is solved; of each is said why."""
        size, n = problems.latencies.shape
        nothing = {"none": np.full((size, n), -1, np.int16)}
        return Solution(nothing, np.full(size, UNSUPPORTED, object), np.array(message, object))

    def within(self, chosen: np.ndarray, message: Sequence[str]) -> Solution:
        """This solution of the problems that are `chosen`, (B,) bool; of the others, unsupported, is said why."""
        orders = {name: np.full((len(chosen), order.shape[1]), -1, np.int16) for name, order in self.orders.items()}
        stats = {name: np.zeros(len(chosen), values.dtype) for name, values in self.stats.items()}
        for whole, part in ((orders, self.orders), (stats, self.stats)):
            for name, values in part.items():
                whole[name][chosen] = values
        statuses, messages = np.full(len(chosen), UNSUPPORTED, object), np.full(len(chosen), "", object)
        statuses[chosen], messages[chosen], messages[~chosen] = self.status, self.message, list(message)
        return Solution(orders, statuses, messages, stats)


class Method(Protocol):
    """Every method is this small."""

    def solve(self, problems: Problems, rng: np.random.Generator, budget: Budget) -> Solution:
        """Orders of a batch of B problems for each decoder, and a status for each problem."""
        ...


@runtime_checkable
class Decoding(Method, Protocol):
    """A method whose decoders can be run one by one, as who times them does."""

    decoders: tuple[str, ...]

    def decode(
        self, problems: Problems, rng: np.random.Generator, budget: Budget, decoders: Sequence[str]
    ) -> dict[str, np.ndarray]:
        """Orders of these decoders alone: name -> (B, n)."""
        ...


def make(entry: Entry, resources: Mapping[str, object]) -> Method:
    """The method of an entry. It is handed those of the resources that its settings say it needs, or uses.

    Raises ValueError where one that it needs is missing.
    """
    settings = entry.settings
    if missing := sorted(settings.needs - set(resources)):
        said = ", ".join(f"{name} ({RESOURCES[name]})" for name in missing)
        raise ValueError(f"the method {entry.method!r} is not given what it needs: {said}")
    given = {name: what for name, what in resources.items() if name in settings.needs | settings.uses}
    made: Method = import_module(f"pipeline.blocks.schedulers.{entry.method}").make(settings, **given)
    return made


def methods() -> list[str]:
    """Names of all methods: the files of this folder."""
    files = (path for folder in __path__ for path in Path(folder).glob("*.py"))
    return sorted(path.stem for path in files if not path.stem.startswith("_"))
