"""Of equally good orders, the one near list scheduling: legal, never longer, and list scheduling's own if possible."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.graphs.devices.simulator import makespans
from pipeline.graphs.devices.targets import proxy
from pipeline.graphs.problems.problem import Edges, Problem
from pipeline.graphs.schedulers.rules.listing import by_critical_path
from pipeline.graphs.schedulers.rules.settling import by_tails, makespan, settled
from tests.graphs.problems import drawn


def distance(a: np.ndarray, b: np.ndarray) -> int:
    """Number of pairs of operations that two orders have in opposite sequence."""
    slots = np.argsort(a), np.argsort(b)
    before = [slot[:, None] < slot[None] for slot in slots]
    return int((before[0] & ~before[1]).sum())


@given(st.integers(0, 2**32 - 1), st.integers(1, 20), st.integers(1, 4))
@settings(max_examples=60, deadline=None)
def test_settled_orders_are_legal_no_longer_and_no_farther(seed: int, n: int, devices: int) -> None:
    rng = np.random.default_rng(seed)
    problem = proxy(drawn.problem(rng, n, devices)).draws[0]
    order = drawn.schedules(problem, rng, 1)[0][0]
    ranked, near = by_tails(problem), settled(problem, order)
    slot = np.argsort(near)
    assert sorted(near.tolist()) == list(range(n))
    assert (slot[problem.children.sources] < slot[problem.children.targets]).all()
    assert makespan(problem, near) <= makespan(problem, order) * (1 + 1e-9)
    if makespan(problem, ranked) <= makespan(problem, order):
        assert near.tolist() == ranked.tolist()
    assert distance(near, ranked) <= distance(order, ranked)
    assert settled(problem, near).tolist() == near.tolist()


def test_priorities_of_list_scheduling_give_its_schedule() -> None:
    for seed in range(20):
        problem = proxy(drawn.problem(np.random.default_rng(seed), 30)).draws[0]
        order, placement = by_critical_path(problem)
        assert makespan(problem, by_tails(problem)) == makespans(problem, order[None], placement[None])[0]


def test_by_hand() -> None:
    """Two devices, run times 3, 3, 2, 2, 2: the longest first take 7 s, the pair of 3 together 6 s."""
    times = np.array([3.0, 3.0, 2.0, 2.0, 2.0])
    problem = Problem(times, np.ones(5), Edges(np.zeros(6, np.int32), np.zeros(0, np.int32)), 2)
    assert makespan(problem, by_tails(problem)) == 7.0
    best = np.array([3, 4, 2, 0, 1], np.int32)
    assert makespan(problem, best) == pytest.approx(7.0)
    best = np.array([0, 2, 3, 1, 4], np.int32)
    assert makespan(problem, best) == pytest.approx(6.0)
    near = settled(problem, best)
    assert makespan(problem, near) == 6.0 and near.tolist() == [0, 2, 3, 1, 4]
