"""The single environment: gymnasium's own check, a schedule by hand, and what is refused with its reason."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from hypothesis import given
from hypothesis import strategies as st

from pipeline.graphs.environment.batched import Sequence
from pipeline.graphs.environment.single import Observation, ScheduleEnv
from pipeline.graphs.problems.problem import Edges, Problem, Transfers
from tests.graphs.problems import drawn

# 0 -> 1, 0 -> 2, both -> 3; a result takes 0.5 s to another device
DIAMOND = Problem(
    seconds=np.array([1.0, 2.0, 4.0, 1.0]),
    sizes=np.ones(4),
    children=Edges(np.array([0, 2, 3, 4, 4], np.int32), np.array([1, 2, 3, 3], np.int32)),
    devices=3,
    transfers=Transfers(delay=0.5),
)


def independent(n: int, devices: int, seconds: float = 1.0) -> Problem:
    return Problem(np.full(n, seconds), np.ones(n), Edges(np.zeros(n + 1, np.int32), np.zeros(0, np.int32)), devices)


class Lenient(ScheduleEnv):
    """Takes any action for one that is allowed: gymnasium's check draws them without regard to the mask."""

    def step(self, action: int | np.integer) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        allowed = np.flatnonzero(self._observation()["action_mask"])
        return super().step(allowed[action % len(allowed)])


def check(environment: ScheduleEnv) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(environment, skip_render_check=True)  # there is no picture


def test_gymnasium_finds_no_fault() -> None:
    """All that it draws is allowed here: on one device, without edges."""
    check(ScheduleEnv(independent(100, 1)))


@given(st.integers(0, 2**32 - 1), st.integers(3, 9), st.integers(1, 4), st.sampled_from(["any", "by_start"]))
def test_gymnasium_finds_no_fault_with_drawn_problems(seed: int, n: int, devices: int, sequence: Sequence) -> None:
    rng = np.random.default_rng(seed)
    problem = drawn.problem(rng, n, devices)
    check(Lenient(problem, sequence))
    environment = ScheduleEnv(problem, sequence)
    seen, info = environment.reset(seed=seed)
    for step in range(n):
        assert environment.observation_space.contains(seen)
        assert np.array_equal(seen["action_mask"], info["action_mask"])
        action = environment.action_space.sample(mask=info["action_mask"])
        seen, reward, done, truncated, info = environment.step(action)
        assert done == (step == n - 1) == ("makespan" in info) and not truncated and (done or reward == 0.0)
    assert environment.observation_space.contains(seen) and not seen["action_mask"].any()
    assert reward == (problem.seconds.sum() / info["makespan"] if info["makespan"] else 0.0)


def test_by_hand() -> None:
    environment = ScheduleEnv(DIAMOND)
    seen, info = environment.reset()
    assert np.flatnonzero(info["action_mask"]).tolist() == [0]  # operation 0 on device 0
    assert seen["placement"].tolist() == [-1] * 4 and seen["ends"].tolist() == [-1.0] * 4
    seen, *_ = environment.step(0)
    assert seen["arrivals"].tolist() == [[0.0] * 3, [1.0, 1.5, 1.5], [1.0, 1.5, 1.5], [0.0] * 3]
    assert np.flatnonzero(seen["action_mask"]).tolist() == [3, 4, 6, 7]  # 1 and 2 on devices 0 and 1
    environment.step(2 * 3 + 0)
    seen, *_ = environment.step(1 * 3 + 1)
    assert seen["ends"].tolist() == [1.0, 3.5, 5.0, -1.0] and seen["free"].tolist() == [5.0, 3.5, 0.0]
    assert seen["last"].tolist() == [2, 1, -1] and np.flatnonzero(seen["action_mask"]).tolist() == [9, 10, 11]
    seen, reward, done, truncated, info = environment.step(np.int64(9))
    assert done and not truncated and info["makespan"] == 6.0 and reward == 8.0 / 6.0
    assert environment.reset()[0]["placement"].tolist() == [-1] * 4


def test_what_is_seen_belongs_to_the_agent() -> None:
    environment = ScheduleEnv(DIAMOND)
    seen, info = environment.reset()
    for values in (*seen.values(), info["action_mask"]):
        values += 1
    assert environment.step(0)[0]["ends"].tolist() == [1.0, -1.0, -1.0, -1.0]


@pytest.mark.parametrize(
    ("sequence", "before", "action", "said"),
    [
        ("any", [], (1, 0), "operation 1 cannot be added to device 0: .* needs the result of operation 0,"),
        ("any", [(0, 0), (1, 0)], (3, 1), "operation 3 cannot be added to device 1: .* the result of operation 2,"),
        ("any", [(0, 0)], (0, 1), "operation 0 cannot be added to device 1: it is scheduled already, on device 0"),
        ("any", [(0, 0)], (1, 2), "operation 1 cannot .* device 2: the device is empty, and device 1 is the first"),
        ("by_start", [(0, 0), (2, 1)], (1, 0), "it would start at 1.0 s, before operation 2, the last one, at 1.5 s"),
        ("any", [], (4, 0), "no action 12; there are 12"),
        ("any", [], (0, -1), "no action -1"),
        ("any", [(0, 0), (1, 0), (2, 0), (3, 0)], (3, 0), "operation 3 cannot .* scheduled already, on device 0"),
    ],
)
def test_what_is_not_allowed_is_refused_with_the_reason(
    sequence: Sequence, before: list[tuple[int, int]], action: tuple[int, int], said: str
) -> None:
    environment = ScheduleEnv(DIAMOND, sequence)
    environment.reset()
    for operation, device in before:
        environment.step(operation * 3 + device)
    with pytest.raises(ValueError, match=said):
        environment.step(action[0] * 3 + action[1])


def test_of_those_that_start_together_numbers_ascend() -> None:
    environment = ScheduleEnv(independent(2, 2), "by_start")
    environment.step(1 * 2 + 0)
    with pytest.raises(ValueError, match=r"it would start together with operation 1, .*, whose number is higher"):
        environment.step(0 * 2 + 1)
    assert environment.step(0 * 2 + 0)[4]["makespan"] == 2.0


def test_without_work_there_is_no_reward() -> None:
    environment = ScheduleEnv(independent(1, 2, seconds=0.0))
    assert environment.step(0)[1] == 0.0


def test_what_is_no_problem_and_no_sequence_is_refused() -> None:
    with pytest.raises(ValueError, match="a graph without operations"):
        ScheduleEnv(independent(0, 2))
    with pytest.raises(ValueError, match="no sequence 'sorted'; there are any, by_start"):
        ScheduleEnv(DIAMOND, "sorted")  # type: ignore[arg-type]
