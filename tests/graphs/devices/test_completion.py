"""Schedules from decisions: decided devices stay, and HEFT decides open ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from learned_schedulers.graphs.devices.completion import (
    LEVELS,
    OFFSETS,
    OPEN,
    PLAIN,
    Completion,
    Decisions,
    earliest_finish,
)
from learned_schedulers.graphs.problems.problem import Edges, Problem
from tests.graphs.problems import drawn

Sizes = st.tuples(st.integers(0, 2**32 - 1), st.integers(1, 40), st.integers(1, 5), st.floats(0, 0.5))


@given(Sizes)
def test_with_everything_open_it_is_hefts_schedule(sizes: tuple[int, int, int, float]) -> None:
    seed, n, m, density = sizes
    problem = drawn.problem(np.random.default_rng(seed), n, m, density)
    schedule = Completion(problem)(Decisions.open(n))
    placement, begins = earliest_finish(problem)
    assert schedule.placements[0].tolist() == placement.tolist()
    assert schedule.ends[0] == pytest.approx(begins + problem.seconds)


@given(Sizes)
def test_what_is_decided_is_kept_and_the_order_is_topological(sizes: tuple[int, int, int, float]) -> None:
    seed, n, m, density = sizes
    rng = np.random.default_rng(seed)
    problem = drawn.problem(rng, n, m, density)
    devices = rng.integers(OPEN, m, (4, n)).astype(np.int8)
    decisions = Decisions(devices, rng.integers(0, LEVELS, (4, n)).astype(np.int8))
    schedules = Completion(problem)(decisions)  # the evaluation refuses orders that are not topological
    assert (schedules.placements[devices >= 0] == devices[devices >= 0]).all()
    assert (np.sort(schedules.orders, 1) == np.arange(n)).all()
    again = Completion(problem)(decisions[[2]])
    assert again.orders.tolist() == schedules.orders[[2]].tolist()


def test_levels_are_symmetric_and_one_changes_nothing() -> None:
    assert len(OFFSETS) == LEVELS and OFFSETS[PLAIN] == 0 and (np.diff(OFFSETS) > 0).all()


def test_a_higher_level_goes_first_but_never_before_what_it_needs() -> None:
    edges = Edges(np.array([0, 1, 1, 1], np.int32), np.array([1], np.int32))  # 0 -> 1, and a separate 2
    problem = Problem(np.array([1.0, 1.0, 1.0]), np.zeros(3), edges, 1)
    level = np.full((2, 3), PLAIN, np.int8)
    level[1, 2] = LEVELS - 1
    level[0, 1] = LEVELS - 1
    orders = Completion(problem)(Decisions(np.full((2, 3), OPEN, np.int8), level)).orders
    assert orders[0].tolist() == [0, 1, 2]  # 0, which 1 needs, is as urgent as 1
    assert orders[1].tolist() == [0, 2, 1]  # 2 comes before 1, whose path to the end has the same length


def test_open_operations_go_where_their_weights_have_room() -> None:
    nothing = Edges(np.zeros(4, np.int32), np.zeros(0, np.int32))
    weight_bytes = np.array([6.0, 5.0, 5.0])
    problem = Problem(np.array([3.0, 1.0, 1.0]), np.zeros(3), nothing, 2, weight_bytes=weight_bytes, memory=10.0)
    schedule = Completion(problem)(Decisions.open(3))
    assert schedule.placements[0].tolist() == [0, 1, 1] and schedule.fits.all()
    tight = Completion(replace(problem, memory=8.0))(Decisions.open(3))
    assert not tight.fits.any() and np.isinf(tight.costs).all() and tight.excess[0] == pytest.approx(2 / 8)
