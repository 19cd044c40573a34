"""Modules of many kinds return what torch does, operation by operation, and on streams of a GPU by random schedules.

Streams wait for all that they read; noise is not hidden.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from learned_schedulers.graphs.plans.module_export import source_of, trace_with_weights
from learned_schedulers.graphs.plans.module_operations import Operations
from learned_schedulers.graphs.plans.stream_run import (
    CAPTURED,
    EAGER,
    NotCapturable,
    Plain,
    Step,
    expected_results,
    named_results,
    steps,
    timed_on_streams,
)
from learned_schedulers.graphs.plans.turns import PLAN, DifferentResults, Turns, difference, measured_text
from learned_schedulers.graphs.problems.problem import Problem
from learned_schedulers.graphs.read.export import Way
from learned_schedulers.graphs.read.node_costs import Prices
from tests.graphs.problems import drawn

MODULES = """
import torch
from torch import nn

class Branches(nn.Module):  # a bias before a normalisation, whose gradient is rounding alone
    def __init__(self):
        super().__init__()
        self.parts = nn.ModuleList(nn.Conv2d(3, 4, k, padding=k // 2) for k in (1, 3, 5))
        self.norm, self.last = nn.BatchNorm2d(12), nn.Linear(12, 4)
    def forward(self, x):
        x = torch.cat([part(x).relu() for part in self.parts], 1)
        return self.last(self.norm(x).mean((2, 3)))

class Several(nn.Module):  # results that are integers, views, parts of another, and an input
    def __init__(self):
        super().__init__()
        self.table, self.mix = nn.Embedding(10, 8), nn.Linear(8, 8)
    def forward(self, tokens, scale):
        x = self.table(tokens) * scale
        values, places = torch.topk(self.mix(x), 3)
        first, second = x.chunk(2, -1)
        total = (first + second).sum()
        return {"best": values, "places": places, "half": first.transpose(0, 1), "sum": total, "tokens": tokens}

class Choice(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(8, 8), nn.Linear(8, 8)
    def forward(self, x):
        chosen = torch.cond(x.sum() > 0, lambda t: self.first(t).tanh(), lambda t: self.second(t).relu(), (x,))
        return chosen + self.second(x)

class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers, self.last = nn.LSTM(8, 16, bidirectional=True), nn.Linear(32, 3)
    def forward(self, x):
        y, (h, c) = self.layers(x)
        return self.last(y), h, c

class Attention(nn.Module):  # whose results have other strides than the trace says
    def __init__(self, dropout=0.0):
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(16, 4, 32, dropout=dropout, batch_first=True)
    def forward(self, x):
        return self.layer(x)

class Noise(nn.Module):  # random numbers of many kinds, also where training is off
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(16, 16), nn.Linear(16, 4)
        self.dropout, self.alpha, self.slope = nn.Dropout(0.3), nn.AlphaDropout(0.2), nn.RReLU()
    def forward(self, x):
        x = self.slope(self.first(x) + torch.rand_like(x))[:, torch.randperm(16)]
        return self.last(self.alpha(self.dropout(x.t()).t()))

class Hidden(nn.Module):  # it draws, but not while torch.export looks
    def __init__(self):
        super().__init__()
        self.last = nn.Linear(16, 4)
    def forward(self, x):
        if not torch.compiler.is_exporting():
            x = x + torch.rand(16)
        return self.last(x)

class Normalised(nn.Module):  # a dimension of one element, whose stride decides the memory format
    def __init__(self):
        super().__init__()
        self.mix, self.norm = nn.Linear(8, 8), nn.GroupNorm(2, 8)
    def forward(self, x):
        return self.norm(self.mix(x.flatten(2).transpose(1, 2)).transpose(1, 2).reshape(x.shape) + x)

class State(nn.Module):  # a buffer that changes, constants, and types
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(8))
        self.register_buffer("calls", torch.zeros(8))
        self.steps = torch.arange(8.0)
    def forward(self, x):
        self.calls += 1
        mask = torch.arange(8) > 3
        return torch.where(mask, x * self.weight, self.steps), torch.fft.rfft(x), x.to(torch.bfloat16)
"""

CASES = [  # class, inputs, whether it is a training step, tensors to compare
    ("Branches", ["2,3,8,8"], False, 1),
    ("Branches", ["2,3,8,8"], True, 11),
    ("Several", ["tokens=int64:4,5", "scale=4,5,8"], False, 5),
    ("Choice", ["4,8"], False, 1),
    ("Choice", ["4,8"], True, 5),
    ("Recurrent", ["3,2,8"], False, 3),
    ("Recurrent", ["3,2,8"], True, 11),
    ("Attention", ["2,6,16"], False, 1),
    ("Attention", ["2,6,16"], True, 13),
    ("State", ["3,8"], False, 3),
    ("Normalised", ["1,8,4,8"], True, 5),
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "run_kinds.py").write_text(MODULES)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "run_kinds", raising=False)


@pytest.mark.parametrize(("name", "inputs", "training", "tensors"), CASES)
def test_operations_compute_what_plain_torch_does(
    name: str, inputs: list[str], training: bool, tensors: int, folder: None
) -> None:
    trace = trace_with_weights(f"run_kinds:{name}", inputs, training, Way())
    operations = Operations(trace)
    assert operations.kinds == source_of(f"run_kinds:{name}", trace, Prices()).graph.kinds and not operations.draws
    values = list(operations.fixed)
    with torch.no_grad():
        for node in operations.nodes:
            if node in operations.owners:
                operations.instructions[node].run(values)
    computed = {i: values[operations.number[node]] for i, node in enumerate(operations.computed)}
    expected = expected_results(Plain(trace), trace, operations)
    assert len(expected) == tensors and difference(expected, named_results(operations, computed)) < 1e-4


def test_random_numbers_are_noticed(folder: None) -> None:
    for name, training in (("Noise", False), ("Noise", True), ("Attention(dropout=0.1)", True)):
        inputs = ["2,6,16"] if name.startswith("Attention") else ["6,16"]
        assert Operations(trace_with_weights(f"run_kinds:{name}", inputs, training, Way())).draws
    hidden = trace_with_weights("run_kinds:Hidden", ["2,16"], False, Way())
    operations = Operations(hidden)
    assert not operations.draws
    with pytest.raises(DifferentResults, match="draws random numbers"):
        expected_results(Plain(hidden), hidden, operations)


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


def test_what_counts_as_equal() -> None:
    expected = {"output 0": torch.tensor([1.0, float("nan"), 4.0]), "output 1": torch.tensor([1, 2])}
    near = expected | {"output 0": torch.tensor([1.0, float("nan"), 4.0 + 1e-5])}
    assert 0 < difference(expected, near) < 1e-5 and difference(expected, dict(expected)) == 0
    for name, wrong in (
        ("output 0", torch.tensor([1.0, float("nan"), 4.1])),
        ("output 0", torch.tensor([1.0, 1.0, 4.0])),
        ("output 1", torch.tensor([1, 3])),
        ("output 1", torch.tensor([1.0, 2.0])),
    ):
        with pytest.raises(DifferentResults, match=name):
            difference(expected, expected | {name: wrong})


def test_what_is_rounding_beside_the_largest_tensor_is_no_difference() -> None:
    expected = {"output 0": torch.tensor([1e3]), "gradient of bias": torch.tensor([1e-6, -2e-6])}
    assert difference(expected, expected | {"gradient of bias": torch.tensor([2e-6, 0.0])}) < 1e-4


def test_the_sentence_says_which_is_fastest() -> None:
    predicted = {PLAN: 2.5, EAGER: 4.0, CAPTURED: 4.0}
    seconds = {PLAN: np.full(9, 3.0), EAGER: np.full(9, 4.0), CAPTURED: np.full(9, 2.0)}
    text = measured_text(predicted, Turns(seconds, 2, 0.0))
    assert "plain torch as a CUDA graph is fastest; the plan takes 1.50 times as long" in text
    assert text.endswith("The plan is right: its 2 tensors equal plain torch's, exactly.")
    seconds[CAPTURED] = np.array([2.0, 4.0, 3.1, 2.9, 3.0, 2.5, 3.5, 3.2, 2.8])
    assert "no difference between" in measured_text(predicted, Turns(seconds, 2, 1e-7))
    seconds[CAPTURED] = np.full(9, 6.0)
    text = measured_text(predicted, Turns(seconds, 2, 1e-7))
    assert "the plan is fastest; plain torch takes 1.33 times as long" in text and "scatter" not in text
    seconds[PLAN] = np.linspace(2.0, 4.0, 9)
    assert "The times scatter by 33%: other programs use the GPU" in measured_text(predicted, Turns(seconds, 2, 0.0))
