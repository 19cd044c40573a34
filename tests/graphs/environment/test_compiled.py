"""The compiled environment has the states of the one in torch, bit by bit, on any number of threads."""

from __future__ import annotations

import numba
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from learned_schedulers.graphs.environment.batched import Environment, Sequence
from learned_schedulers.graphs.environment.compiled import CompiledEnvironment
from learned_schedulers.graphs.problems.problem import Problem
from tests.graphs.environment.test_batched import SEEDS, SEQUENCES, SMALL, STATE, problems
from tests.graphs.problems import drawn

ASKED = (*STATE, "speedup", "usable", "ready", "removable", "actions")


def assert_same(first: Environment, second: Environment) -> None:
    for name in ASKED:
        first_values, second_values = getattr(first, name), getattr(second, name)
        assert first_values.dtype == second_values.dtype, name
        torch.testing.assert_close(first_values, second_values, rtol=0, atol=0, equal_nan=True, msg=name)


def step(environments: list[Environment], rng: np.random.Generator) -> None:
    """Take the same random action in all environments."""
    uniforms = torch.from_numpy(rng.random(environments[0].batch))
    chosen = [environment.random_actions(uniforms) for environment in environments]
    assert all(torch.equal(*pair) for actions in chosen for pair in zip(actions, chosen[0], strict=True))
    for environment in environments:
        environment.step(*(part.clone() for part in chosen[0]))


@pytest.mark.slow
@pytest.mark.parametrize("sequence", SEQUENCES)
@given(problems(most=20), st.integers(1, 5), SEEDS)
@settings(max_examples=60)
def test_every_state_and_action_is_that_of_the_reference(
    sequence: Sequence, problem: Problem, batch: int, seed: int
) -> None:
    both = [kind(problem, batch, sequence) for kind in (CompiledEnvironment, Environment)]
    rng = np.random.default_rng(seed)
    assert_same(*both)
    for _ in range(len(problem)):
        step(both, rng)
        assert_same(*both)


@pytest.mark.parametrize("sequence", SEQUENCES)
@pytest.mark.parametrize("name", SMALL)
def test_it_is_the_reference_on_small_graphs_too(name: str, sequence: Sequence) -> None:
    both = [kind(SMALL[name], 50, sequence) for kind in (CompiledEnvironment, Environment)]
    rng = np.random.default_rng(0)
    for _ in range(len(SMALL[name])):
        step(both, rng)
        assert_same(*both)


@pytest.mark.parametrize("sequence", SEQUENCES)
def test_states_that_are_taken_go_their_own_way(sequence: Sequence) -> None:
    problem, rng = drawn.problem(np.random.default_rng(1), 12, 3, 0.2), np.random.default_rng(1)
    both = [kind(problem, 6, sequence) for kind in (CompiledEnvironment, Environment)]
    for _ in range(5):
        step(both, rng)
    selected = [environment.selected(torch.tensor([4, 0, 4])) for environment in both]
    for _ in range(7):
        step(selected, rng)
        assert_same(*selected)
    assert_same(*both)
    assert (both[0].placement < 0).sum() == 6 * 7


@pytest.mark.parametrize("sequence", SEQUENCES)
def test_states_are_the_same_on_two_threads(sequence: Sequence) -> None:
    if numba.config.NUMBA_NUM_THREADS < 2:  # type: ignore[attr-defined]
        pytest.skip("one thread")
    problem, batch = drawn.problem(np.random.default_rng(2), 40, 4, 0.1), 501
    ended = []
    for threads in (1, 2):
        before = numba.get_num_threads()
        numba.set_num_threads(threads)
        environment, rng = CompiledEnvironment(problem, batch, sequence), np.random.default_rng(2)
        for _ in range(len(problem)):
            step([environment], rng)
        numba.set_num_threads(before)
        ended.append(environment)
    assert_same(*ended)


def test_actions_that_are_drawn_are_as_likely() -> None:
    problem = SMALL["no edges"]
    environment = CompiledEnvironment(problem, 3)
    environment.step(torch.tensor([0, 1, 2]), torch.zeros(3, dtype=torch.int64))
    allowed = environment.actions[1].flatten().nonzero()[:, 0]
    for rank, action in enumerate(allowed.tolist()):
        for uniform in (rank / len(allowed) + 1e-9, (rank + 1) / len(allowed) - 1e-9):
            operations, devices = environment.random_actions(torch.full((3,), uniform, dtype=torch.float64))
            assert operations[1] * problem.devices + devices[1] == action


@pytest.mark.parametrize("action", [(0, 1), (1, 0), (2, 0), (-1, 0), (0, -1)])
def test_actions_that_are_not_allowed_are_refused(action: tuple[int, int]) -> None:
    chain = SMALL["one device"]  # operation 2 needs 0; there are 4
    environment = CompiledEnvironment(chain, 2)
    with pytest.raises(ValueError, match="not allowed"):
        if action == (1, 0):  # a second time
            environment.step(*torch.tensor([[1, 1], [0, 0]]))
        environment.step(*torch.tensor([[1, action[0]], [0, action[1]]]))


def test_no_action_is_drawn_of_a_whole_schedule() -> None:
    environment = CompiledEnvironment(SMALL["one operation"], 2)
    environment.step(*torch.zeros((2, 2), dtype=torch.int64))
    with pytest.raises(ValueError, match="a schedule is complete"):
        environment.random_actions(torch.zeros(2, dtype=torch.float64))
