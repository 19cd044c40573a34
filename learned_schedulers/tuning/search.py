"""The search for the fastest version of a hot function, by the time that the user's own program takes with it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import zip_longest
from typing import NamedTuple

import numpy as np

from learned_schedulers.blocks.before_allocation import learned_search
from learned_schedulers.blocks.before_allocation.emitters import Emitters
from learned_schedulers.blocks.before_allocation.learned_search import Costs, Orders
from learned_schedulers.blocks.before_allocation.problem import Problem, problem
from learned_schedulers.blocks.before_allocation.single_function import SingleFunction, movable
from learned_schedulers.tuning.hot_file import DEFAULT, LLVM, Choice, HotFile, begins_in_order, neighbours
from learned_schedulers.tuning.images import NotPlaceable
from learned_schedulers.tuning.judging import PATIENCE, Judge, Site

_BURSTS, _MORE_BURSTS = 60, 400  # of each version: in a search, and to choose among the best
_BEST = 6  # versions that are judged again at the end
_ORDERS_OF_A_BLOCK = 2000  # that are judged by one setting, at most
_SETTINGS = 3  # ways of LLVM, whose orders are searched while there is time
FOR_OPTIONS = 0.4  # of the time, at most: ways without orders
_MOST_TOGETHER = 4  # populations in one run, where that takes long
_BATCH = 12  # versions that are compiled and judged together
EQUAL = 0.005  # of the time, by which equal code differs


# What to order, costs of orders, how many may be judged, random numbers, how many together.
OfBlock = Callable[[Problem, Costs, int, np.random.Generator, int], object]


class Judged(NamedTuple):
    """A version of a function, and its time over that of LLVM's default."""

    choice: Choice
    ratio: float


class Found(NamedTuple):
    """What a search has found."""

    best: list[Judged]  # the fastest first; judged again, all in one run
    by_gcc: float  # the same of GCC's version; NaN if there is none
    control: float  # how far the default was from itself in that run
    judged: int  # versions
    progress: list[tuple[float, float]]  # seconds since the begin, and the best ratio so far: flattered by the choice
    reasons: tuple[str, ...]  # why something was left alone


def versions(
    file: HotFile, symbol: str, emitters: Emitters, earlier: Sequence[Choice]
) -> tuple[dict[Choice, bytes], list[str]]:
    """Versions of a function that need no search, LLVM's default first, and those of an earlier search.

    The second result says which could not be compiled. Equal objects stand once. Raises LlvmError without the default.
    """

    def compiled(choice: Choice) -> bytes | str:
        try:
            return file.version(symbol, choice, emitters)
        except ValueError as error:
            return f"{choice}: {error}"

    by_choice = {Choice(DEFAULT): file.version(symbol, Choice(DEFAULT), emitters)}
    reasons: list[str] = []
    choices = [*(Choice(how) for how in (*LLVM, "gcc", "clang")), *earlier]
    for choice, content in zip(choices, emitters.beside(compiled, choices), strict=True):
        if isinstance(content, str):
            reasons.append(content)
        elif content not in by_choice.values():
            by_choice[choice] = content
    return by_choice, reasons


