"""The single environment: gymnasium's own check, a schedule by hand, and refused actions with their reasons."""

from __future__ import annotations

import re
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from hypothesis import given
from hypothesis import strategies as st

from learned_schedulers.graphs.environment.batched import Sequence
from learned_schedulers.graphs.environment.single import ScheduleEnv
from learned_schedulers.graphs.problems.problem import Edges, Problem, Transfers
from tests.graphs.problems import drawn

ID = "learned_schedulers.graphs.environment:Schedule-v0"
# 0 -> 1, 0 -> 2, both -> 3; a result takes 0.5 s to another device
DIAMOND = Problem(
    seconds=np.array([1.0, 2.0, 4.0, 1.0]),
    sizes=np.ones(4),
    children=Edges(np.array([0, 2, 3, 4, 4], np.int32), np.array([1, 2, 3, 3], np.int32)),
    devices=3,
    transfers=Transfers(delay=0.5),
)


def refused(environment: ScheduleEnv, action: int) -> str:
    """Why an action is not allowed. It ends the episode without a reward and changes nothing."""
    before = environment.action_masks()
    _, reward, complete, truncated, details = environment.step(action)
    assert reward == 0.0 and complete and not truncated and "makespan" not in details
    assert np.array_equal(environment.action_masks(), before)
    return details["refused"]


def independent(n: int, devices: int, seconds: float = 1.0) -> Problem:
    return Problem(np.full(n, seconds), np.ones(n), Edges(np.zeros(n + 1, np.int32), np.zeros(0, np.int32)), devices)


@given(st.integers(0, 2**32 - 1), st.integers(3, 9), st.integers(1, 4), st.sampled_from(["any", "by_start"]))
def test_gymnasium_finds_no_fault_with_drawn_problems(seed: int, n: int, devices: int, sequence: Sequence) -> None:
    rng = np.random.default_rng(seed)
    problem = drawn.problem(rng, n, devices)
    environment = gymnasium.make(ID, problem=problem, sequence=sequence).unwrapped
    assert isinstance(environment, ScheduleEnv)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(environment)
    observation, details = environment.reset(seed=seed)
    for step in range(n):
        assert environment.observation_space.contains(observation)
        assert np.array_equal(observation["action_mask"], details["action_mask"])
        assert np.array_equal(environment.action_masks(), details["action_mask"])
        action = environment.action_space.sample(mask=details["action_mask"])
        observation, reward, complete, truncated, details = environment.step(action)
        assert complete == (step == n - 1) == ("makespan" in details) and not truncated and (complete or reward == 0.0)
    assert environment.observation_space.contains(observation) and not observation["action_mask"].any()
    assert reward == (problem.seconds.sum() / details["makespan"] if details["makespan"] else 0.0)


def test_by_hand() -> None:
    environment = ScheduleEnv(DIAMOND)
    observation, details = environment.reset()
    assert np.flatnonzero(details["action_mask"]).tolist() == [0]  # operation 0 on device 0
    assert observation["placement"].tolist() == [-1] * 4 and observation["ends"].tolist() == [-1.0] * 4
    observation, *_ = environment.step(0)
    assert observation["arrivals"].tolist() == [[0.0] * 3, [1.0, 1.5, 1.5], [1.0, 1.5, 1.5], [0.0] * 3]
    assert np.flatnonzero(observation["action_mask"]).tolist() == [3, 4, 6, 7]  # 1 and 2 on devices 0 and 1
    environment.step(2 * 3 + 0)
    observation, *_ = environment.step(1 * 3 + 1)
    assert observation["ends"].tolist() == [1.0, 3.5, 5.0, -1.0] and observation["free"].tolist() == [5.0, 3.5, 0.0]
    assert observation["last"].tolist() == [2, 1, -1]
    assert np.flatnonzero(observation["action_mask"]).tolist() == [9, 10, 11]
    observation, reward, complete, truncated, details = environment.step(np.int64(9))
    assert complete and not truncated and details["makespan"] == 6.0 and reward == 8.0 / 6.0
    assert environment.reset()[0]["placement"].tolist() == [-1] * 4


def test_what_is_seen_belongs_to_the_agent() -> None:
    environment = ScheduleEnv(DIAMOND)
    observation, details = environment.reset()
    for values in (*observation.values(), details["action_mask"]):
        values += 1
    assert environment.step(0)[0]["ends"].tolist() == [1.0, -1.0, -1.0, -1.0]


@pytest.mark.parametrize(
    ("sequence", "before", "action", "message"),
    [
        ("any", [], (1, 0), "operation 1 cannot be added to device 0: .* needs the result of operation 0,"),
        ("any", [(0, 0), (1, 0)], (3, 1), "operation 3 cannot be added to device 1: .* the result of operation 2,"),
        ("any", [(0, 0)], (0, 1), "operation 0 cannot be added to device 1: it is scheduled already, on device 0"),
        ("any", [(0, 0)], (1, 2), "operation 1 cannot .* device 2: the device is empty, and device 1 is the first"),
        ("by_start", [(0, 0), (2, 1)], (1, 0), "it would start at 1.0 s, before operation 2, .* at 1.5 s"),
        ("any", [(0, 0), (1, 0), (2, 0), (3, 0)], (3, 0), "operation 3 cannot .* scheduled already, on device 0"),
    ],
)
def test_what_is_not_allowed_is_refused_with_the_reason(
    sequence: Sequence, before: list[tuple[int, int]], action: tuple[int, int], message: str
) -> None:
    environment = ScheduleEnv(DIAMOND, sequence)
    environment.reset()
    for operation, device in before:
        environment.step(operation * 3 + device)
    assert re.search(message, refused(environment, action[0] * 3 + action[1]))


@pytest.mark.parametrize("action", [12, -1])
def test_what_is_no_action_is_refused(action: int) -> None:
    message = rf"no action {action}; an action is operation \* devices \+ device, less than 12"
    with pytest.raises(ValueError, match=message):
        ScheduleEnv(DIAMOND).step(action)


def test_of_those_that_start_together_numbers_ascend() -> None:
    environment = ScheduleEnv(independent(2, 2), "by_start")
    environment.step(1 * 2 + 0)
    reason = r"it would start together with operation 1, .*, whose number is higher"
    assert re.search(reason, refused(environment, 0 * 2 + 1))
    assert environment.step(0 * 2 + 0)[4]["makespan"] == 2.0


def test_without_work_there_is_no_reward() -> None:
    environment = ScheduleEnv(independent(1, 2, seconds=0.0))
    assert environment.step(0)[1] == 0.0


def test_what_is_no_problem_and_no_sequence_is_refused() -> None:
    with pytest.raises(ValueError, match="a graph without operations"):
        ScheduleEnv(independent(0, 2))
    with pytest.raises(ValueError, match="no sequence 'sorted'; the sequences are any, by_start"):
        ScheduleEnv(DIAMOND, "sorted")
