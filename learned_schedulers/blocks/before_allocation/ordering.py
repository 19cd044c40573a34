"""Functions of intermediate code -> better orders of their blocks, by LLVM's counts; what is written."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from threading import Event
from typing import NamedTuple

import numpy as np

from learned_schedulers.blocks.before_allocation import learned_search
from learned_schedulers.blocks.before_allocation.costs import Counts, Limits, SearchResult, cost, counts
from learned_schedulers.blocks.before_allocation.emitters import Emitters
from learned_schedulers.blocks.before_allocation.functions import Block, Function, functions, reordered
from learned_schedulers.blocks.before_allocation.learned_search import Orders
from learned_schedulers.blocks.before_allocation.llvm import Emitter, LlvmError
from learned_schedulers.blocks.before_allocation.problem import problem
from learned_schedulers.blocks.before_allocation.single_function import Module, SingleFunction, single_function


def by_counts(
    function: SingleFunction, emitter: Emitter, limits: Limits, stop: Event, rng: np.random.Generator
) -> SearchResult:
    """The function after its search, which ends when its time is over, or by `stop`."""
    source, blocks = function.function, function.function.blocks
    if function.text is None:
        return SearchResult(source.symbol, [], {}, [*function.reasons])
    places = function.alone().blocks
    weights = learned_search.read()
    total = function.sizes(function.blocks)
    orders: dict[int, np.ndarray] = {}
    dags = {}
    for i in function.blocks:
        evaluations = limits.evaluations * len(blocks[i].items) // total
        if evaluations < 2 or stop.is_set() or limits.are_over:
            continue
        before = function.precedes(i)
        start = np.arange(len(blocks[i].items))
        text = reordered(function.text, [(places[k], order) for k, order in orders.items()])
        judge = _Judge(source.symbol, text, places[i], start, emitter, limits, stop)
        with suppress(_Over):
            judge([start])
            to_order = problem(source, blocks[i], before)
            learned_search.search(to_order, judge, evaluations - 1, rng, learned_search.POPULATION, weights)
        if (judge.best != start).any():
            orders[i], dags[source.name, blocks[i].label] = judge.best, before
    changed = [(blocks[i], order) for i, order in orders.items()]
    return SearchResult(source.symbol, changed, dags, [*function.reasons])


class _Over(Exception):
    """The time is over."""


class _Judge:
    """The cost of orders of a block, and the best of them."""

    def __init__(
        self, name: str, text: str, block: Block, start: np.ndarray, emitter: Emitter, limits: Limits, stop: Event
    ) -> None:
        """text: the module that is compiled."""
        self._name, self._text, self._block = name, text, block
        self._emitter, self._limits, self._stop = emitter, limits, stop
        self.best, self._least = start, math.inf

    def __call__(self, orders: Orders) -> np.ndarray:
        """Costs (k,). Raises _Over if the search has to end."""
        return np.array([self._cost(order) for order in orders])

    def _cost(self, order: np.ndarray) -> float:
        if self._stop.is_set() or self._limits.are_over:
            raise _Over
        try:
            assembly = self._emitter.assembly(reordered(self._text, [(self._block, order)]), self._name)
            costs = cost(counts(assembly)[self._name])
        except (LlvmError, KeyError):
            costs = math.inf
        if costs < self._least:
            self.best, self._least = order, costs
        return costs


class Compiled(NamedTuple):
    """The assembly of a module, and the counts of its functions."""

    assembly: str
    counts: dict[str, Counts]


def compiled(emitter: Emitter, text: str, name: str) -> Compiled:
    """A module, compiled. Raises LlvmError that names the file."""
    assembly = emitter.assembly(text, name)
    return Compiled(assembly, counts(assembly))


def search(text: str, standing: Compiled, processor: str, limits: Limits, seed: int) -> Iterator[SearchResult]:
    """Each function that is worth it, or that has blocks which must stay, in any sequence.

    standing: the module as it stands. Without a limit of time the same seed gives the same orders, whatever the number
    of processes.
    """
    module = Module.of(text)
    jobs: list[_Job] = []
    for number, function in enumerate(functions(text)):
        if (before := standing.counts.get(function.symbol)) is None:
            yield SearchResult(function.symbol, [], {}, ["LLVM writes no code for it, or not under its name"])
        elif limits.every or before.spills or before.reloads:
            jobs.append(_Job(module, function, before, (seed, number)))
    yield from _counted(jobs, processor, limits)


class _Job(NamedTuple):
    """A function to be searched."""

    module: Module
    function: Function
    standing: Counts
    seed: tuple[int, int]


def _counted(jobs: list[_Job], processor: str, limits: Limits) -> Iterator[SearchResult]:
    """Functions side by side."""
    stop, workers = Event(), len(os.sched_getaffinity(0))

    def task(job: _Job) -> SearchResult:
        with emitters.lent() as emitter:
            function = single_function(job.module, job.function, emitter, job.standing)
            return by_counts(function, emitter, limits, stop, np.random.default_rng(job.seed))

    with Emitters(workers, processor) as emitters:
        pool = ThreadPoolExecutor(workers)
        try:
            for future in as_completed([pool.submit(task, job) for job in jobs]):
                yield future.result()
        finally:
            stop.set()
            pool.shutdown(cancel_futures=True)


class Choice(NamedTuple):
    """What is written of a module."""

    text: str  # intermediate code
    compiled: Compiled
    ordered: frozenset[str]  # functions in a new order


def best_module(code: str, before: Compiled, searched: list[SearchResult], emitter: Emitter, name: str) -> Choice:
    """The module in its new orders, but for functions that are no better in them: these stay as they stood.

    A search compiles a function alone, and what counts is how it compiles within its module: there its cost has to be
    less. before: the module as it stands. Raises LlvmError that names the file.
    """
    left = {function.name: function for function in searched if function.orders}
    while left:
        text = reordered(code, [order for function in left.values() for order in function.orders])
        new = compiled(emitter, text, name)
        no_better = [each for each in left if cost(new.counts[each]) >= cost(before.counts[each])]
        if not no_better:
            return Choice(text, new, frozenset(left))
        for each in no_better:
            del left[each]
    return Choice(code, before, frozenset())