class Search:
    """The search of one function."""

    def __init__(self, file: HotFile, site: Site, judge: Judge, emitters: Emitters, rng: np.random.Generator) -> None:
        self._file, self._site, self._judge, self._emitters, self._rng = file, site, judge, emitters, rng
        self._began = time.monotonic()
        self._ratios: dict[Choice, float] = {}
        self._objects: dict[Choice, bytes] = {}
        self._best = 1.0
        self._progress: list[tuple[float, float]] = []
        self.tell: Callable[[int, float], None] = lambda judged, best: None

    def run(
        self, ready: dict[Choice, bytes], of_block: OfBlock, seconds: float, for_options: float = FOR_OPTIONS
    ) -> Found:
        """Search for some seconds, of which a share is for other ways without orders.

        ready: from `versions`; of_block: how the orders of a block are searched. Raises NotPlaceable if not even the
        default can be judged, and BenchmarkError if the benchmark fails.
        """
        ends = self._began + seconds
        default = ready[Choice(DEFAULT)]
        reasons = self._judge_ready(ready)
        self._options(default, self._began + for_options * seconds)
        ways = [each.how for each in sorted(self._ratios, key=self._ratios.__getitem__) if begins_in_order(each.how)]
        for how in [*dict.fromkeys(ways)][:_SETTINGS]:  # the best one has its time first
            code = self._file.code(how)
            of_module = movable(code.module, code.functions[self._site.function])
            reasons += [each for each in of_module.reasons if each not in reasons]
            self._orders(of_module, how, of_block, ends)
        best, by_gcc, control = self._again(default, ready.get(Choice("gcc")))
        return Found(best, by_gcc, control, len(self._ratios), self._progress, tuple(reasons))

    def _judge_ready(self, ready: dict[Choice, bytes]) -> list[str]:
        placeable, reasons = {}, []
        for choice, content in ready.items():
            try:
                self._judge.check(self._site, content)
                placeable[choice] = content
            except NotPlaceable as error:
                reasons.append(f"{choice}: {error}")
        self._note(placeable, self._values(list(placeable.values()), _BURSTS * 2, ready[Choice(DEFAULT)]))
        if not self._ratios:
            raise NotPlaceable("its versions cannot be loaded into the program, or it is called too seldom")
        return reasons

    def _values(self, objects: Sequence[bytes], bursts: int, default: bytes) -> np.ndarray:
        """Ticks of versions, over those of the default; infinite for one that was not judged."""
        values = self._judge.ticks(self._site, [default, default, *objects], bursts, int(self._rng.integers(1 << 32)))
        usual = values[:2][np.isfinite(values[:2])]
        if not len(usual):
            return np.full(len(objects), np.inf)
        return np.nan_to_num(values[2:] / usual.mean(), nan=np.inf)

    def _note(self, objects: dict[Choice, bytes], ratios: np.ndarray) -> None:
        for (choice, content), ratio in zip(objects.items(), ratios.tolist(), strict=True):
            if np.isfinite(ratio):
                self._ratios[choice], self._objects[choice] = ratio, content
                self._best = min(self._best, ratio)
        self._progress.append((time.monotonic() - self._began, self._best))
        keep = sorted(self._ratios, key=lambda each: self._ratios[each])[: 4 * _BEST]
        self._objects = {choice: self._objects[choice] for choice in keep if choice in self._objects}
        self.tell(len(self._ratios), self._best)

    def _options(self, default: bytes, ends: float) -> None:
        """Ways next to the best of LLVM and of GCC, until the time is over or none is left."""
        ways_so_far = {choice.how for choice in self._ratios}
        while time.monotonic() < ends:
            best = [choice.how for choice in sorted(self._ratios, key=self._ratios.__getitem__)]
            of_kinds = [
                [way for how in best if how.startswith(kind) for way in neighbours(how) if way not in ways_so_far]
                for kind in ("llvm", "gcc")
            ]
            batch = [*dict.fromkeys(way for pair in zip_longest(*of_kinds) for way in pair if way)][:_BATCH]
            if not batch:
                return
            ways_so_far |= {*batch}
            objects = self._emitters.beside(self._placeable, map(Choice, batch))
            contents = {None, *self._objects.values()}
            new = {content: Choice(how) for how, content in zip(batch, objects, strict=True) if content not in contents}
            placeable = {choice: content for content, choice in new.items() if content}
            if placeable:
                self._note(placeable, self._values(list(placeable.values()), _BURSTS, default))

    def _placeable(self, choice: Choice) -> bytes | None:
        """A version, if there can be one, and the judge can have it."""
        with suppress(ValueError):  # all that may go wrong with one
            content = self._file.version(self._site.function, choice, self._emitters)
            self._judge.check(self._site, content)
            return content
        return None

    def _orders(self, function: SingleFunction, how: str, of_block: OfBlock, ends: float) -> None:
        """Orders of its blocks by one setting, the largest first; each begins with the best of those before."""
        default = self._objects.get(Choice(DEFAULT)) or self._file.version(
            self._site.function, Choice(DEFAULT), self._emitters
        )
        sizes = function.sizes(function.blocks)
        for index in function.blocks:
            block = function.function.blocks[index]
            block_ends = time.monotonic() + (ends - time.monotonic()) * len(block.items) / max(sizes, 1)
            sizes -= len(block.items)
            best = min(self._ratios, key=lambda each: self._ratios[each] if each.how == how else np.inf)

            def costs(orders: Orders, index: int = index, best: Choice = best, ends: float = block_ends) -> np.ndarray:
                if time.monotonic() > ends:
                    raise _Over
                rest = [each for each in best.orders if each[0] != index]
                choices = [Choice(how, tuple(sorted([*rest, (index, tuple(order.tolist()))]))) for order in orders]
                texts = [self._file.ordered(self._site.function, choice) for choice in choices]
                objects = self._emitters.all(best.scheduler, texts, self._file.name)
                compiled = {choice: each for choice, each in zip(choices, objects, strict=True) if each is not None}
                self._note(compiled, self._values(list(compiled.values()), _BURSTS, default))
                return np.array([self._ratios.get(choice, np.inf) for choice in choices])

            if time.monotonic() < block_ends:
                problem_of_block = problem(function.function, block, function.precedes(index))
                with suppress(_Over):
                    of_block(problem_of_block, costs, _ORDERS_OF_A_BLOCK, self._rng, self._together(best))

    def _together(self, choice: Choice) -> int:
        """How many orders to judge in one run: more, if that takes longer than compiling; not for seldom calls."""
        if self._judge.seconds > PATIENCE * _BURSTS:
            return learned_search.POPULATION
        began = time.monotonic()
        self._file.version(self._site.function, choice, self._emitters)
        seconds = learned_search.POPULATION * (time.monotonic() - began)  # for compiling
        return learned_search.POPULATION * int(np.clip(self._judge.seconds / seconds, 1, _MOST_TOGETHER))

    def _again(self, default: bytes, of_gcc: bytes | None) -> tuple[list[Judged], float, float]:
        """The best versions and GCC's, judged once more in one run, and how far the default is from itself there."""
        best = sorted(self._objects, key=lambda each: self._ratios[each])[:_BEST]
        versions_again = [default, default, of_gcc or default, *(self._objects[each] for each in best)]
        values = self._values(versions_again, _MORE_BURSTS, default)
        judged = [Judged(choice, float(value)) for choice, value in zip(best, values[3:], strict=True)]
        by_gcc = float(values[2]) if of_gcc else float("nan")
        return sorted(judged, key=lambda each: each.ratio), by_gcc, float(np.abs(values[:2] - 1).max())


class _Over(Exception):
    """The time is over."""
