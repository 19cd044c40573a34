"""Modules of many kinds, run by random schedules on two cores, return what plain torch returns; noise is not hidden."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import nullcontext

import numpy as np
import pytest
import torch

from learned_schedulers.graphs.plans import module_run, turns
from learned_schedulers.graphs.plans.beside_plain import measured_text, predicted_text
from learned_schedulers.graphs.plans.module_export import source_of, trace_with_weights
from learned_schedulers.graphs.plans.module_operations import Operations
from learned_schedulers.graphs.plans.module_run import timed_in_turns
from learned_schedulers.graphs.plans.module_work import RunModule
from learned_schedulers.graphs.plans.turns import PATIENCE, PLAN, DifferentResults, Turns, difference
from learned_schedulers.graphs.read.export import Way
from learned_schedulers.graphs.read.module_memory import Optimiser
from learned_schedulers.graphs.read.node_costs import Prices
from learned_schedulers.graphs.run.pair import Pair

needs_two_cores = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="schedules are executed on two cores")

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

class Dropping(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.LSTM(16, 16, 2, dropout=0.2)
        self.decoder = nn.TransformerDecoderLayer(16, 4, 32, dropout=0.2, batch_first=True)
    def forward(self, x):
        return self.decoder(x, self.layers(x)[0]).mean(1)

class Hidden(nn.Module):  # it draws, but not while torch.export looks
    def __init__(self):
        super().__init__()
        self.last = nn.Linear(16, 4)
    def forward(self, x):
        if not torch.compiler.is_exporting():
            x = x + torch.rand(16)
        return self.last(x)

class NoisyChoice(nn.Module):
    def __init__(self):
        super().__init__()
        self.last, self.dropout = nn.Linear(8, 8), nn.Dropout(0.4)
    def forward(self, x):
        chosen = torch.cond(x.sum() > 0, lambda t: t * torch.rand_like(t), lambda t: t + torch.rand_like(t), (x,))
        return self.last(self.dropout(chosen))

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


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """Two processes that run the tasks of all tests, for they import torch for longer than a task takes.

    The command's tests (tests/command/test_graph_run.py) start those of their own.
    """
    folder = tmp_path_factory.mktemp("kinds")
    (folder / "run_kinds.py").write_text(MODULES)
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder)
        with Pair(PATIENCE) as processes:
            yield processes


@pytest.fixture
def folder(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "run_kinds", raising=False)
    monkeypatch.setattr(module_run, "Pair", lambda _: nullcontext(pair))
    monkeypatch.setattr(turns, "_LEAST_ROUNDS", 1)
    monkeypatch.setattr(turns, "_BUDGET", 0.0)


def turns_of(
    name: str, inputs: list[str], training: bool, way: Way | None = None, optimiser: Optimiser | None = None
) -> Turns:
    """A random schedule of a module, run beside plain torch."""
    module = RunModule(f"run_kinds:{name}", tuple(inputs), training, way or Way(), optimiser)
    trace = trace_with_weights(module.named, module.inputs, module.training, module.way)
    source = source_of(module.named, trace, Prices())
    operations = Operations(trace, optimiser)
    n = len(source.graph.kinds)
    assert operations.kinds[:n] == source.graph.kinds
    assert len(operations.kinds) - n == (len(source.gradients) if optimiser else 0)
    placement = np.random.default_rng(n).integers(0, 2, n)
    parents = source.graph.children.reversed()
    return timed_in_turns(module, trace, operations, parents, np.arange(n), placement, lambda _: None)


@pytest.mark.slow
@needs_two_cores
@pytest.mark.parametrize(("name", "inputs", "training", "tensors"), CASES)
def test_a_schedule_computes_what_plain_torch_does(
    name: str, inputs: list[str], training: bool, tensors: int, folder: None
) -> None:
    threads = torch.get_num_threads()
    measured = turns_of(name, inputs, training)
    assert measured.tensors == tensors and measured.difference < 1e-4
    assert set(measured.seconds) == {PLAN, "torch with 1 thread", "torch with 2 threads"}
    assert all((seconds > 0).all() for seconds in measured.seconds.values())
    assert torch.get_num_threads() == threads


@pytest.mark.slow
@needs_two_cores
@pytest.mark.parametrize(
    ("name", "inputs", "training", "attention", "tensors"),
    [
        ("Attention(dropout=0.1)", ["2,6,16"], True, True, 13),
        ("Attention(dropout=0.1)", ["2,6,16"], True, False, 13),
        ("Dropping", ["2,5,16"], True, True, 27),
        ("Noise", ["6,16"], True, True, 5),
        ("Noise", ["6,16"], False, True, 1),
    ],
)
def test_both_sides_draw_the_same_random_numbers(
    name: str, inputs: list[str], training: bool, attention: bool, tensors: int, folder: None
) -> None:
    measured = turns_of(name, inputs, training, Way(attention=attention))
    assert measured.tensors == tensors and measured.difference < 1e-4


@needs_two_cores
def test_random_numbers_that_the_trace_does_not_draw(folder: None) -> None:
    with pytest.raises(DifferentResults, match="draws random numbers, and its trace does so 0 times"):
        turns_of("Hidden", ["2,16"], False)
    with pytest.raises(DifferentResults, match="draws random numbers beside torch's cond"):
        turns_of("NoisyChoice", ["6,8"], True)


@pytest.mark.slow
@needs_two_cores
@pytest.mark.parametrize("optimiser", ["sgd", "momentum", "adam", "fused"])
def test_the_step_of_an_optimiser(optimiser: Optimiser, folder: None) -> None:
    measured = turns_of("Branches", ["2,3,8,8"], True, optimiser=optimiser)
    assert measured.tensors == 21 and measured.difference < 1e-4


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


@pytest.mark.slow
def test_the_sentence_says_which_is_fastest() -> None:
    plan, single, double = np.full(9, 3.0), np.full(9, 4.0), np.full(9, 2.0)
    predicted = {PLAN: 2.5, "torch with 1 thread": 4.0, "torch with 2 threads": 2.2}
    assert predicted_text(predicted).endswith("plain torch with 2 threads is expected to be fastest")
    assert "other programs use the cores" in predicted_text(predicted | {"torch with 2 threads": 40.0})
    seconds = {PLAN: plan, "torch with 1 thread": single, "torch with 2 threads": double}
    text = measured_text(predicted, Turns(seconds, 2, 0.0))
    assert "plain torch with 2 threads is fastest; the plan takes 1.50 times as long" in text
    assert text.endswith("The plan is right: its 2 tensors equal plain torch's, exactly.")
    seconds["torch with 2 threads"] = np.array([2.0, 4.0, 3.1, 2.9, 3.0, 2.5, 3.5, 3.2, 2.8])
    assert "no difference between" in measured_text(predicted, Turns(seconds, 2, 1e-7))
    seconds["torch with 2 threads"] = 2 * plan
    text = measured_text(predicted, Turns(seconds, 2, 1e-7))
    assert "the plan is fastest; plain torch with 1 thread takes 1.33 times as long" in text
    assert "scatter" not in text
    seconds[PLAN] = np.linspace(2.0, 4.0, 9)
    assert "The times scatter by 33%: other programs use the cores" in measured_text(predicted, Turns(seconds, 2, 0.0))
