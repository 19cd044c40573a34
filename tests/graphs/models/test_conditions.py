"""The condition of a policy: transfers of the promised size, what is at stake, and the draws of training."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from learned_schedulers.graphs.devices import targets
from learned_schedulers.graphs.models.conditions import (
    LEAST,
    MOST,
    N_CONDITIONS,
    PLAIN,
    Strengths,
    at_stake,
    condition,
    draw_strengths,
    draw_strengths_between,
    temperature,
)
from learned_schedulers.graphs.problems.problem import Edges, Problem
from tests.graphs.problems import drawn

PAIR = Problem(  # 0 -> 1
    np.array([1.0, 3.0]), np.array([40.0, 0.0]), Edges(np.array([0, 1, 1], np.int32), np.array([1], np.int32)), 2
)
APART = Problem(np.array([2.0, 1.0, 1.0]), np.ones(3), Edges(np.zeros(4, np.int32), np.zeros(0, np.int32)), 2)
EMPTY = Problem(np.zeros(0), np.zeros(0), Edges(np.zeros(1, np.int32), np.zeros(0, np.int32)), 4)


@given(st.integers(0, 2**32 - 1), st.floats(0, 20), st.floats(0, 20))
def test_transfers_have_their_size_in_mean_run_times(seed: int, slope: float, delay: float) -> None:
    problem = drawn.problem(np.random.default_rng(seed), 12)
    transfers = Strengths(slope, delay).transferring(problem).transfers
    unit = problem.seconds.mean()
    assert float((transfers.slope * problem.sizes).mean()) == pytest.approx(slope * unit)
    assert transfers.delay == pytest.approx(delay * unit)


def test_transfers_are_those_of_the_frozen_targets() -> None:
    assert Strengths(0.7).transferring(PAIR).transfers == targets.bandwidth(PAIR, 0.7).draws[0].transfers
    assert Strengths(delay=0.7).transferring(PAIR).transfers == targets.latency(PAIR, 0.7).draws[0].transfers
    assert (
        PLAIN.transferring(Strengths(1.0, 1.0).transferring(PAIR)).transfers == targets.proxy(PAIR).draws[0].transfers
    )


def test_what_is_at_stake_by_hand() -> None:
    """PAIR, one after the other: speedup 1; APART: 4 s on two devices, 2 s. Squared, over the operations."""
    assert at_stake(PAIR) == pytest.approx(1 / 2) and at_stake(APART) == pytest.approx(4 / 3)
    assert temperature(APART, 0.3, "speedup") == 0.3
    assert temperature(APART, 0.3, "mean_run_time") == pytest.approx(0.4)


def test_a_delay_of_a_mean_run_time_costs_what_is_at_stake() -> None:
    """For a long graph: the speedup falls by nearly this much."""
    n = 1000
    long = Problem(np.ones(n), np.ones(n), Edges(np.zeros(n + 1, np.int32), np.zeros(0, np.int32)), 4)
    assert n / long.bound - n / (long.bound + 1) == pytest.approx(at_stake(long), rel=0.01)


def test_what_is_told_by_hand() -> None:
    conditions = condition(APART, 1 / 3, Strengths(np.e - 1, np.e**2 - 1, 0.25), 5)
    assert conditions.shape == (5, N_CONDITIONS) and conditions.dtype == torch.float32
    np.testing.assert_allclose(conditions, [[np.log(4), 1, 2, 0.25]] * 5, rtol=1e-6)


@given(st.integers(0, 2**32 - 1), st.floats(1e-6, 1e6))
def test_what_is_told_has_no_unit_of_time(seed: int, unit: float) -> None:
    problem = drawn.problem(np.random.default_rng(seed), 12)
    scaled = replace(problem, seconds=problem.seconds * unit)
    conditions = [condition(job, temperature(job, 0.1, "mean_run_time"), PLAIN, 1) for job in (problem, scaled)]
    torch.testing.assert_close(conditions[1], conditions[0])
    assert float(conditions[0][0, 0]) == pytest.approx(np.log(10), rel=1e-6)


@given(st.integers(0, 2**32 - 1), st.floats(0.01, 1), st.floats(1, 100))
def test_transfers_are_drawn_within_their_range(seed: int, least: float, most: float) -> None:
    transfers = draw_strengths_between(np.random.default_rng(seed), least, most)
    present = [value for value in (transfers.slope, transfers.delay) if value]
    assert present and all(least * 0.999 <= value <= most * 1.001 for value in present) and 0 <= transfers.noise <= 1


def test_training_draws_every_kind_in_its_range() -> None:
    """A quarter without transfers, the others in three equal kinds; noise in half of all."""
    rng = np.random.default_rng(0)
    draws = [draw_strengths(rng) for _ in range(4000)]
    kinds = {(bool(s.slope), bool(s.delay)): 0 for s in draws}
    for s in draws:
        kinds[bool(s.slope), bool(s.delay)] += 1
    assert {kind: count / 4000 for kind, count in kinds.items()} == pytest.approx(
        {(False, False): 0.25, (True, False): 0.25, (False, True): 0.25, (True, True): 0.25}, abs=0.03
    )
    noise = np.array([s.noise for s in draws])
    assert 0.47 < (noise > 0).mean() < 0.53 and 0.95 < noise.max() <= 1
    noise_of_plain = noise[[not s.slope and not s.delay for s in draws]]
    assert 0.45 < (noise_of_plain > 0).mean() < 0.55
    for present in ([s.slope for s in draws if s.slope], [s.delay for s in draws if s.delay]):
        assert LEAST <= min(present) < 1.1 * LEAST and 0.9 * MOST < max(present) <= MOST
        assert np.median(np.log(present)) == pytest.approx((np.log(LEAST) + np.log(MOST)) / 2, abs=0.15)


def test_the_same_generator_draws_the_same() -> None:
    first, second = (draw_strengths(np.random.default_rng(7)) for _ in range(2))
    assert first == second != draw_strengths(np.random.default_rng(8))


@pytest.mark.parametrize(
    "problem",
    [EMPTY, replace(PAIR, seconds=np.zeros(2)), replace(PAIR, sizes=np.zeros(2))],
    ids=["no operation", "no work", "no sizes"],
)
def test_graphs_without_work_or_sizes_are_told_numbers(problem: Problem) -> None:
    moved = Strengths(1.0, 2.0, 0.5).transferring(problem)
    assert np.isfinite([moved.transfers.slope, moved.transfers.delay]).all()
    if not problem.seconds.any():
        assert moved.transfers == PLAIN.transferring(problem).transfers  # in units of no time
    assert condition(moved, temperature(moved, 0.1, "mean_run_time"), PLAIN, 3).isfinite().all()
