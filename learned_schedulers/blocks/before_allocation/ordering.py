"""Functions of intermediate code -> orders of their blocks that LLVM compiles to less code, by its own counts.

LLVM compiles every order by its default scheduling, which begins with the order in which instructions stand, and keeps
most of it. A function is searched block after block, from the order in which it stands and the learned ones
(`learned_search`), and compiled alone: a few milliseconds for each order.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from queue import SimpleQueue
from threading import Event
from typing import NamedTuple

import numpy as np

from learned_schedulers.blocks.before_allocation import learned_search, llvm
from learned_schedulers.blocks.before_allocation.alone import Parts
from learned_schedulers.blocks.before_allocation.cost import cost
from learned_schedulers.blocks.before_allocation.counts import Counts, counts
from learned_schedulers.blocks.before_allocation.dependencies import precedes
from learned_schedulers.blocks.before_allocation.effects import Effects
from learned_schedulers.blocks.before_allocation.functions import Block, Function, functions
from learned_schedulers.blocks.before_allocation.llvm import Emitter, LlvmError
from learned_schedulers.blocks.before_allocation.problem import problem
from learned_schedulers.blocks.before_allocation.reordered import reordered
from learned_schedulers.blocks.before_allocation.search import Orders

LONGEST = 5_000  # instructions of a block: its dependencies are a matrix
ACCESSES = 1_000  # of a function: LLVM's time for their pairs grows by the third power, to some ten seconds


class Limits(NamedTuple):
    """How much a search may do."""

    evaluations: int  # orders that are compiled, for each function
    ends: float = math.inf  # time.monotonic() at which it takes what it has
    every: bool = False  # also functions that LLVM compiles without spills and reloads


class Searched(NamedTuple):
    """A function after its search."""

    name: str
    orders: list[tuple[Block, np.ndarray]]  # blocks that changed
    dags: dict[tuple[str, str], np.ndarray]  # what must keep its order in them, by the names of function and block
    reasons: list[str]  # why a block or the function is as it was, if it was not for lack of a better order


class Compiled(NamedTuple):
    """The assembly of a module, and the counts of its functions."""

    assembly: str
    counts: dict[str, Counts]


def compiled(emitter: Emitter, text: str, name: str) -> Compiled:
    """A module, compiled. Raises LlvmError that names the file."""
    assembly = emitter.assembly(text, name)
    return Compiled(assembly, counts(assembly))


def search(text: str, standing: Compiled, processor: str, limits: Limits, seed: int) -> Iterator[Searched]:
    """Each function that is worth it, or that has blocks which must stay, in any sequence.

    standing: the module as it stands. Without a limit of time, the same seed gives the same orders, whatever the
    number of processes.
    """
    effects, parts = Effects(text), Parts(text)
    stop, emitters = Event(), SimpleQueue[Emitter]()
    workers = len(os.sched_getaffinity(0))

    def task(number: int, function: Function) -> Searched:
        emitter = emitters.get()
        try:
            rng = np.random.default_rng([seed, number])
            job = _Job(text, function, effects, emitter, standing.counts[function.symbol], limits, stop)
            return job.searched(parts, rng)
        finally:
            emitters.put(emitter)

    every = [Emitter(processor=processor) for _ in range(workers)]
    for emitter in every:
        emitters.put(emitter)
    pool = ThreadPoolExecutor(workers)
    try:
        tasks = []
        for number, function in enumerate(functions(text)):
            if (before := standing.counts.get(function.symbol)) is None:
                yield Searched(function.symbol, [], {}, ["LLVM writes no code for it, or not under its name"])
            elif limits.every or before.spills or before.reloads:
                tasks.append(pool.submit(task, number, function))
        for future in as_completed(tasks):
            yield future.result()
    finally:
        stop.set()
        pool.shutdown(cancel_futures=True)
        for emitter in every:
            emitter.__exit__()


class _Job(NamedTuple):
    """The search of one function."""

    text: str  # of the module
    function: Function
    effects: Effects
    emitter: Emitter
    standing: Counts
    limits: Limits
    stop: Event

    def searched(self, parts: Parts, rng: np.random.Generator) -> Searched:
        """Orders of its blocks."""
        name = self.function.symbol
        reasons = [f"{_block(block)}: {block.left_alone}" for block in self.function.blocks if block.left_alone]
        blocks = [i for i, block in enumerate(self.function.blocks) if len(block.items) > 1 and not block.left_alone]
        for i in [i for i in blocks if len(self.function.blocks[i].items) > LONGEST]:
            reasons.append(f"{_block(self.function.blocks[i])}: it has more than {LONGEST:,} instructions")
            blocks.remove(i)
        text = self._text(parts)
        if text is None:
            return Searched(name, [], {}, [*reasons, "LLVM does not compile it twice to the same counts"])
        places = next(function for function in functions(text) if function.symbol == name).blocks
        apart, reason = self._apart(parts, blocks)
        reasons += reason
        weights = learned_search.read()
        total = sum(len(self.function.blocks[i].items) for i in blocks)
        orders: dict[int, np.ndarray] = {}
        dags = {}
        for i in sorted(blocks, key=lambda i: -len(self.function.blocks[i].items)):
            block = self.function.blocks[i]
            evaluations = self.limits.evaluations * len(block.items) // total
            if evaluations < 2 or self.is_over():
                continue
            before = precedes(block, self.effects, self.function.name, apart)
            start = np.arange(len(block.items))
            judge = _Judge(self, text, [(places[k], order) for k, order in orders.items()], places[i], start)
            with suppress(_Over):
                judge([start])
                learned_search.search(problem(self.function, block, before), judge, evaluations - 1, rng, weights)
            if (judge.best != start).any():
                orders[i], dags[self.function.name, block.label] = judge.best, before
        return Searched(name, [(self.function.blocks[i], order) for i, order in orders.items()], dags, reasons)

    def _text(self, parts: Parts) -> str | None:
        """A small module in which the function compiles as in its own one, or the module itself."""
        for text in (parts.alone(self.function.at), self.text):
            try:
                answer = counts(self.emitter.assembly(text, self.function.name))
            except LlvmError:
                continue
            if answer.get(self.function.symbol) == self.standing:
                return text
        return None

    def _apart(self, parts: Parts, blocks: list[int]) -> tuple[frozenset[tuple[str, str, str]], list[str]]:
        """Pairs of accesses that LLVM proves never to touch the same bytes, and why there are none."""
        items = [item for i in blocks for item in self.function.blocks[i].items]
        if sum(item.opcode in ("load", "store") for item in items) < 2:
            return frozenset(), []
        if sum(item.opcode in ("load", "store") for block in self.function.blocks for item in block.items) > ACCESSES:
            return frozenset(), [f"it has more than {ACCESSES:,} loads and stores: stores keep their place among them"]
        try:
            return llvm.read(parts.alone(self.function.at).encode(), self.function.name).apart, []
        except LlvmError:
            return frozenset(), ["LLVM cannot read it alone: stores keep their place among loads"]

    def is_over(self) -> bool:
        """Whether the search has to end."""
        return self.stop.is_set() or time.monotonic() >= self.limits.ends


class _Over(Exception):
    """The time is over."""


class _Judge:
    """The cost of orders of a block, and the best of them."""

    def __init__(
        self, job: _Job, text: str, others: list[tuple[Block, np.ndarray]], block: Block, start: np.ndarray
    ) -> None:
        """text: the module that is compiled; others: orders of other blocks of the function."""
        self._job, self._text, self._others, self._block = job, text, others, block
        self.best, self._least = start, math.inf

    def __call__(self, orders: Orders) -> np.ndarray:
        """Costs (k,). Raises _Over if the search has to end."""
        return np.array([self._cost(order) for order in orders])

    def _cost(self, order: np.ndarray) -> float:
        if self._job.is_over():
            raise _Over
        name = self._job.function.symbol
        try:
            assembly = self._job.emitter.assembly(reordered(self._text, [*self._others, (self._block, order)]), name)
            costs = cost(counts(assembly)[name])
        except (LlvmError, KeyError):
            costs = math.inf
        if costs < self._least:
            self.best, self._least = order, costs
        return costs


def _block(block: Block) -> str:
    return f"block {block.label or 'entry'}"
