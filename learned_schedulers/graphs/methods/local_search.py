"""Local search from many starts: short walks first, and then longer ones from the best of them.

One walk ends in a local optimum, and ten times as many moves from the same start change little. So three quarters of
the moves are shared by many short walks (rules/walking.py), which begin with the schedules of several heuristics in
turn, now warm, now hot; the rest goes on from the two best ones. Temperatures and numbers were chosen by
`python -m benchmarks.graph_search`, on development graphs.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import repeat
from typing import NamedTuple

import numpy as np

from learned_schedulers.graphs.devices.completion import earliest_finish
from learned_schedulers.graphs.devices.ordering import by_times
from learned_schedulers.graphs.devices.simulator import makespans, peaks
from learned_schedulers.graphs.devices.targets import Target
from learned_schedulers.graphs.method_settings import LocalSearch as Settings
from learned_schedulers.graphs.methods import Budget, Proposals
from learned_schedulers.graphs.methods.rules.listing import by_critical_path
from learned_schedulers.graphs.methods.rules.walking import Ground, walk
from learned_schedulers.graphs.problems.problem import Problem

Progress = Callable[[int, float], object]  # called with moves that were made, of all, and the least makespan so far
_AT_ONCE = 2  # walks that go on from the best ones, so that two cores are busy


class Schedule(NamedTuple):
    """A schedule and its makespan."""

    seconds: float
    order: np.ndarray  # (n,) int32
    placement: np.ndarray  # (n,) int32


def no_progress(moves: int, seconds: float) -> None:
    """Tell nobody."""


class LocalSearch:
    unequal = True

    def __init__(self, settings: Settings, target: Target | None = None) -> None:
        self._settings, self._target = settings, target

    def propose(self, problem: Problem, rng: np.random.Generator, budget: Budget) -> Proposals:
        began = time.perf_counter()
        visible = self._target.mean if self._target else problem
        points: list[tuple[int, float, float]] = []  # moves, the least makespan, and seconds of the clock

        def note(moves: int, least: float) -> None:
            points.append((moves, least, time.perf_counter() - began))

        starts = [by_critical_path(visible), _by_heft(visible)]
        note(1, float(makespans(visible, *(part[None] for part in starts[0]))[0]))
        ends = searched(visible, starts, budget.evaluations, rng, self._settings, progress=note)[: budget.proposals]
        evaluations, best, seconds = (np.array(part) for part in zip(*points, strict=True))
        stats = {"evaluations": evaluations, "best": best, "seconds": seconds}
        return Proposals(np.stack([end.order for end in ends]), np.stack([end.placement for end in ends]), stats=stats)


def searched(
    problem: Problem,
    starts: Sequence[tuple[np.ndarray, np.ndarray]],
    moves: int,
    rng: np.random.Generator,
    settings: Settings,
    groups: np.ndarray | None = None,
    progress: Progress = no_progress,
) -> list[Schedule]:
    """The best schedule of each walk, the shortest first.

    starts: orders and placements, (n,) each, of the first walks, in turn; groups: (n,), operations of the same group
    share a device, as they do at each start; progress: called after each walk. No walk fills a device beyond its memory
    by an estimate (`_loads`); whether a schedule fits is for the caller to see. Walks run on as many threads as the
    process may use; their number changes no result.
    """
    ground = Ground.of(problem, groups)

    def walked(begin: tuple[np.ndarray, np.ndarray], hot: float, moves: int, rng: np.random.Generator) -> Schedule:
        order, placement = begin[0].astype(np.int32), begin[1].astype(np.int32)  # copies
        seconds = float(makespans(problem, order[None], placement[None])[0])
        loads, room = _loads(problem, order, placement)
        if seconds and moves:
            temperatures = seconds * hot, seconds * settings.cold
            seconds = walk(ground, loads, room, order, placement, temperatures, moves, rng)
        return Schedule(seconds, order, placement)

    first = max(1, min(settings.starts, moves * 3 // 4 // (settings.per_operation * max(len(problem), 1))))
    of_first = moves * 3 // 4 // first
    last = min(_AT_ONCE, first)
    of_last = (moves - first * of_first) // last
    begins, ends, spent = [starts[number % len(starts)] for number in range(first)], list[Schedule](), 0
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as threads:
        for hot, of_each in (([settings.warm, settings.hot] * first, of_first), ([settings.warm] * last, of_last)):
            for end in threads.map(walked, begins, hot, repeat(of_each), rng.spawn(len(begins))):
                ends.append(end)
                spent += of_each
                progress(spent, min(end.seconds for end in ends))
            begins = [(end.order, end.placement) for end in sorted(ends, key=lambda end: end.seconds)[:last]]
    return sorted(ends, key=lambda end: end.seconds)


def _loads(problem: Problem, order: np.ndarray, placement: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What each operation takes of its device's memory, (n,) bytes, and what is left of it in a schedule, (m,) bytes.

    Weights count, and a share of each result: as many as there are at the worst time of the schedule.
    """
    if not problem.limited:
        return problem.weights, np.full(problem.devices, np.inf)
    weights, results = (np.bincount(placement, part, problem.devices) for part in (problem.weights, problem.sizes))
    in_use = peaks(problem, order, placement)
    fullest = int((in_use / problem.memories).argmax())
    share = max(in_use[fullest] - weights[fullest], 0.0) / max(results[fullest], 1.0)
    return problem.weights + share * problem.sizes, np.maximum(problem.memories - weights - share * results, 0.0)


def _by_heft(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    placement, starts = earliest_finish(problem)
    return by_times(starts, starts + problem.seconds_on(placement)), placement


make = LocalSearch
