"""Two programs of a schedule: no deadlock, each result is fetched once, and stamps prove what they read."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from learned_schedulers.graphs.problems.problem import Problem
from learned_schedulers.graphs.run.programs import Step, chains, program, stamp, stamps
from tests.graphs.problems import drawn


def interpreted(problem: Problem, programs: list[list[Step]], rng: np.random.Generator) -> tuple[list[int], list[int]]:
    """Operations in the sequence of their runs, and what they wrote. Each step runs a random device that can go on.

    A device reads a result of the other one only if it has fetched it. Raises AssertionError if both devices wait.
    """
    results = [0] * len(problem)
    available: list[dict[int, int]] = [{}, {}]
    at, sequence = [0, 0], []
    while any(at[d] < len(programs[d]) for d in (0, 1)):
        able = [d for d in (0, 1) if at[d] < len(programs[d]) and set(programs[d][at[d]].fetched) <= set(sequence)]
        assert able, f"both devices wait, after {sequence}"
        device = able[int(rng.integers(len(able)))]
        step = programs[device][at[device]]
        available[device].update({parent: results[parent] for parent in step.fetched})
        read = sum(available[device][parent] for parent in step.parents)
        available[device][step.operation] = results[step.operation] = stamp(step.operation, 5, read)
        sequence.append(step.operation)
        at[device] += 1
    return sequence, results


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 30), st.floats(0, 0.6))
def test_a_schedule_comes_to_its_end_and_every_operation_reads_its_parents(seed: int, n: int, density: float) -> None:
    rng = np.random.default_rng(seed)
    problem = drawn.problem(rng, n, 2, density)
    orders, placements = drawn.schedules(problem, rng, 1)
    programs = [program(problem.parents, orders[0], placements[0], device) for device in (0, 1)]
    sequence, results = interpreted(problem, programs, rng)
    assert sorted(sequence) == list(range(n))
    assert results == stamps(problem.parents, np.array([5]))[0].tolist()
    for device in (0, 1):
        assert [step.operation for step in programs[device]] == [i for i in orders[0] if placements[0][i] == device]
        fetched = [parent for step in programs[device] for parent in step.fetched]
        assert len(fetched) == len(set(fetched)) and all(placements[0][parent] != device for parent in fetched)


def test_an_illegal_order_is_what_stops_the_interpreter() -> None:
    """The test above can fail: 0 -> 1 and 2 -> 3 across devices, each device in the wrong sequence."""
    problem = drawn.problem(np.random.default_rng(0), 2, 2, 1.0)
    steps = [[Step(1, (), (0,)), Step(0, (), ())], []]
    with pytest.raises(KeyError):
        interpreted(problem, steps, np.random.default_rng(0))
    with pytest.raises(AssertionError, match="both devices wait"):
        interpreted(problem, [[Step(0, (1,), (1,))], [Step(1, (0,), (0,))]], np.random.default_rng(0))


def test_a_stale_result_gives_another_stamp() -> None:
    problem = drawn.problem(np.random.default_rng(1), 6, 2, 1.0)
    of_runs = stamps(problem.parents, np.array([0, 1]))
    assert (of_runs[0] != of_runs[1]).all() and of_runs[0, 0] == stamp(0, 0, 0) == 1


def test_schedules_with_equal_chains_are_one() -> None:
    placement = np.array([0, 1, 0, 1])
    assert chains(np.array([0, 1, 2, 3]), placement) == chains(np.array([1, 0, 3, 2]), placement)
    assert chains(np.array([0, 1, 2, 3]), placement) != chains(np.array([2, 0, 1, 3]), placement)
    assert chains(np.array([0, 1, 2, 3]), placement) != chains(np.array([0, 1, 2, 3]), 1 - placement)
