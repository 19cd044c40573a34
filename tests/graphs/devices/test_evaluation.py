"""Many schedules at a time: the same numbers as of the simulator, one by one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from learned_schedulers.graphs.devices.evaluation import evaluated
from learned_schedulers.graphs.devices.simulator import makespans, peaks, starts
from learned_schedulers.graphs.problems.problem import Problem
from tests.graphs.problems import drawn


def heavy(rng: np.random.Generator, n: int, m: int, density: float) -> Problem:
    """A problem with weights, whose devices are too small for some placements."""
    problem = drawn.problem(rng, n, m, density)
    weight_bytes = rng.random(n)
    memory = float(weight_bytes.sum() + problem.sizes.sum()) * rng.uniform(0.2, 1)
    return replace(problem, weight_bytes=weight_bytes, memory=memory)


@given(st.integers(0, 2**32 - 1), st.integers(1, 30), st.integers(1, 5), st.floats(0, 0.6))
def test_times_and_memory_are_the_simulators(seed: int, n: int, m: int, density: float) -> None:
    rng = np.random.default_rng(seed)
    problem = heavy(rng, n, m, density)
    if seed % 2:
        problem = drawn.with_sharing(problem, rng)
    orders = np.repeat(np.arange(n, dtype=np.int32)[None], 3, 0)
    placements = rng.integers(0, m, (3, n)).astype(np.int32)
    judged = evaluated(problem, orders, placements)
    assert judged.seconds.tolist() == makespans(problem, orders, placements).tolist()
    for s in range(3):
        most = peaks(problem, orders[s], placements[s])
        assert judged.peaks[s] == pytest.approx(most, rel=1e-9)
        assert judged.ends[s] == pytest.approx(starts(problem, orders[s], placements[s]) + problem.seconds)
    assert (np.isinf(judged.costs) == ~judged.fits).all()
    assert ((judged.excess == 0) == judged.fits).all()
    assert judged[[1]].seconds.tolist() == judged.seconds[[1]].tolist()


def test_an_order_that_is_none_is_refused() -> None:
    problem = drawn.problem(np.random.default_rng(0), 5, 2, 1.0)
    with pytest.raises(ValueError, match="schedule 0 is not valid: the fault is in slot 0"):
        evaluated(problem, np.arange(5)[None, ::-1], np.zeros((1, 5), np.int32))
