"""Orders of every method for a subject: of one candidate, and of searches that measure up to a thousand."""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from benchmarks.before_allocation.subject import Conditions, Subject, measured
from learned_schedulers.blocks.before_allocation import learned_search, llvm
from learned_schedulers.blocks.before_allocation.learned_search import Weights, untrained
from learned_schedulers.blocks.before_allocation.measured import Effort
from learned_schedulers.blocks.before_allocation.methods import METHODS
from learned_schedulers.blocks.before_allocation.policy import follow
from learned_schedulers.blocks.before_allocation.problem import Problem
from learned_schedulers.blocks.before_allocation.search import move
from learned_schedulers.blocks.run.native import Native

BUDGETS = (1, 10, 100, 1000)  # candidates that a search measures
REPEATED = {"random_legal": 100, "randomised_pressure_list": 100}  # methods whose best of so many draws counts
_BATCH = 16  # candidates that are measured together, beside the default
QUICK = Effort(rounds=20, trials=12, displacements=4)


class Ordered(NamedTuple):
    """The best order of a method, by its own measurements."""

    method: str
    candidates: int
    order: np.ndarray  # (n,)
    seconds: float  # until then


class Stand:
    """What measures orders of a subject: ratios of cycles to those of LLVM's default, beside it in each batch."""

    def __init__(
        self, of: Subject, where: Conditions, native: Native, kept: llvm.Emitter, default: llvm.Emitter, seed: int
    ) -> None:
        self._of, self._where, self._native, self._kept = of, where, native, kept
        self._default = of.image(default)
        self._rng = np.random.default_rng([seed, zlib.crc32(of.name.encode())])
        self.judged: list[np.ndarray] = []  # all orders so far

    def ratios(self, orders: Sequence[np.ndarray]) -> np.ndarray:
        """Cycles of each order over the default's, (k,). Raises LlvmError, NotPlaceable and NotMeasured."""
        self.judged += orders
        parts = []
        for begin in range(0, len(orders), _BATCH):
            forms = [self._of.image(self._kept, order) for order in orders[begin : begin + _BATCH]]
            cycles = measured(self._of, self._native, [self._default, *forms], self._where, QUICK, self._rng)
            parts.append(cycles[1:] / cycles[0])
        return np.concatenate(parts)


def of_one_candidate(problem: Problem, learned: Weights, seed: int) -> Iterator[Ordered]:
    """The order of each method that measures nothing."""
    for name, method in METHODS.items():
        began = time.perf_counter()
        order = method(problem, np.random.default_rng(seed))
        yield Ordered(name, 1, order, time.perf_counter() - began)
    follow(problem, learned.centre)  # compiles the kernel
    began = time.perf_counter()
    order = follow(problem, learned.centre)
    yield Ordered("learned", 1, order, time.perf_counter() - began)


def searched(problem: Problem, stand: Stand, learned: Weights, most: int, seed: int) -> Iterator[Ordered]:
    """The best order of each search after 10, 100, ... candidates, up to `most`."""
    for name, draws in REPEATED.items():
        rng = np.random.default_rng([seed, 1])
        yield from _at_budgets(name, [METHODS[name](problem, rng) for _ in range(min(draws, most))], stand)
    began = time.perf_counter()
    rng = np.random.default_rng([seed, 2])
    yield from _traced("moves", most, began, lambda note: _moves(problem, stand.ratios, most, rng, note))
    for name, weights in (("evolution", untrained()), ("learned_evolution", learned)):
        began, rng = time.perf_counter(), np.random.default_rng([seed, 3])

        def evolve(note: Note, weights: Weights = weights, rng: np.random.Generator = rng) -> None:
            def costs_of(orders: Sequence[np.ndarray]) -> np.ndarray:
                ratios = stand.ratios(orders)
                note(orders, ratios)
                return ratios

            learned_search.search(problem, costs_of, most, rng, weights)

        yield from _traced(name, most, began, evolve)


Note = Callable[[Sequence[np.ndarray], np.ndarray], None]


def _traced(name: str, most: int, began: float, search: Callable[[Note], None]) -> Iterator[Ordered]:
    """Run a search that notes each batch; the best order within each budget."""
    orders: list[np.ndarray] = []
    ratios: list[float] = []
    ends: list[float] = []

    def note(batch: Sequence[np.ndarray], of_batch: np.ndarray) -> None:
        orders.extend(batch)
        ratios.extend(of_batch.tolist())
        ends.extend([time.perf_counter() - began] * len(batch))

    search(note)
    for budget in BUDGETS[1:]:
        if budget <= most:
            best = int(np.argmin(ratios[:budget]))
            yield Ordered(name, budget, orders[best], ends[min(budget, len(ends)) - 1])


def _at_budgets(name: str, orders: Sequence[np.ndarray], stand: Stand) -> Iterator[Ordered]:
    began = time.perf_counter()

    def search(note: Note) -> None:
        for begin in range(0, len(orders), _BATCH):
            batch = orders[begin : begin + _BATCH]
            note(batch, stand.ratios(batch))

    yield from _traced(name, len(orders), began, search)


def _moves(
    problem: Problem,
    ratios: Callable[[Sequence[np.ndarray]], np.ndarray],
    most: int,
    rng: np.random.Generator,
    note: Note,
) -> None:
    """Search by moves (search.py), a batch of neighbours at a time: the best of them is kept if it is better."""
    best = np.arange(len(problem.folded))
    least = float(ratios([best])[0])
    note([best], np.array([least]))
    count = 1
    while count < most:
        batch = [
            moved
            for _ in range(min(_BATCH // 2, most - count))
            if (moved := move(problem.precedes, best, rng)) is not None
        ]
        if not batch:
            return
        of_batch = ratios([best, *batch])  # the best is measured again: it was chosen by a low measurement
        note(batch, of_batch[1:])
        count += len(batch)
        if of_batch[1:].min() < of_batch[0]:
            best = batch[int(np.argmin(of_batch[1:]))]
