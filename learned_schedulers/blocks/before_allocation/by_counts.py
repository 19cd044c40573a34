"""Orders of a function that LLVM compiles to less code, by its own counts.

LLVM compiles every order by its default scheduling, which begins with the order in which instructions stand, and keeps
most of it. A function is searched block after block, from the order in which it stands and the learned ones
(`learned_search`), and compiled alone: a few milliseconds for each order.
"""

from __future__ import annotations

import math
from contextlib import suppress
from threading import Event

import numpy as np

from learned_schedulers.blocks.before_allocation import learned_search
from learned_schedulers.blocks.before_allocation.cost import cost
from learned_schedulers.blocks.before_allocation.counts import counts
from learned_schedulers.blocks.before_allocation.functions import Block
from learned_schedulers.blocks.before_allocation.llvm import Emitter, LlvmError
from learned_schedulers.blocks.before_allocation.opened import Opened
from learned_schedulers.blocks.before_allocation.problem import problem
from learned_schedulers.blocks.before_allocation.reordered import reordered
from learned_schedulers.blocks.before_allocation.search import Orders
from learned_schedulers.blocks.before_allocation.searched import Limits, Searched


def by_counts(function: Opened, emitter: Emitter, limits: Limits, stop: Event, rng: np.random.Generator) -> Searched:
    """The function after its search, which ends when its time is over, or by `stop`."""
    source, blocks = function.function, function.function.blocks
    if function.text is None:
        return Searched(source.symbol, [], {}, [*function.reasons])
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
            learned_search.search(problem(source, blocks[i], before), judge, evaluations - 1, rng, weights)
        if (judge.best != start).any():
            orders[i], dags[source.name, blocks[i].label] = judge.best, before
    changed = [(blocks[i], order) for i, order in orders.items()]
    return Searched(source.symbol, changed, dags, [*function.reasons])


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
