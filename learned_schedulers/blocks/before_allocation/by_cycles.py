"""Orders of a function that are faster on this processor: its own code runs, in the confined process.

The function is called with arguments that are drawn, which say nothing about how a user calls it: blocks that these do
not reach stay as they stand. A search that measures quickly flatters the order that it chose, and the same code differs
by where it lies. So the best order is measured again, longer, in processes of its own, beside the default twice: the
second default, the control, says how much equal code differs. And it is compared with LLVM's own from many states.
Drawn arguments may ask for what is undefined, such as an index outside of a table: states are left out from which
LLVM's own schedulers differ from each other.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Self

import llvmlite.binding as llvm
import numpy as np

from learned_schedulers.blocks.before_allocation import learned_search
from learned_schedulers.blocks.before_allocation.costs import CONFIRMED, Cycles, Limits, Measurement, SearchResult
from learned_schedulers.blocks.before_allocation.drawn_inputs import (
    INTEGERS,
    BlockInFunction,
    Inputs,
    NotRunning,
    reaches,
    working_inputs,
)
from learned_schedulers.blocks.before_allocation.execution import (
    CONTENTS,
    MIXED,
    Effort,
    Executions,
    NotMeasured,
    cycles,
    drawn,
    execute,
)
from learned_schedulers.blocks.before_allocation.image import Image, NotPlaceable
from learned_schedulers.blocks.before_allocation.learned_search import Orders
from learned_schedulers.blocks.before_allocation.llvm import Emitter, LlvmError
from learned_schedulers.blocks.before_allocation.single_function import SingleFunction, named
from learned_schedulers.blocks.run.native import Native
from learned_schedulers.blocks.run.states import DOUBLES, FLOATS, POINTERS

_GROUP = re.compile(r"#(\d+)")


def missing_features(head: str, text: str) -> list[str]:
    """Features that a function's attributes name, and this processor lacks, in sequence.

    head: the first line of the function; text: its module.
    """
    groups = [f"attributes #{number} = " for number in _GROUP.findall(head.rpartition(")")[2])]
    lines = [head, *(line for line in text.split("\n") if line.startswith(tuple(groups)))]
    features = [word for line in lines for word in re.findall(r'"target-features"="([^"]*)"', line)]
    present = llvm.get_host_cpu_features()
    return [
        name[1:]
        for name in dict.fromkeys(",".join(features).split(","))
        if name.startswith("+") and not present.get(name[1:], True)  # unknown names are no instructions of LLVM's
    ]


_BATCH = 16  # candidates that are measured together, beside the default
QUICK = Effort(rounds=20, trials=12, displacements=4)


class OrderTimer:
    """A subject under conditions, in a confined process."""

    def __init__(
        self, of: BlockInFunction, where: Inputs, native: Native, emitter: Emitter, rng: np.random.Generator
    ) -> None:
        """rng: draws the sequence in which forms are measured. Raises LlvmError and NotPlaceable."""
        self._of, self._where, self._native, self._emitter = of, where, native, emitter
        self.problem = of.problem
        self._default = of.image(emitter)
        self._rng = rng

    def ratios(self, orders: Orders, effort: Effort = QUICK) -> np.ndarray:
        """Cycles of each order over the default's, (k,). Raises LlvmError, NotPlaceable and NotMeasured."""
        parts = []
        for begin in range(0, len(orders), _BATCH):
            forms = [self._of.image(self._emitter, order) for order in orders[begin : begin + _BATCH]]
            means = mean_cycles(self._of, self._native, [self._default, *forms], self._where, effort, self._rng)
            parts.append(means[1:] / means[0])
        return np.concatenate(parts)


def mean_cycles(
    of: BlockInFunction,
    native: Native,
    forms: Sequence[Image],
    where: Inputs,
    effort: Effort,
    rng: np.random.Generator,
) -> np.ndarray:
    """Mean cycles over displacements of each form, (forms,). Raises NotMeasured."""
    return cycles(native, forms, of.signature, where.values, where.start, effort, rng).mean(1)


LONG = Effort(rounds=50, trials=40, displacements=4)
_PROCESSES = 4


def confirmed_cycles(
    of: BlockInFunction, new: Image, default: Image, where: Inputs, rng: np.random.Generator
) -> Cycles:
    """Cycles of two forms of a subject. Raises NotMeasured, and OracleError if no process can be confined."""
    rows = []
    for _ in range(_PROCESSES):
        sequence = rng.permutation(3)
        with Native() as native:
            means = mean_cycles(of, native, [(default, new, default)[i] for i in sequence], where, LONG, rng)
        rows.append(means[np.argsort(sequence)])
    cycles = np.array(rows)  # (processes, 3)
    ratios, controls = cycles[:, 1] / cycles[:, 0], cycles[:, 2] / cycles[:, 0]
    first, second, _ = cycles.mean(0).tolist()
    return Cycles(
        first,
        second,
        float(ratios.mean()),
        float(ratios.min()),
        float(ratios.max()),
        float(np.abs(controls - 1).max()),
    )


