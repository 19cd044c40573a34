"""Local search: costs are the simulator's, what belongs together stays so, few operations are scheduled best."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from learned_schedulers.conformance.graph_problems import optima, small
from learned_schedulers.graphs.devices.simulator import makespans
from learned_schedulers.graphs.method_settings import LocalSearch
from learned_schedulers.graphs.methods.local_search import Schedule, searched
from learned_schedulers.graphs.problems.problem import Problem, Transfers
from tests.graphs.devices import oracle
from tests.graphs.problems import drawn

SETTINGS = LocalSearch(method="local_search", starts=3, per_operation=10)


def ends(problem: Problem, seed: int = 0, moves: int = 2000, groups: np.ndarray | None = None) -> list[Schedule]:
    n = len(problem)
    rng = np.random.default_rng(seed)
    of_groups = np.arange(n) if groups is None else groups
    placements = [np.zeros(n, int), rng.integers(0, problem.devices, n)[of_groups]]
    starts = [(np.arange(n), placement) for placement in placements]
    return searched(problem, starts, moves, np.random.default_rng(seed), SETTINGS, groups)


@pytest.mark.parametrize("seed", range(8))
def test_makespans_are_those_of_the_schedules(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = drawn.with_sharing(drawn.problem(rng, int(rng.integers(1, 30)), int(rng.integers(1, 5))), rng)
    problem = drawn.unequal(problem, rng) if seed % 2 else problem
    for end in ends(problem, seed):
        assert end.seconds == pytest.approx(max(oracle.ends(problem, end.order, end.placement).values()), rel=1e-12)


def test_the_best_end_is_first_and_no_worse_than_a_start() -> None:
    problem = drawn.problem(np.random.default_rng(1), 40, 4)
    schedules = ends(problem)
    assert [end.seconds for end in schedules] == sorted(end.seconds for end in schedules)
    assert schedules[0].seconds < problem.seconds.sum()


def test_the_number_of_threads_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = drawn.problem(np.random.default_rng(2), 40, 4)
    several = ends(problem)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0})
    assert _lists(ends(problem)) == _lists(several)


def test_groups_share_a_device() -> None:
    problem, groups = drawn.problem(np.random.default_rng(3), 30, 3), np.arange(30) // 3
    for end in ends(problem, groups=groups):
        assert (end.placement[0::3] == end.placement[1::3]).all() and (end.placement[0::3] == end.placement[2::3]).all()


def test_weights_keep_to_the_memory() -> None:
    problem = replace(
        drawn.problem(np.random.default_rng(4), 30, 3),
        weight_bytes=np.full(30, 10.0),
        transfers=Transfers(),
        memory=110.0,
    )
    begin = np.arange(30), np.arange(30) % 3
    schedules = searched(problem, [begin], 3000, np.random.default_rng(0), SETTINGS)
    for end in schedules:
        assert np.bincount(end.placement, problem.weights).max() <= 110
    assert schedules[0].seconds < makespans(problem, begin[0][None], begin[1][None])[0]
    free = searched(replace(problem, memory=np.inf), [begin], 3000, np.random.default_rng(0), SETTINGS)
    assert max(np.bincount(end.placement, problem.weights).max() for end in free) > 110  # the limit was of effect


def test_small_graphs_are_scheduled_best() -> None:
    for problem, (optimum, _) in zip(small(), optima(), strict=True):
        assert ends(problem, moves=4000)[0].seconds == pytest.approx(optimum)


def _lists(schedules: Sequence[Schedule]) -> list[tuple[float, list[int], list[int]]]:
    return [(each.seconds, each.order.tolist(), each.placement.tolist()) for each in schedules]
