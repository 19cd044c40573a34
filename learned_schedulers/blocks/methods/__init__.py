"""One file, one method; found by the file's name. Called by the laboratory and by the console command.

`make(entry, resources)` makes a method's object; its `solve(problems, rng, budget)` orders a batch of blocks of one
length. A method receives its settings (its class `Settings`) and exactly the resources that these name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np

from learned_schedulers import methods as registry
from learned_schedulers.blocks.method_settings import Entry, MethodSettings
from learned_schedulers.blocks.problems.problems import Problems

OK, TIMED_OUT, UNSUPPORTED = registry.OK, registry.TIMED_OUT, registry.UNSUPPORTED


@dataclass(frozen=True)
class Budget:
    """What a method may spend on each block. The defaults are the least."""

    evaluations: int = 1  # orders that it times
    states: int = 1  # beginnings of orders that it visits
    nodes: int = 1  # of a search tree that it visits
    seconds: float = 0.0  # deterministic: a solver's measure of its own work

    @staticmethod
    def of(settings: MethodSettings) -> Budget:
        """The budget that settings of the same names allow."""
        return registry.allowed(Budget, settings)


@dataclass(frozen=True)
class Solution:
    """A method's answer to B problems of n instructions."""

    orders: dict[str, np.ndarray]  # decoder -> (B, n) int16, order[b, t] = instruction in slot t; -1 where not ok
    status: np.ndarray  # (B,) str: ok | timed out | unsupported
    message: np.ndarray  # (B,) str: why it is not ok; else empty
    stats: dict[str, np.ndarray] = field(default_factory=dict)  # (B,) each; meaningless where not ok:
    # cycles: of the first decoder's order in the machine's model; bound: no legal order takes fewer cycles;
    # confidence: probability of the first decoder's order, by a network

    @staticmethod
    def of(orders: dict[str, np.ndarray], **stats: np.ndarray) -> Solution:
        """A solution in which all problems are solved."""
        size = len(next(iter(orders.values())))
        return Solution(orders, np.full(size, OK, object), np.full(size, "", object), stats)

    @staticmethod
    def unsupported(problems: Problems, message: Sequence[str]) -> Solution:
        """A solution in which no problem is solved. message: why, for each problem."""
        size, n = problems.latencies.shape
        orders = {"none": np.full((size, n), -1, np.int16)}
        return Solution(orders, np.full(size, UNSUPPORTED, object), np.array(message, object))

    def scattered_to(self, chosen: np.ndarray, message: Sequence[str]) -> Solution:
        """This solution for `chosen` of B problems, (B,) bool; the others are unsupported. message: why, for each."""
        orders = {name: np.full((len(chosen), order.shape[1]), -1, np.int16) for name, order in self.orders.items()}
        stats = {name: np.zeros(len(chosen), values.dtype) for name, values in self.stats.items()}
        for whole, part in ((orders, self.orders), (stats, self.stats)):
            for name, values in part.items():
                whole[name][chosen] = values
        statuses, messages = np.full(len(chosen), UNSUPPORTED, object), np.full(len(chosen), "", object)
        statuses[chosen], messages[chosen], messages[~chosen] = self.status, self.message, list(message)
        return Solution(orders, statuses, messages, stats)


class Method(Protocol):
    """What every method implements."""

    def solve(self, problems: Problems, rng: np.random.Generator, budget: Budget) -> Solution:
        """Orders of a batch of B problems for each decoder, and a status for each problem."""
        ...


@runtime_checkable
class Decoding(Method, Protocol):
    """A method whose decoders can run one by one, so that each can be timed."""

    decoders: tuple[str, ...]

    def decode(
        self, problems: Problems, rng: np.random.Generator, budget: Budget, decoders: Sequence[str]
    ) -> dict[str, np.ndarray]:
        """Orders by these decoders alone: name -> (B, n)."""
        ...


def make(entry: Entry, resources: Mapping[str, object]) -> Method:
    """The method of an entry. It receives the resources that its settings need or use.

    Raises ValueError if a resource that it needs is missing.
    """
    method: Method = registry.make("block", entry.method, entry.settings, resources)
    return method


def methods() -> list[str]:
    """Names of all methods: the files in this folder."""
    return registry.names("block")
