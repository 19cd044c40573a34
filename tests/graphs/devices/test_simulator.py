"""The simulator against plain Python over networkx, by hand, and on invalid schedules."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from learned_schedulers.graphs.devices.evaluation import evaluated
from learned_schedulers.graphs.devices.simulator import makespans, peaks, starts
from learned_schedulers.graphs.problems.problem import Edges, Problem, Transfers
from tests.graphs.devices import oracle
from tests.graphs.problems import drawn

# 0 -> 1, 0 -> 2, both -> 3
DIAMOND = Problem(
    seconds=np.array([1.0, 2.0, 4.0, 1.0]),
    sizes=np.array([10.0, 1.0, 1.0, 1.0]),
    children=Edges(np.array([0, 2, 3, 4, 4], np.int32), np.array([1, 2, 3, 3], np.int32)),
    devices=2,
    transfers=Transfers(slope=0.1, delay=0.5),
)
ORDER = np.array([0, 1, 2, 3])


def test_by_hand() -> None:
    """One device takes the sum; on two, operation 2 waits for 1.5 s of transfer, and operation 3 for .6 s."""
    together, apart = np.zeros(4, int), np.array([0, 0, 1, 0])
    assert makespans(DIAMOND, np.stack([ORDER, ORDER]), np.stack([together, apart])).tolist() == [8.0, 8.1]
    assert starts(DIAMOND, ORDER, apart).tolist() == pytest.approx([0.0, 1.0, 2.5, 7.1])
    assert DIAMOND.critical_path == 6.0 and DIAMOND.bound == 6.0
    # Device 1 holds the copy of operation 0 (10 bytes) from 1.0 and its own result from 2.5.
    assert peaks(DIAMOND, ORDER, apart).tolist() == pytest.approx([11.0, 11.0])


@pytest.mark.parametrize("seed", range(4))
def test_as_the_oracle_on_random_schedules(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(15):
        problem = drawn.problem(rng, int(rng.integers(1, 20)), int(rng.integers(1, 5)), float(rng.random()))
        if rng.random() < 0.5:
            problem = drawn.with_sharing(problem, rng)
        orders, placements = drawn.schedules(problem, rng, 5)
        seconds = makespans(problem, orders, placements)
        for order, placement, makespan in zip(orders, placements, seconds, strict=True):
            assert makespan == pytest.approx(max(oracle.ends(problem, order, placement).values()), rel=1e-12)
            assert makespan >= problem.critical_path * (1 - 1e-12)
            assert peaks(problem, order, placement) == pytest.approx(oracle.peaks(problem, order, placement))


def test_no_operation_takes_no_time() -> None:
    empty = Problem(np.zeros(0), np.zeros(0), Edges(np.zeros(1, np.int32), np.zeros(0, np.int32)), 2)
    none = np.zeros((3, 0), np.int32)
    assert makespans(empty, none, none).tolist() == [0.0, 0.0, 0.0] and empty.bound == 0.0


@pytest.mark.parametrize(
    ("order", "placement", "message"),
    [
        ([0, 1, 3, 2], [0, 0, 0, 0], "slot 2: operation 3 comes before operation 2"),
        ([0, 1, 1, 3], [0, 0, 0, 0], "slot 2: operation 1 appears for the second time"),
        ([0, 1, 2, 4], [0, 0, 0, 0], "slot 3: there is no operation 4; there are 4"),
        ([0, 1, 2, 3], [0, 0, 2, 0], "slot 2: operation 2 is on device 2; there are 2"),
    ],
)
def test_what_is_no_schedule_is_named(order: list[int], placement: list[int], message: str) -> None:
    with pytest.raises(ValueError, match=f"schedule 1, {message}"):
        makespans(DIAMOND, np.array([ORDER, order]), np.array([[0, 0, 0, 0], placement]))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"seconds": np.array([1.0, np.nan, 1.0, 1.0])}, "operation 1 has nan seconds"),
        ({"sizes": np.array([1.0, 1.0, -1.0, 1.0])}, "operation 2 has -1.0 bytes"),
        ({"children": Edges(DIAMOND.children.offsets, np.array([1, 2, 3, 0], np.int32))}, "edge 2 -> 0 does not go"),
        ({"devices": 0}, "0 devices"),
    ],
)
def test_bad_problems_name_their_operation(changed: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(DIAMOND, **changed)


@pytest.mark.parametrize("seed", range(4))
def test_equal_times_are_equal_although_their_sums_are_rounded(seed: int) -> None:
    """Tenths of seconds, whose sums are rounded: operations and transfers of several devices end at the same times."""
    rng = np.random.default_rng(seed)
    for _ in range(25):
        problem = drawn.problem(rng, int(rng.integers(2, 15)), int(rng.integers(1, 4)), float(rng.random()))
        if rng.random() < 0.5:
            problem = drawn.with_sharing(problem, rng)
        tenths = rng.integers(0 if rng.random() < 0.3 else 1, 6, len(problem)) / 10
        problem = replace(problem, seconds=tenths, transfers=Transfers(0.0, float(rng.integers(0, 3)) / 10))
        orders, placements = drawn.schedules(problem, rng, 5)
        exact = [oracle.peaks(problem, *schedule) for schedule in zip(orders, placements, strict=True)]
        simulated = [peaks(problem, *schedule) for schedule in zip(orders, placements, strict=True)]
        np.testing.assert_allclose(simulated, exact, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(evaluated(problem, orders, placements).peaks, exact, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("seconds", [[0.1, 0.4], [0.4, 0.1, 0.7], [1e6, 1e-7]])
def test_a_result_without_readers_is_freed_when_its_operation_ends(seconds: list[float]) -> None:
    """One result is there at a time, also one of an operation that is very short beside the time at which it runs."""
    n = len(seconds)
    sizes = np.arange(1.0, n + 1)
    problem = Problem(np.array(seconds), sizes, Edges(np.zeros(n + 1, np.int32), np.zeros(0, np.int32)), 1)
    order, placement = np.arange(n, dtype=np.int32), np.zeros(n, np.int32)
    assert peaks(problem, order, placement) == [n]
    limited = evaluated(replace(problem, memory=n + 0.5), order[None], placement[None])
    assert limited.peaks.tolist() == [[n]] and limited.fits.all()


def test_memory_that_is_free_at_a_time_is_available_at_that_time() -> None:
    n = 400  # a chain whose times are rounded: two results are there at a time, never three
    chain = Edges(np.r_[np.arange(n), n - 1].astype(np.int32), np.arange(1, n, dtype=np.int32))
    for seed in range(5):
        problem = Problem(np.random.default_rng(seed).random(n), np.ones(n), chain, 1)
        assert peaks(problem, np.arange(n), np.zeros(n, np.int32)) == [2.0]
