"""Orders of a function that are faster on this processor: its own code runs, in the confined process.

The function is called with arguments that are drawn, which say nothing about how a user calls it: blocks that these do
not reach stay as they stand. The best order is confirmed, and compared with LLVM's own from many states.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import replace
from typing import Self

import numpy as np

from learned_schedulers.blocks.before_allocation import learned_search
from learned_schedulers.blocks.before_allocation.compared import REFERENCES, compared
from learned_schedulers.blocks.before_allocation.conditions import Conditions, NotRunning, conditions, reaches
from learned_schedulers.blocks.before_allocation.confirmed import LONG, confirmed
from learned_schedulers.blocks.before_allocation.host import missing_features
from learned_schedulers.blocks.before_allocation.image import NotPlaceable
from learned_schedulers.blocks.before_allocation.llvm import Emitter, LlvmError
from learned_schedulers.blocks.before_allocation.measured import NotMeasured
from learned_schedulers.blocks.before_allocation.opened import Opened, named
from learned_schedulers.blocks.before_allocation.search import Orders
from learned_schedulers.blocks.before_allocation.searched import CONFIRMED, Limits, Measurement, Searched
from learned_schedulers.blocks.before_allocation.stand import Stand
from learned_schedulers.blocks.before_allocation.subject import Subject
from learned_schedulers.blocks.run.native import Native

SECONDS = 20.0  # for finding arguments
_BEST = 12  # orders of a search that are measured longer: the least of many measurements is flattered by noise
_STATES, _DRAWS = 24, 8  # compared at the end


class Bench:
    """Processes that compile for this processor, and the one that runs what they compiled."""

    def __init__(self, native: Native) -> None:
        self.native, self.emitter = native, Emitter()
        self.references = [Emitter(scheduler) for scheduler in REFERENCES]  # LLVM's own orders

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """End the processes that compile."""
        for emitter in (self.emitter, *self.references):
            emitter.__exit__()


def by_cycles(function: Opened, bench: Bench, limits: Limits, rng: np.random.Generator) -> Searched:
    """The function after its search. Raises NotRunning with the reason, if it cannot be measured."""
    if function.text is None or not function.blocks:
        raise NotRunning("no block of it may change")
    try:
        return _Search(function, function.text, bench, limits, rng).searched()
    except (LlvmError, NotPlaceable, NotMeasured) as error:
        raise NotRunning(str(error)) from error


class _Search:
    """The search of one function."""

    def __init__(self, function: Opened, text: str, bench: Bench, limits: Limits, rng: np.random.Generator) -> None:
        self._function, self._bench, self._limits, self._rng = function, bench, limits, rng
        self._alone = function.alone()
        self._start = Subject(
            function.function.symbol,
            text,
            self._alone,
            self._alone.blocks[function.blocks[0]],
            function.precedes(function.blocks[0]),
        )
        if missing := missing_features(self._alone.head, text):
            raise NotRunning(f"it is compiled for {', '.join(missing)}, which this processor lacks")

    def searched(self) -> Searched:
        """Raises LlvmError, NotPlaceable, NotMeasured and NotRunning."""
        name, blocks = self._function.function.symbol, self._function.function.blocks
        where = conditions(
            self._start, self._bench.native, self._bench.emitter, min(self._limits.ends, time.monotonic() + SECONDS)
        )
        reached, unreached = self._reached(where)
        reasons = [*self._function.reasons, *unreached]
        total = self._function.sizes(reached)
        orders: dict[int, np.ndarray] = {}
        now, dags = self._start, {}
        for i in reached:
            evaluations = self._limits.measured * len(blocks[i].items) // total
            if evaluations < 1 or self._limits.are_over:
                continue
            now = replace(now, block=self._alone.blocks[i], precedes=self._function.precedes(i))
            order = self._best(now, where, evaluations)
            if order is not None:
                now = replace(now, text=now.ordered(order))
                orders[i], dags[self._function.function.name, blocks[i].label] = order, now.precedes
        measurement, reason = self._confirmed(now, where) if orders else (Measurement(None, None), "")
        if reason:
            reasons.append(reason)
        if measurement.counts is None:
            orders, dags = {}, {}
        return Searched(name, [(blocks[i], order) for i, order in orders.items()], dags, reasons, measurement)

    def _reached(self, where: Conditions) -> tuple[tuple[int, ...], list[str]]:
        """Blocks that run under these conditions, the largest first, and why the others stay."""
        reached, reasons = [], []
        for i in self._function.blocks:
            block = self._alone.blocks[i]
            if i == self._function.blocks[0] or reaches(
                replace(self._start, block=block), where, self._bench.native, self._bench.emitter
            ):
                reached.append(i)
            else:
                reasons.append(f"{named(block)}: not reached by the arguments that were drawn")
        return tuple(reached), reasons

    def _best(self, of: Subject, where: Conditions, evaluations: int) -> np.ndarray | None:
        """The fastest order of a block; None if none seems faster than its order in the subject's text."""
        stand = Stand(of, where, self._bench.native, self._bench.emitter, self._rng)
        measured: list[tuple[float, np.ndarray]] = []

        def ratios(orders: Orders) -> np.ndarray:
            if self._limits.are_over:
                raise _Over
            costs = stand.ratios(orders)
            measured.extend(zip(costs.tolist(), orders, strict=True))
            return costs

        with suppress(_Over):
            learned_search.search(of.problem, ratios, evaluations, self._rng, learned_search.read())
        best = [order for _, order in sorted(measured, key=lambda each: each[0])[:_BEST]]
        if not best:
            return None
        again = stand.ratios(best, LONG)
        return best[int(again.argmin())] if again.min() < CONFIRMED else None

    def _confirmed(self, new: Subject, where: Conditions) -> tuple[Measurement, str]:
        """Cycles of the function in its new order, and why it is not taken; no counts if it is not."""
        default, image = self._start.image(self._bench.emitter), new.image(self._bench.emitter)
        cycles = confirmed(self._start, image, default, where, self._rng)
        if not cycles.is_faster:
            return Measurement(cycles, None), ""
        references = [default, default, *(self._start.image(emitter) for emitter in self._bench.references)]
        seed = int(self._rng.integers(1 << 31))
        states = compared(self._start, self._bench.native, references, [image], _STATES, _DRAWS, seed)
        if states.different:
            return Measurement(cycles, None), f"its faster order leaves another state: {states.reason}"
        if states.ran <= states.undefined:
            return Measurement(cycles, None), "its orders cannot be compared: drawn arguments ask for what is undefined"
        return Measurement(cycles, new.counts(self._bench.emitter)), ""


class _Over(Exception):
    """The time is over."""
