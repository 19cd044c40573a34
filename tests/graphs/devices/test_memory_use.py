"""What a growing schedule holds: equal to the simulator's peaks, and room that is found is room that is kept."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from learned_schedulers.graphs.devices.completion import OPEN, Completion, Decisions
from learned_schedulers.graphs.devices.memory_use import Needs, empty, occupy, room
from learned_schedulers.graphs.devices.simulator import makespans, peaks
from learned_schedulers.graphs.problems.problem import Edges, Problem, Transfers
from tests.graphs.problems import drawn

Sizes = st.tuples(st.integers(0, 2**32 - 1), st.integers(1, 25), st.integers(1, 4), st.floats(0, 0.5))


def problem(rng: np.random.Generator, n: int, m: int, density: float) -> Problem:
    """With results in parts, some of which last; without shared weights, which count longer here than they last."""
    with_parts = drawn.with_sharing(drawn.problem(rng, n, m, density), rng)
    return replace(drawn.problem(rng, n, m, density), children=with_parts.children, results=with_parts.results)


def times(job: Problem, order: np.ndarray, placement: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """When each operation starts and ends, (n,), without the rounding of `simulator.starts`."""
    begins, ends, free = np.zeros(len(job)), np.zeros(len(job)), np.zeros(job.devices)
    for i in order:
        begins[i] = max(free[placement[i]], arrival(job, ends, placement, i))
        ends[i] = free[placement[i]] = begins[i] + job.seconds[i]
    return begins, ends


def arrival(job: Problem, ends: np.ndarray, placement: np.ndarray, i: int) -> float:
    """When everything that an operation reads is on its device."""
    above = job.parents.targets[job.parents.offsets[i] : job.parents.offsets[i + 1]]
    return float((ends[above] + np.where(placement[above] == placement[i], 0.0, job.delays[above])).max(initial=0.0))


@pytest.mark.slow
@given(Sizes)
def test_a_whole_schedule_holds_what_the_simulator_says(sizes: tuple[int, int, int, float]) -> None:
    seed, n, m, density = sizes
    rng = np.random.default_rng(seed)
    job = problem(rng, n, m, density)
    job = replace(job, seconds=job.seconds + 0.01, memory=1e9)  # lasting results of the last moment count here alone
    orders, placements = drawn.schedules(job, rng, 1)
    begins, ends = times(job, orders[0], placements[0])
    needs = Needs.of(job)
    use = empty(needs, m)
    for i in orders[0]:
        occupy(needs, use, job.arrays, i, placements[0, i], needs.weights[i], placements[0], begins, ends)
    used = [use.used[device, : use.counts[device]].max(initial=0.0) for device in range(m)]
    np.testing.assert_allclose(used + use.weights, peaks(job, orders[0], placements[0]), rtol=1e-9)
    assert use.remaining[0] == pytest.approx(0, abs=1e-9)


@given(Sizes, st.floats(0.1, 1.5))
def test_room_that_is_found_is_kept(sizes: tuple[int, int, int, float], share: float) -> None:
    """Operations that all find room never hold more than the memory, whatever comes after them."""
    seed, n, m, density = sizes
    rng = np.random.default_rng(seed)
    job = problem(rng, n, m, density)
    job = replace(job, memory=share * float(job.weights.sum() + job.parts.sizes.sum()) / m)
    orders, placements = drawn.schedules(job, rng, 1)
    needs, placement = Needs.of(job), placements[0]
    use = empty(needs, m)
    begins, ends, free = np.zeros(n), np.zeros(n), np.zeros(m)
    for i in orders[0]:
        device = placement[i]
        ready = max(free[device], arrival(job, ends, placement, i))
        begins[i], excess = room(needs, use, ends, i, device, needs.weights[i], ready)
        assert begins[i] >= ready
        if excess > 0:
            return
        ends[i] = free[device] = begins[i] + job.seconds[i]
        occupy(needs, use, job.arrays, i, device, needs.weights[i], placement, begins, ends)
        used = [use.used[d, : use.counts[d]].max(initial=0.0) for d in range(m)]
        assert (used + use.weights <= job.memory * (1 + 1e-9)).all()


def test_an_operation_goes_where_there_is_room() -> None:
    """0 and 1 each hold 6 of 10 bytes until 2 and 3, which read them, have ended; transfers are long."""
    edges = Edges(np.array([0, 1, 2, 2, 2], np.int32), np.array([2, 3], np.int32))
    job = Problem(np.ones(4), np.array([6.0, 6.0, 0.0, 0.0]), edges, 2, Transfers(0.0, 5.0), memory=10.0)
    schedule = Completion(job)(Decisions.open(4))
    assert schedule.fits.all() and schedule.placements[0].tolist() == [0, 1, 0, 1]
    unlimited = Completion(replace(job, memory=np.inf, devices=1))(Decisions.open(4))
    assert Completion(replace(job, devices=1))(Decisions.open(4)).excess[0] == pytest.approx(0.2)
    assert unlimited.fits.all()


@given(Sizes)
def test_decided_devices_are_kept_even_without_room(sizes: tuple[int, int, int, float]) -> None:
    seed, n, m, density = sizes
    rng = np.random.default_rng(seed)
    job = replace(drawn.with_sharing(drawn.problem(rng, n, m, density), rng), memory=float(rng.random()))
    devices = rng.integers(OPEN, m, (2, n)).astype(np.int8)
    schedules = Completion(job)(replace(Decisions.open(n), devices=devices, levels=np.full((2, n), 10, np.int8)))
    assert (schedules.placements[devices >= 0] == devices[devices >= 0]).all()
    np.testing.assert_array_equal(makespans(job, schedules.orders, schedules.placements), schedules.seconds)
