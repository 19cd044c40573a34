"""Transfers that keep devices busy: an example by hand, and the simulator as an oracle."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from learned_schedulers.graphs.devices import judging
from learned_schedulers.graphs.devices.blocking import blocking_makespans
from learned_schedulers.graphs.devices.ordering import ordered
from learned_schedulers.graphs.devices.simulator import makespans
from learned_schedulers.graphs.problems.problem import Edges, Problem, Transfers
from tests.graphs.problems import drawn


def test_by_hand() -> None:
    """0 and 2 on device 0; 1 reads 0, and 3 reads both, on device 1. A second for each, two for a transfer."""
    children = Edges(np.array([0, 2, 2, 3, 3], np.int32), np.array([1, 3, 3], np.int32))
    problem = Problem(np.ones(4), np.ones(4), children, 2, Transfers(delay=2.0))
    orders, placements = np.array([[0, 1, 2, 3]], np.int32), np.array([[0, 1, 0, 1]], np.int32)
    # Device 0 sends until 3, computes 2 until 4, and sends until 6; device 1 computes 1 meanwhile, and 3 from 6 on.
    assert blocking_makespans(problem, orders, placements).tolist() == [7.0]


@pytest.mark.parametrize("seed", range(4))
def test_waiting_costs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = replace(drawn.problem(rng, 30, 4, 0.1), transfers=Transfers(slope=0.2, delay=0.1))
    placements = rng.integers(0, 4, (20, 30)).astype(np.int32)
    orders = ordered(problem, placements)
    free, blocked = makespans(problem, orders, placements), blocking_makespans(problem, orders, placements)
    assert (blocked >= free - 1e-9).all() and (blocked > free).any()
    zero = replace(problem, transfers=Transfers())
    assert blocking_makespans(zero, orders, placements) == pytest.approx(makespans(zero, orders, placements))
    alone = np.zeros_like(placements)
    assert blocking_makespans(problem, orders, alone) == pytest.approx(makespans(problem, orders, alone))


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
