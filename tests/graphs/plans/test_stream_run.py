"""Streams wait for all that they read; on a GPU, modules by random schedules return what plain torch returns."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from learned_schedulers.graphs.plans.module_export import source_of, trace_with_weights
from learned_schedulers.graphs.plans.module_operations import Operations
from learned_schedulers.graphs.plans.stream_run import CAPTURED, EAGER, NotCapturable, Step, steps, timed_on_streams
from learned_schedulers.graphs.plans.turns import PLAN
from learned_schedulers.graphs.problems.problem import Problem
from learned_schedulers.graphs.read.export import Way
from learned_schedulers.graphs.read.node_costs import Prices
from tests.graphs.plans.test_module_run import CASES, folder
from tests.graphs.problems import drawn

__all__ = ["folder"]  # a fixture


def _drawn(rng: np.random.Generator, problem: Problem, streams: int) -> tuple[np.ndarray, np.ndarray]:
    """A random order in which parents come first, and a random stream of each operation."""
    n = len(problem)
    waiting = np.bincount(problem.children.targets, minlength=n)
    ready, order = np.flatnonzero(waiting == 0).tolist(), []
    while ready:
        order.append(ready.pop(int(rng.integers(len(ready)))))
        for child in problem.children.targets[slice(*problem.children.offsets[order[-1] : order[-1] + 2])].tolist():
            waiting[child] -= 1
            if not waiting[child]:
                ready.append(child)
    return np.array(order), rng.integers(0, streams, n)


def _ended_before(program: list[Step]) -> dict[int, set[int]]:
    """Operations that have ended for certain when an operation begins."""
    ended: dict[int, set[int]] = {}
    last: dict[int, int] = {}  # stream -> its last operation
    for step in program:
        sure: set[int] = set()
        for before in (*step.awaited, *([last[step.stream]] if step.stream in last else [])):
            sure |= ended[before] | {before}
        ended[step.operation] = sure
        last[step.stream] = step.operation
    return ended


@pytest.mark.parametrize("seed", range(20))
def test_streams_wait_for_what_they_read_and_for_no_more(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = drawn.problem(rng, 30, 1, 0.15)
    order, placement = _drawn(rng, problem, 1 + seed % 4)
    program = steps(problem.parents, order, placement)
    assert [step.operation for step in program] == order.tolist()
    ended = _ended_before(program)
    for operation, parent in zip(problem.parents.sources.tolist(), problem.parents.targets.tolist(), strict=True):
        assert parent in ended[operation]
    by_number = {step.operation: step for step in program}
    for step in program:
        streams = [by_number[before].stream for before in step.awaited]
        assert step.stream not in streams and len(set(streams)) == len(streams)
        assert step.tells == any(step.operation in other.awaited for other in program)


def test_a_wait_that_is_missing_is_noticed() -> None:
    rng = np.random.default_rng(0)
    problem = drawn.problem(rng, 30, 1, 0.15)
    program = steps(problem.parents, *_drawn(rng, problem, 3))
    first = next(i for i, step in enumerate(program) if step.awaited)
    program[first] = program[first]._replace(awaited=())
    ended = _ended_before(program)
    pairs = zip(problem.parents.sources.tolist(), problem.parents.targets.tolist(), strict=True)
    assert any(parent not in ended[operation] for operation, parent in pairs)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU of CUDA")
@pytest.mark.parametrize(("name", "inputs", "training", "tensors"), CASES)
def test_a_gpu_computes_what_plain_torch_does(
    name: str, inputs: list[str], training: bool, tensors: int, folder: None
) -> None:
    if name == "State":  # a constant that does not move to the GPU with the module
        with pytest.raises(ValueError, match="found two different devices"):
            trace_with_weights(f"run_kinds:{name}", inputs, training, Way(), "cuda")
        return
    trace = trace_with_weights(f"run_kinds:{name}", inputs, training, Way(), "cuda")
    operations = Operations(trace)
    n = len(operations.kinds)
    parents = source_of(f"run_kinds:{name}", trace, Prices()).graph.children.reversed()
    placement = np.random.default_rng(n).integers(0, 3, n)
    try:
        measured = timed_on_streams(trace, operations, parents, np.arange(n), placement, lambda _: None)
    except NotCapturable:
        assert name == "Choice"  # the branch depends on numbers
        return
    assert measured.tensors == tensors and measured.difference < 1e-4
    assert set(measured.seconds) == {PLAN, EAGER, CAPTURED}
