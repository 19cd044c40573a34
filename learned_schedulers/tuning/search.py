"""Better orders of a hot function's blocks, by the time that the user's own program takes with them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import NamedTuple

import numpy as np

from learned_schedulers.blocks.before_allocation import learned_search
from learned_schedulers.blocks.before_allocation.costs import Limits
from learned_schedulers.blocks.before_allocation.functions import Block, functions, reordered
from learned_schedulers.blocks.before_allocation.learned_search import Orders
from learned_schedulers.blocks.before_allocation.llvm import Emitter, LlvmError
from learned_schedulers.blocks.before_allocation.problem import problem
from learned_schedulers.blocks.before_allocation.single_function import SingleFunction
from learned_schedulers.tuning.images import Settings, image
from learned_schedulers.tuning.judging import ticks

Run = Callable[[Mapping[str, bytes]], np.ndarray]  # images by the names of their sites -> bursts of one run
_TICKS = 40_000  # of a burst: some ten microseconds


class Site(NamedTuple):
    """A function with a dispatcher in the program."""

    name: str  # of its image
    number: int  # in the results
    externals: tuple[str, ...]  # symbols of its table


class Improvement(NamedTuple):
    """The orders of a function after its search."""

    orders: dict[int, np.ndarray]  # of the blocks that changed, by their index
    ratio: float  # ticks of the best over those of the default, in the run that chose it: flattered by the choice
    control: float  # how far the default was from itself in one run, at most
    candidates: int  # that were judged


def search(
    function: SingleFunction,
    text: str,
    site: Site,
    run: Run,
    emitter: Emitter,
    limits: Limits,
    rng: np.random.Generator,
) -> Improvement:
    """The best orders that are found within the limits, block by block, the largest first.

    text: of the function alone (candidates.py), in which its blocks are those of `function.function`. The same random
    numbers do not give the same orders: the judge is a clock.
    """
    judge = _InTheProgram(function.function.symbol, text, site, run, emitter, limits, rng)
    weights = learned_search.read()
    places = next(each for each in functions(text) if each.symbol == function.function.symbol).blocks
    for index in function.blocks:
        block = function.function.blocks[index]
        of_block = problem(function.function, block, function.precedes(index))
        evaluations = limits.evaluations * len(block.items) // function.sizes(function.blocks)
        if evaluations < 2 or limits.are_over:
            continue
        judge.turn_to(index, places[index])
        with suppress(_Over):
            learned_search.search(of_block, judge, evaluations, rng, weights)
    return Improvement(judge.orders, judge.ratio, judge.control, judge.candidates)


class _Over(Exception):
    """The time is over."""


class _InTheProgram:
    """The cost of orders of a block: ticks of a call over those of the default, in one run of the program."""

    def __init__(
        self, symbol: str, text: str, site: Site, run: Run, emitter: Emitter, limits: Limits, rng: np.random.Generator
    ) -> None:
        self._symbol, self._text, self._site = symbol, text, site
        self._run, self._emitter, self._limits, self._rng = run, emitter, limits, rng
        self._default = emitter.object_file(text, symbol)
        self._places: dict[int, Block] = {}
        self._index = 0
        self.orders: dict[int, np.ndarray] = {}
        self.ratio, self.control, self.candidates = 1.0, 0.0, 0

    def turn_to(self, index: int, place: Block) -> None:
        """Judge orders of another block, with the best ones of those before it."""
        self._index, self._places[index] = index, place

    def __call__(self, orders: Orders) -> np.ndarray:
        """Costs (k,). Raises _Over if the search has to end."""
        if self._limits.are_over:
            raise _Over
        objects = [self._default, self._default]
        numbers: dict[int, int] = {}  # of an order -> of its object
        for number, order in enumerate(orders):
            with suppress(LlvmError):
                content = self._emitter.object_file(self._with(order), self._symbol)
                numbers[number] = len(objects)
                objects.append(content)
        seed = int(self._rng.integers(1 << 32))
        settings = Settings(self._site.number, _TICKS, seed)
        of_run = self._run({self._site.name: image(objects, self._symbol, self._site.externals, settings)})
        values = ticks(of_run, self._site.number, len(objects))
        default = np.nanmean(values[:2])
        self.control = max(self.control, float(abs(values[1] / values[0] - 1)))
        self.candidates += len(numbers)
        costs = np.full(len(orders), np.inf)
        for number, place in numbers.items():
            costs[number] = values[place] / default
        costs = np.nan_to_num(costs, nan=np.inf)
        best = int(costs.argmin())
        if costs[best] < self.ratio:
            self.ratio = float(costs[best])
            self.orders[self._index] = np.asarray(orders[best])
        return costs

    def _with(self, order: np.ndarray) -> str:
        chosen = {**self.orders, self._index: order}
        return reordered(self._text, [(self._places[index], each) for index, each in chosen.items()])