REFERENCES = ("source", "list-burr", "list-ilp", "list-ilp-machine")  # LLVM's own schedulers, beside the default
_SECONDS = 5.0  # for a draw
_DRAWN = (*INTEGERS[:3], (0, 2))  # ranges of integer arguments, in turn


def compared_states(
    of: BlockInFunction, native: Native, references: list[Image], forms: list[Image], states: int, draws: int, seed: int
) -> Executions:
    """Sums over draws of arguments, each from `states` states; the reason is that of the first difference.

    references: of the subject as it stands, by the default and by other schedulers of LLVM; forms: to compare with it.
    """
    contents = CONTENTS + MIXED
    for name, masks in (("double", DOUBLES), ("float", FLOATS)):
        if re.search(rf"\b{name}\b", of.text):
            # As numbers, pointers are zero: divided by each other they give a NaN, whose sign LLVM leaves open.
            contents = (masks + masks,) if "fdiv" in of.text else (masks + masks, POINTERS + masks)
    total = Executions(0, 0, 0, 0, "")
    for number in range(draws):
        rng = np.random.default_rng([seed, number])
        values = drawn(of.signature, rng, _DRAWN[number % len(_DRAWN)])
        every = [*references, *forms]
        run = partial(execute, native, every, of.signature, values, contents, states, rng, _SECONDS)
        ran = run(len(references) - 1)
        total = Executions(
            total.ran + ran.ran,
            total.undefined + ran.undefined,
            total.different + ran.different,
            total.equal + ran.equal,
            total.reason or (ran.reason if ran.different else ""),
        )
    return total


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


def by_cycles(function: SingleFunction, bench: Bench, limits: Limits, rng: np.random.Generator) -> SearchResult:
    """The function after its search. Raises NotRunning with the reason, if it cannot be measured."""
    if function.text is None or not function.blocks:
        raise NotRunning("no block of it may change")
    try:
        return _Search(function, function.text, bench, limits, rng).searched()
    except (LlvmError, NotPlaceable, NotMeasured) as error:
        raise NotRunning(str(error)) from error


class _Search:
    """The search of one function."""

    def __init__(
        self, function: SingleFunction, text: str, bench: Bench, limits: Limits, rng: np.random.Generator
    ) -> None:
        self._function, self._bench, self._limits, self._rng = function, bench, limits, rng
        self._alone = function.alone()
        self._start = BlockInFunction(
            function.function.symbol,
            text,
            self._alone,
            self._alone.blocks[function.blocks[0]],
            function.precedes(function.blocks[0]),
        )
        if missing := missing_features(self._alone.head, text):
            raise NotRunning(f"it is compiled for {', '.join(missing)}, which this processor lacks")

    def searched(self) -> SearchResult:
        """Raises LlvmError, NotPlaceable, NotMeasured and NotRunning."""
        name, blocks = self._function.function.symbol, self._function.function.blocks
        where = working_inputs(
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
        return SearchResult(name, [(blocks[i], order) for i, order in orders.items()], dags, reasons, measurement)

    def _reached(self, where: Inputs) -> tuple[tuple[int, ...], list[str]]:
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

    def _best(self, of: BlockInFunction, where: Inputs, evaluations: int) -> np.ndarray | None:
        """The fastest order of a block; None if none seems faster than its order in the subject's text."""
        timer = OrderTimer(of, where, self._bench.native, self._bench.emitter, self._rng)
        measured: list[tuple[float, np.ndarray]] = []

        def ratios(orders: Orders) -> np.ndarray:
            if self._limits.are_over:
                raise _Over
            costs = timer.ratios(orders)
            measured.extend(zip(costs.tolist(), orders, strict=True))
            return costs

        with suppress(_Over):
            learned_search.search(of.problem, ratios, evaluations, self._rng, learned_search.read())
        best = [order for _, order in sorted(measured, key=lambda each: each[0])[:_BEST]]
        if not best:
            return None
        again = timer.ratios(best, LONG)
        return best[int(again.argmin())] if again.min() < CONFIRMED else None

    def _confirmed(self, new: BlockInFunction, where: Inputs) -> tuple[Measurement, str]:
        """Cycles of the function in its new order, and why it is not taken; no counts if it is not."""
        default, image = self._start.image(self._bench.emitter), new.image(self._bench.emitter)
        cycles = confirmed_cycles(self._start, image, default, where, self._rng)
        if not cycles.is_faster:
            return Measurement(cycles, None), ""
        references = [default, default, *(self._start.image(emitter) for emitter in self._bench.references)]
        seed = int(self._rng.integers(1 << 31))
        states = compared_states(self._start, self._bench.native, references, [image], _STATES, _DRAWS, seed)
        if states.different:
            return Measurement(cycles, None), f"its faster order leaves another state: {states.reason}"
        if states.ran <= states.undefined:
            return Measurement(cycles, None), "its orders cannot be compared: drawn arguments ask for what is undefined"
        return Measurement(cycles, new.counts(self._bench.emitter)), ""


class _Over(Exception):
    """The time is over."""
