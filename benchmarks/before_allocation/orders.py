"""Orders of every method for a subject: of one candidate, and of searches that measure up to a thousand."""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np

from learned_schedulers.blocks.before_allocation import learned_search, llvm
from learned_schedulers.blocks.before_allocation.conditions import Conditions
from learned_schedulers.blocks.before_allocation.confirmed import LONG
from learned_schedulers.blocks.before_allocation.cost import cost
from learned_schedulers.blocks.before_allocation.learned_search import Weights, untrained
from learned_schedulers.blocks.before_allocation.methods import METHODS, Method
from learned_schedulers.blocks.before_allocation.policy import follow
from learned_schedulers.blocks.before_allocation.problem import Problem
from learned_schedulers.blocks.before_allocation.search import Costs, Orders, improve
from learned_schedulers.blocks.before_allocation.stand import Stand
from learned_schedulers.blocks.before_allocation.subject import Subject
from learned_schedulers.blocks.run.native import Native

BUDGETS = (1, 10, 100, 1000)  # candidates that a search measures
_FEWER = ("random_legal", "randomised_pressure_list", "moves", "learned_by_counts")
FEWER = dict.fromkeys(_FEWER, 100)  # most candidates of these
_LEADERS = 12  # of a search's orders that are measured again: the least of many measurements is flattered by noise


class Ordered(NamedTuple):
    """The best order of a method, by its own measurements."""

    method: str
    candidates: int
    order: np.ndarray  # (n,)
    seconds: float  # until then


class Recorded(Stand):
    """A stand that records what it measures."""

    def __init__(self, of: Subject, where: Conditions, native: Native, emitter: llvm.Emitter, seed: int) -> None:
        super().__init__(of, where, native, emitter, generator(of, seed))
        self.judged: list[np.ndarray] = []  # all orders of searches so far

    def searched(self, orders: Orders) -> np.ndarray:
        """Ratios of a search's orders, which are remembered."""
        self.judged += orders
        return self.ratios(orders)

    def again(self, orders: Orders) -> np.ndarray:
        """Ratios with more effort."""
        return self.ratios(orders, LONG)

    def costs(self, orders: Orders) -> np.ndarray:
        """Costs by judge 1's counts, (k,). Raises LlvmError."""
        return np.array([cost(self._of.counts(self._emitter, order)) for order in orders])


def generator(of: Subject, seed: int) -> np.random.Generator:
    """What draws the sequences in which a subject is measured."""
    return np.random.default_rng([seed, zlib.crc32(of.name.encode())])


def of_one_candidate(problem: Problem, learned: Weights, seed: int) -> Iterator[Ordered]:
    """The order of each method that measures nothing, but for that of the program: it is LLVM's default."""
    for name, method in METHODS.items():
        if name == "input_order":
            continue
        began = time.perf_counter()
        order = method(problem, np.random.default_rng(seed))
        yield Ordered(name, 1, order, time.perf_counter() - began)
    follow(problem, learned.centre)  # compiles the kernel
    began = time.perf_counter()
    order = follow(problem, learned.centre)
    yield Ordered("learned", 1, order, time.perf_counter() - began)


def searched(problem: Problem, stand: Recorded, learned: Weights, most: int, seed: int) -> Iterator[Ordered]:
    """The best order of each search after 10, 100, ... candidates, up to `most`."""
    start = np.arange(len(problem.folded))
    searches: dict[str, Search] = {
        name: partial(_draw, METHODS[name], problem) for name in ("random_legal", "randomised_pressure_list")
    }
    searches["moves"] = lambda costs_of, candidates, rng: improve(problem.precedes, start, costs_of, candidates, rng)
    for name, weights in (("evolution", untrained()), ("learned_evolution", learned)):
        searches[name] = partial(_evolve, problem, weights)
    for name, search in searches.items():
        trace = _Trace(stand.searched, stand.again)
        candidates = min(most, FEWER.get(name, most))
        search(trace, candidates, np.random.default_rng(seed))
        for budget in BUDGETS[1:]:
            if budget <= candidates:
                yield trace.best(name, budget)
    by_counts = _Trace(stand.costs)
    by_counts([start])
    learned_search.search(problem, by_counts, FEWER["learned_by_counts"] - 1, np.random.default_rng(seed), learned)
    yield by_counts.best("learned_by_counts", FEWER["learned_by_counts"])


Search = Callable[[Costs, int, np.random.Generator], object]


def _draw(method: Method, problem: Problem, costs_of: Costs, candidates: int, rng: np.random.Generator) -> None:
    costs_of([method(problem, rng) for _ in range(candidates)])


def _evolve(problem: Problem, weights: Weights, costs_of: Costs, candidates: int, rng: np.random.Generator) -> None:
    learned_search.search(problem, costs_of, candidates, rng, weights)


class _Trace:
    """What a search judged: each order with its first cost, and when."""

    def __init__(self, costs_of: Costs, again: Costs | None = None) -> None:
        """again: judges the leaders at the end."""
        self._costs_of, self._again, self._began = costs_of, again, time.perf_counter()
        self._judged: dict[bytes, tuple[np.ndarray, float, float]] = {}

    def __call__(self, orders: Orders) -> np.ndarray:
        costs = self._costs_of(orders)
        now = time.perf_counter() - self._began
        for order, of_order in zip(orders, costs.tolist(), strict=True):
            self._judged.setdefault(order.tobytes(), (order, of_order, now))
        return costs

    def best(self, method: str, budget: int) -> Ordered:
        """The best of the first orders; equal ones count once."""
        first = list(self._judged.values())[:budget]
        leaders = [order for order, _, _ in sorted(first, key=lambda each: each[1])[:_LEADERS]]
        order = leaders[int(np.argmin(self._again(leaders)))] if self._again else leaders[0]
        return Ordered(method, budget, order, first[-1][2])
