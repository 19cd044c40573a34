"""Projects and job-shops: what is no project is refused by name, and the bound is one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from learned_schedulers.projects.problem import MOST_ACTIVITIES, Invalid, JobShop, Project, project_of
from tests.projects import oracle
from tests.trial import drawn_projects

CHAIN = Project(
    durations=np.array([2, 3, 1]),
    offsets=np.array([0, 1, 2, 2], np.int32),
    targets=np.array([1, 2], np.int32),
    demands=np.array([[1], [2], [0]]),
    capacities=np.array([2]),
    names=("dig", "pour", "dry"),
    resources=("mason",),
)


def test_paths_and_bound_of_a_chain() -> None:
    assert (CHAIN.heads.tolist(), CHAIN.tails.tolist(), CHAIN.bound) == ([0, 2, 5], [6, 4, 1], 6)


def test_a_machine_bounds_the_makespan() -> None:
    """Both jobs end on machine 0: 3 units before the first, then its work of 4 + 5."""
    job_shop = JobShop(np.array([[1, 0], [1, 0]], np.int32), np.array([[3, 4], [3, 5]]))
    assert project_of(job_shop).bound == 3 + 4 + 5


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"durations": np.array([2, -3, 1])}, "pour: the duration -3 is not from 0"),
        ({"demands": np.array([[1], [3], [0]])}, "pour needs 3 units of mason, of which there are 2"),
        ({"demands": np.array([[1], [0], [-1]])}, "dry needs -1 units of mason"),
        ({"capacities": np.array([-1])}, "mason: the capacity -1"),
        ({"targets": np.array([1, 3], np.int32)}, "pour precedes 3, but there are 3"),
        ({"targets": np.array([1, 0], np.int32)}, "dig is in or behind a cycle"),
        ({"targets": np.array([1, 1], np.int32)}, "pour is in or behind a cycle"),
        ({"offsets": np.array([0, 1, 3, 2], np.int32)}, "do not cut 2 precedences into 3"),
        ({"names": ("dig",)}, "do not belong to 3 activities"),
    ],
)
def test_what_is_no_project_is_named(changes: dict[str, np.ndarray], message: str) -> None:
    with pytest.raises(Invalid, match=message):
        replace(CHAIN, **changes)


def test_too_many_activities_are_refused_before_anything_is_computed() -> None:
    n = MOST_ACTIVITIES + 1
    with pytest.raises(Invalid, match="are too many"):
        replace(CHAIN, durations=np.zeros(n, np.int64), names=())


@pytest.mark.parametrize(
    ("machines", "durations", "message"),
    [
        ([[0, 2]], [[1, 1]], "job 0, step 1: there is no machine 2"),
        ([[0, 1], [1, 1]], [[1, 1], [1, 1]], "job 1 visits machine 1 more than once"),
        ([[0, 1]], [[1, -1]], "job 0, step 1: the duration -1"),
        ([[0, 1]], [[1]], "both must be jobs x machines"),
    ],
)
def test_what_is_no_job_shop_is_named(machines: list[list[int]], durations: list[list[int]], message: str) -> None:
    with pytest.raises(Invalid, match=message):
        JobShop(np.array(machines, np.int32), np.array(durations))


@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.integers(1, 2), st.booleans())
def test_no_schedule_is_shorter_than_the_bound(seed: int, n: int, resources: int, topological: bool) -> None:
    project = drawn_projects.project(np.random.default_rng(seed), n, resources, topological=topological)
    assert project.bound <= oracle.least_makespan(project)
    place = np.argsort(project.order)
    assert (place[project.sources] < place[project.targets]).all()
