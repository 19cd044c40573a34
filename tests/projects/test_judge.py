"""The judge agrees with a time-indexed oracle, and names the first violation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from learned_schedulers.projects.judge import Violation, makespan
from learned_schedulers.projects.problem import JobShop, project_of
from tests.projects import oracle
from tests.projects.test_problem import CHAIN
from tests.trial import drawn_projects


@given(st.integers(0, 2**32 - 1), st.integers(1, 7), st.integers(0, 3))
def test_it_agrees_with_the_oracle(seed: int, n: int, resources: int) -> None:
    rng = np.random.default_rng(seed)
    project = drawn_projects.project(rng, n, resources, longest=3)
    verdicts = set()
    for widen in (0, 1, 3):
        starts = project.heads * widen + rng.integers(0, 1 + 2 * widen, n)
        valid = oracle.is_schedule(project, starts)
        verdicts.add(valid)
        if valid:
            assert makespan(project, starts) == (starts + project.durations).max()
        else:
            with pytest.raises(Violation):
                makespan(project, starts)


@pytest.mark.parametrize(
    ("starts", "message"),
    [
        ([0, 1, 5], "pour starts at 1, but dig, which precedes it, ends at 2"),
        ([0, 2, -1], "dry starts at -1"),
        ([0, 2], "3 integers are needed"),
        ([0.0, 2.0, 5.0], "3 integers are needed"),
        ([0, 2, 2**62], "dry starts at 4611686018427387904"),
    ],
)
def test_a_violation_is_named(starts: list[int], message: str) -> None:
    assert makespan(CHAIN, np.array([0, 2, 5])) == 6
    with pytest.raises(Violation, match=message):
        makespan(CHAIN, np.array(starts))


def test_a_capacity_that_is_exceeded_is_named_with_its_time() -> None:
    project = project_of(JobShop(np.array([[0, 1], [0, 1]], np.int32), np.array([[3, 2], [2, 2]])))
    with pytest.raises(Violation, match=r"machine 0 at time 2: 2 units are needed.*1 \(job 0, step 0; job 1, step 0\)"):
        makespan(project, np.array([0, 3, 2, 5]))
    assert makespan(project, np.array([0, 3, 3, 5])) == 7
