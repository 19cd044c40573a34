"""One file, one method; found by the file's name. Called by the laboratory and by the console command.

`make(settings, resources)` makes a method's object; its `solve(problems, rng, budget)` orders a batch of blocks of one
length. A method receives its settings (method_settings.py) and exactly the resources that these name.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np

from learned_schedulers import methods as registry
from learned_schedulers.blocks.dag.topology import count_violations
from learned_schedulers.blocks.problems.problems import Problems
from learned_schedulers.method_settings import MethodSettings, names

OK, TIMED_OUT, UNSUPPORTED = registry.OK, registry.TIMED_OUT, registry.UNSUPPORTED
STATUSES = (OK, TIMED_OUT, UNSUPPORTED)


@dataclass(frozen=True)
class Budget:
    """What a method may spend on each block. The defaults are the least."""

    evaluations: int = 1  # orders that it times
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


def make(settings: MethodSettings, resources: Mapping[str, object]) -> Method:
    """The method of these settings. It receives the resources that its settings need or use.

    Raises ValueError if a resource that it needs is missing.
    """
    method: Method = registry.make("block", settings, resources)
    return method


def methods() -> list[str]:
    """Names of all methods: the files in this folder."""
    return names("block")


def faults(problems: Problems, solution: object, may_violate: Collection[str] = ()) -> Iterator[str]:
    """What is wrong with a solution, with the remedy. may_violate: decoders that keep no dependencies."""
    if not isinstance(solution, Solution):
        yield f"solve returned a {type(solution).__name__}; return learned_schedulers.blocks.methods.Solution"
        return
    size, n = problems.latencies.shape
    if len(solution.status) != size or len(solution.message) != size:
        yield f"{len(solution.status)} statuses and {len(solution.message)} messages of {size} blocks; give each of one"
        return
    if unknown := sorted(set(map(str, solution.status)) - set(STATUSES)):
        yield f"the status {unknown[0]!r}; it must be one of {', '.join(STATUSES)}"
    solved = np.array([status == OK for status in solution.status], bool)
    if any((message == "") != ok for message, ok in zip(solution.message, solved, strict=True)):
        yield "a message must say why a status is not ok, only then"
    if not solution.orders:
        yield "there are no orders; name the only decoder 'none'"
    for decoder, order in solution.orders.items():
        if not isinstance(order, np.ndarray) or order.dtype != np.int16 or order.shape != (size, n):
            yield f"orders of {decoder!r} must be an array int16 of shape ({size}, {n})"
        elif not np.array_equal(np.sort(order[solved], 1), np.tile(np.arange(n), (int(solved.sum()), 1))):
            yield f"an order of {decoder!r} does not have each of {n} instructions once"
        elif (order[~solved] != -1).any():
            yield f"an order of {decoder!r} of a block that is not ok must be -1 in each slot"
        elif decoder not in may_violate and count_violations(problems.precedes[solved], order[solved]).any():
            yield f"an order of {decoder!r} breaks a dependency: i must come before k where precedes[block, i, k]"
    if wrong := [name for name, values in solution.stats.items() if np.shape(values) != (size,)]:
        yield f"the stats {wrong[0]!r} must have a value for each of {size} blocks"
    elif wrong := [name for name, values in solution.stats.items() if registry.not_numbers(np.asarray(values)[solved])]:
        yield f"the stats {wrong[0]!r} of blocks that are ok must be numbers, and not NaN"
