"""One suite for every method of projects: valid schedules, none better than the optimum; and a classical job-shop."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from learned_schedulers.method_settings import MethodSettings, entry
from learned_schedulers.projects import judge
from learned_schedulers.projects.method_settings import RULES, SCHEMES, Rule, Scheme
from learned_schedulers.projects.methods import OK, TIMED_OUT, UNSUPPORTED, Budget, best, make
from learned_schedulers.projects.methods.rules.generation import generated
from learned_schedulers.projects.methods.rules.priorities import keys_of
from learned_schedulers.projects.problem import JobShop, project_of
from tests.projects import oracle
from tests.trial import drawn_projects

VARIANTS: dict[str, MethodSettings] = {
    "priority_rules": entry("project", "priority_rules"),
    "first come": entry("project", "priority_rules", rules=["first_come"], schemes=["serial"]),
    "randomised_rules": entry("project", "randomised_rules", schedules=40),
    "cp_sat": entry("project", "cp_sat", seconds=1.0),
    "tabu_search": entry("project", "tabu_search", seconds=1e-3),
}
# Muth and Thompson's 6 x 6 instance, the smallest of the classical ones; its least makespan is 55.
SIX = JobShop(
    np.array([[2, 0, 1, 3, 5, 4], [1, 2, 4, 5, 0, 3], [2, 3, 5, 0, 1, 4], [1, 0, 2, 3, 4, 5], [2, 1, 4, 5, 0, 3],
              [1, 3, 5, 0, 4, 2]], np.int32),
    np.array([[1, 3, 6, 7, 3, 6], [8, 5, 10, 10, 10, 4], [5, 4, 8, 9, 1, 7], [5, 5, 5, 3, 8, 9], [9, 3, 5, 4, 3, 1],
              [3, 3, 9, 10, 4, 1]]),
)  # fmt: skip


@pytest.mark.parametrize("variant", VARIANTS)
@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.integers(0, 2), st.booleans())
def test_schedules_are_valid_and_not_better_than_the_optimum(
    variant: str, seed: int, n: int, resources: int, topological: bool
) -> None:
    project = drawn_projects.project(np.random.default_rng(seed), n, resources, topological=topological)
    settings = VARIANTS[variant]
    answer = make(settings).schedule(project, np.random.default_rng(1), Budget.of(settings))
    if answer.status == UNSUPPORTED:
        assert variant == "tabu_search" and not len(answer.starts)
        return
    least = oracle.least_makespan(project)
    for starts in answer.starts:
        assert oracle.is_schedule(project, starts) and judge.makespan(project, starts) >= least
    assert best(project, answer).makespan == min(judge.makespan(project, starts) for starts in answer.starts)
    assert answer.bound <= least
    if variant == "cp_sat":
        assert answer.status == OK and best(project, answer).makespan == answer.bound == least


def test_the_classical_job_shop_is_solved_and_proven() -> None:
    project = project_of(SIX)
    settings = VARIANTS["cp_sat"]
    answer = make(settings).schedule(project, np.random.default_rng(0), Budget.of(settings))
    assert (answer.status, best(project, answer).makespan, answer.bound) == (OK, 55, 55)


@given(st.integers(0, 2**32 - 1), st.integers(1, 5), st.integers(1, 4), st.integers(0, 4))
def test_tabu_search_is_never_better_than_the_optimum_and_mostly_there(
    seed: int, jobs: int, machines: int, longest: int
) -> None:
    """Small job-shops, also with operations that take no time, beside CP-SAT's proven optimum."""
    drawn = drawn_projects.job_shop(np.random.default_rng(seed), jobs, machines, 9)
    project = project_of(JobShop(drawn.machines, drawn.durations % (longest + 1)))
    least = make(VARIANTS["cp_sat"]).schedule(project, np.random.default_rng(0), Budget(seconds=1.0)).bound
    answer = make(entry("project", "tabu_search")).schedule(project, np.random.default_rng(0), Budget(seconds=0.05))
    assert best(project, answer).makespan == least


def test_tabu_search_solves_the_classical_job_shop_and_more_time_is_never_worse() -> None:
    settings = entry("project", "tabu_search")
    answer = make(settings).schedule(project_of(SIX), np.random.default_rng(0), Budget(seconds=0.1))
    assert best(project_of(SIX), answer).makespan == 55
    project = project_of(drawn_projects.job_shop(np.random.default_rng(5), 15, 10, 99))
    answers = [make(settings).schedule(project, np.random.default_rng(0), Budget(seconds=s)) for s in (1e-3, 0.1, 1)]
    reached = [best(project, each).makespan for each in answers]
    assert reached == sorted(reached, reverse=True) and reached[0] > reached[2] >= project.bound


