"""Transfers that wait: an example by hand, the simulator as an oracle, and what never gets faster."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from learned_schedulers.graphs.devices import judging
from learned_schedulers.graphs.devices.ordering import ordered
from learned_schedulers.graphs.devices.queues import BUSY, Busy, queued_makespans
from learned_schedulers.graphs.devices.simulator import makespans
from learned_schedulers.graphs.problems.problem import Edges, Problem, Transfers
from tests.graphs.problems import drawn


@pytest.mark.parametrize(
    ("busy", "each_child", "expected"),
    [
        ("none", True, 5.0),  # 1 runs from 3 on, 2 from 1 on, and its result arrives at 4
        ("sender", False, 7.0),  # device 0 sends until 3, computes 2 until 4, and sends until 6
        ("sender", True, 9.0),  # and before that the result of 0 a second time
        ("receiver", False, 7.0),
        ("both", True, 9.0),
        ("link", True, 8.0),
    ],
)
def test_by_hand(busy: Busy, each_child: bool, expected: float) -> None:
    """0 and 2 on device 0; 1 reads 0, and 3 reads both, on device 1. A second for each, two for a transfer."""
    children = Edges(np.array([0, 2, 2, 3, 3], np.int32), np.array([1, 3, 3], np.int32))
    problem = Problem(np.ones(4), np.ones(4), children, 2, Transfers(delay=2.0))
    orders, placements = np.array([[0, 1, 2, 3]], np.int32), np.array([[0, 1, 0, 1]], np.int32)
    assert queued_makespans(problem, orders, placements, busy, each_child).tolist() == [expected]


@pytest.mark.parametrize("seed", range(4))
def test_waiting_costs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = replace(drawn.problem(rng, 30, 4, 0.1), transfers=Transfers(slope=0.2, delay=0.1))
    placements = rng.integers(0, 4, (20, 30)).astype(np.int32)
    orders = ordered(problem, placements)
    free = makespans(problem, orders, placements)
    for each_child in (False, True):
        of = {busy: queued_makespans(problem, orders, placements, busy, each_child) for busy in BUSY}
        assert of["none"] == pytest.approx(free)
        assert (of["sender"] <= of["both"] + 1e-9).all() and (of["receiver"] <= of["both"] + 1e-9).all()
        assert all((of[busy] >= free - 1e-9).all() for busy in BUSY) and (of["both"] > free).any()
    zero = replace(problem, transfers=Transfers())
    assert queued_makespans(zero, orders, placements, "both") == pytest.approx(makespans(zero, orders, placements))


def test_targets_of_the_test_bed_have_their_strengths_in_their_names() -> None:
    problem = drawn.problem(np.random.default_rng(0))
    orders = np.arange(len(problem), dtype=np.int32)[None]
    placements = (np.arange(len(problem), dtype=np.int32) % problem.devices)[None]
    weak, strong = (
        judging.target_of(f"blocking_{kind}", "ab" * 32, problem, judging.strengths(), {})
        for kind in ("latency_0.1", "bandwidth_2")
    )
    assert weak.seconds(orders, placements) < strong.seconds(orders, placements)
    with pytest.raises(ValueError, match="schedule 0, slot 1: operation 0 appears for the second time"):
        weak.seconds(np.zeros_like(orders), placements)
    with pytest.raises(ValueError, match="no target 'blocking_latency'"):
        judging.target_of("blocking_latency", "ab" * 32, problem, judging.strengths(), {})