def test_tabu_search_refuses_what_is_no_job_shop_or_too_large() -> None:
    method = make(entry("project", "tabu_search"))
    wide = replace(project_of(SIX), capacities=np.full(6, 2), job_shop=None)
    answer = method.schedule(wide, np.random.default_rng(0), Budget(seconds=1.0))
    assert answer.status == UNSUPPORTED and "no job-shop" in answer.message
    small = make(entry("project", "tabu_search", most_pairs=215))
    answer = small.schedule(project_of(SIX), np.random.default_rng(0), Budget(seconds=1.0))
    assert answer.status == UNSUPPORTED and "216 pairs" in answer.message


def test_without_time_cp_sat_has_the_schedule_of_the_rules_and_a_bound() -> None:
    project = project_of(drawn_projects.job_shop(np.random.default_rng(3), 12, 8, 99))
    answer = make(entry("project", "cp_sat")).schedule(project, np.random.default_rng(0), Budget(seconds=1e-4))
    of_rules = make(entry("project", "priority_rules")).schedule(project, np.random.default_rng(0), Budget())
    assert answer.status == TIMED_OUT and "no proof" in answer.message
    assert best(project, answer).makespan == best(project, of_rules).makespan
    assert project.bound <= answer.bound < best(project, answer).makespan


def test_cp_sat_refuses_what_is_too_large() -> None:
    project = project_of(SIX)
    answer = make(entry("project", "cp_sat", most_activities=35)).schedule(project, np.random.default_rng(0), Budget())
    assert answer.status == UNSUPPORTED and "36 activities" in answer.message and answer.starts.shape == (0, 36)


def test_cp_sat_refuses_numbers_in_which_its_sums_overflow() -> None:
    project = project_of(JobShop(SIX.machines, SIX.durations * 10**8))
    wide = replace(project, capacities=np.full(6, 2**31 - 1), job_shop=None)
    answer = make(VARIANTS["cp_sat"]).schedule(wide, np.random.default_rng(0), Budget(seconds=1.0))
    assert answer.status == UNSUPPORTED and "too large for CP-SAT" in answer.message


def test_more_draws_are_never_worse_and_the_seed_decides() -> None:
    project = project_of(drawn_projects.job_shop(np.random.default_rng(5), 10, 10, 99))
    settings = entry("project", "randomised_rules")

    def makespan(seed: int, schedules: int) -> tuple[int, bytes]:
        answer = make(settings).schedule(project, np.random.default_rng(seed), Budget(schedules=schedules))
        return best(project, answer).makespan, answer.starts.tobytes()

    rules = best(
        project, make(entry("project", "priority_rules")).schedule(project, np.random.default_rng(0), Budget())
    )
    assert makespan(0, 8)[0] == rules.makespan
    assert makespan(0, 300)[0] < rules.makespan
    assert makespan(0, 300) == makespan(0, 300) != makespan(1, 300)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("scheme", SCHEMES)
@given(st.integers(0, 2**32 - 1))
def test_schemes_leave_nothing_to_gain_by_one_earlier_start(rule: Rule, scheme: Scheme, seed: int) -> None:
    """No activity of either scheme can start earlier while all others stay: the schedules are active or non-delay."""
    rng = np.random.default_rng(seed)
    project = drawn_projects.project(rng, 6, 2)
    keys = keys_of(project, rule, np.exp(rng.standard_normal((3, 6))))
    for starts in generated(project, keys, scheme):
        assert oracle.is_schedule(project, starts)
        for i in range(6):
            for earlier in range(int(starts[i])):
                moved = starts.copy()
                moved[i] = earlier
                assert not oracle.is_schedule(project, moved)


def test_dispatching_follows_the_rule() -> None:
    """Two jobs wait for machine 0: the shorter operation goes first by one rule, the longer job by another."""
    project = project_of(JobShop(np.array([[0, 1], [0, 1]], np.int32), np.array([[2, 1], [3, 9]])))
    first = {}
    for rule in RULES:
        [starts] = generated(project, keys_of(project, rule, np.ones((1, 4))), "parallel")
        first[rule] = int(starts[[0, 2]].argmin())
    assert first == {"shortest": 0, "latest_start": 1, "latest_finish": 1, "first_come": 0}


def test_the_parallel_scheme_never_lets_a_machine_wait() -> None:
    """The serial scheme keeps machine 1 for job 0, which comes first; dispatching does not."""
    project = project_of(JobShop(np.array([[0, 1], [1, 0]], np.int32), np.array([[2, 9], [5, 1]])))
    starts = {
        scheme: generated(project, keys_of(project, "latest_start", np.ones((1, 4))), scheme) for scheme in SCHEMES
    }
    assert starts["parallel"][0].tolist() == [0, 5, 0, 5] and starts["serial"][0].tolist() == [0, 2, 11, 16]


def test_an_unknown_setting_is_refused() -> None:
    with pytest.raises(ValueError, match="no method 'rules'; there are"):
        entry("project", "rules")
    with pytest.raises(
        ValueError, match=r"width: Extra inputs.*'cp_sat' has \['method', 'most_activities', 'seconds'\]"
    ):
        entry("project", "cp_sat", width=3)
    with pytest.raises(ValueError, match=r"least_noise 2\.0 is more than most_noise"):
        entry("project", "randomised_rules", least_noise=2.0)
