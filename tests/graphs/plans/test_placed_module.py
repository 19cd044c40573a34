"""A module that runs by a split gives the module's own results, and moves every result to a device once."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch._subclasses import FakeTensorMode
from typer.testing import CliRunner

from learned_schedulers.command.main import app
from learned_schedulers.graphs.plans.call_form import NotPlaceable, call_of
from learned_schedulers.graphs.plans.placed_module import PlacedModule, operation_kinds
from learned_schedulers.graphs.plans.placed_run import PlacedRun
from learned_schedulers.graphs.read.export import graph_of_module
from learned_schedulers.graphs.read.graph import Graph
from learned_schedulers.graphs.read.workloads import split_of

pytestmark = pytest.mark.slow


class Net(nn.Module):
    """Views, parts of one result, a weight that is read twice, a constant, an embedding and a normalisation."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(11, 8)
        self.norm = nn.BatchNorm1d(5)
        self.mix = nn.Linear(8, 8)
        self.register_buffer("shift", torch.linspace(0, 1, 8))

    def forward(self, words: Tensor) -> tuple[Tensor, Tensor]:
        normalised = self.norm(self.table(words))  # (3, 5, 8)
        first, second = self.mix(self.mix(normalised + self.shift)).chunk(2, -1)
        places = torch.arange(5, device=words.device).unsqueeze(-1)
        return torch.softmax(first @ second.transpose(1, 2), -1), (first * places).sum(1)


WORDS = torch.arange(15).reshape(3, 5) % 11


def network() -> Net:
    torch.manual_seed(0)
    net = Net()
    net(WORDS)  # statistics of the normalisation
    return net.eval()


@cache
def graph() -> Graph:
    return graph_of_module(network(), (WORDS,), "net", "nets", "forward")


def n_operations() -> int:
    return len(graph())


@given(seed=st.integers(0, 2**31), devices=st.integers(1, 4))
@settings(max_examples=10, deadline=None)
def test_the_same_results_and_every_crossing_once(seed: int, devices: int) -> None:
    net = network()
    placement = np.random.default_rng(seed).integers(0, devices, n_operations())
    placed = PlacedModule(net, (WORDS,), placement, ["cpu"] * devices)
    assert all(parameter.requires_grad for parameter in net.parameters())
    reversed_words = WORDS.flip(0)
    for words in (WORDS, reversed_words):
        for result, expected in zip(placed(words), net(words), strict=True):
            assert torch.equal(result, expected) and result.requires_grad
    children = graph().children
    ends = zip(children.sources.tolist(), children.targets.tolist(), strict=True)
    assert placed.transfers == {(i, placement[j]) for i, j in ends if placement[i] != placement[j]}


def test_one_result_is_no_tuple() -> None:
    linear = nn.Linear(3, 2)
    x = torch.ones(4, 3)
    result = PlacedModule(linear, (x,), np.zeros(1, int), ["cpu"])(x)
    assert isinstance(result, Tensor) and torch.equal(result, linear(x))


def test_operations_are_numbered_as_on_the_meta_device() -> None:
    torch.manual_seed(1)
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()  # on a CPU torch fuses all of it
    x = torch.randn(2, 5, 8)
    with torch.device("meta"):
        alone = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        n = len(graph_of_module(alone, (torch.empty(2, 5, 8),), "layer", "layers", "forward"))
    result = PlacedModule(layer, (x,), np.arange(n) % 2, ["cpu", "cpu"])(x)
    assert isinstance(result, Tensor)
    torch.testing.assert_close(result, layer(x))


def test_a_split_file(tmp_path: Path) -> None:
    net, n = network(), n_operations()
    path = tmp_path / "split.json"
    path.write_text(split_of(np.arange(n), np.arange(n) % 2, 2))
    placed = PlacedModule.of_split(net, (WORDS,), path, ["cpu", "cpu"])
    assert torch.equal(placed(WORDS)[1], net(WORDS)[1]) and placed.transfers
    path.write_text(split_of(np.arange(n + 1), np.zeros(n + 1, int), 2))
    with pytest.raises(NotPlaceable, match=f"the workload Net has no node {n}"):
        PlacedModule.of_split(net, (WORDS,), path, ["cpu", "cpu"])
    path.write_text(split_of(np.arange(n - 1), np.zeros(n - 1, int), 2))
    with pytest.raises(NotPlaceable, match=f"node {n - 1} is on no device"):
        PlacedModule.of_split(net, (WORDS,), path, ["cpu", "cpu"])


def test_the_example_of_the_docs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    [code] = re.findall(r"```python\n(import torch\n.*?)```", Path("docs/own_model.md").read_text(), re.DOTALL)
    lines = ["from torch import nn", "class Network(nn.Sequential):", "    def __init__(self):"]
    (tmp_path / "mine.py").write_text("\n".join([*lines, "        super().__init__(nn.Linear(4096, 8), nn.ReLU())"]))
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "mine", raising=False)
    words = ["mine:Network", "--input", "256,4096", "--devices", "2", "--moves", "5", "--split", "split.json"]
    assert CliRunner().invoke(app, ["graph", *words]).exit_code == 0
    names: dict[str, Any] = {}
    exec(code, names)  # noqa: S102
    assert names["scores"].shape == (256, 8)
    monkeypatch.delitem(sys.modules, "mine")


def test_wrong_placements() -> None:
    with pytest.raises(ValueError, match="the placement has 2 operations"):
        PlacedModule(network(), (WORDS,), np.zeros(2, int), ["cpu"])
    with pytest.raises(ValueError, match="uses device 3, but only 2 devices are given"):
        PlacedModule(network(), (WORDS,), np.full(n_operations(), 3), ["cpu"] * 2)


def placed_linear(module: nn.Module, *inputs: object, **keywords: object) -> PlacedModule:
    n = len(operation_kinds(module, inputs, keywords))
    return PlacedModule(module, inputs, np.arange(n) % 2, ["cpu", "cpu"], keywords)


class Scaled(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(8, 8)
        self.scale = 2.0

    def forward(self, x: Tensor, factor: float = 1.0, *, shift: Tensor | None = None) -> Tensor:
        y = self.layer(x).sum(0) / x.shape[0] * factor * self.scale
        return y if shift is None else y + shift


X = torch.randn(4, 8, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize(
    ("inputs", "keywords", "message"),
    [
        (
            (X[:2],),
            {},
            r"the input x is a float32 tensor of shape \(2, 8\) .* placed with a .* \(4, 8\) .*: pass the latter",
        ),
        ((X.double(),), {}, "the input x is a float64 tensor"),
        ((X.t().contiguous().t(),), {}, r"the input x is .* strides \(1, 4\), .* strides \(8, 1\)"),
        ((X, 2.0), {}, r"the input factor is 2.0 \(float\), .* placed with 3.0 \(float\)"),
        ((X, 3), {}, r"the input factor is 3 \(int\)"),
        ((X,), {}, "the call has the inputs x, but the module was placed with x, factor"),
        ((X, 3.0), {"shift": X[0]}, "the call has the inputs x, factor, shift, but"),
        (([X], 3.0), {}, r"the call has the inputs x\[0\], factor, but"),
        ((), {}, r"forward takes \(x: .*missing a required argument: 'x'"),
        ((X, 3.0, X), {}, "forward takes .*too many positional"),
        ((X.to_sparse(), 3.0), {}, "the input x is of layout torch.sparse_coo"),
        ((X.numpy(), 3.0), {}, "the input x is a ndarray"),
        ((None, 3.0), {}, "the input x is None"),
    ],
)
def test_calls_of_another_form_are_refused(inputs: tuple, keywords: dict, message: str) -> None:
    if len(inputs) == 1:
        inputs = (*inputs, 3.0) if "call has" not in message else inputs
    placed = placed_linear(Scaled(), X, 3.0)
    with pytest.raises(NotPlaceable, match=message):
        placed(*inputs, **keywords)
    assert torch.equal(placed(X, 3.0), placed.module(X, 3.0))


def test_keywords_are_the_same_call() -> None:
    placed = placed_linear(Scaled(), X, shift=X[0])
    assert torch.equal(placed(x=X, shift=X[0]), placed.module(X, shift=X[0]))


def test_the_same_tensor_twice_is_a_form() -> None:
    attention = nn.MultiheadAttention(8, 2).eval()
    placed = placed_linear(attention, X, X, X)
    torch.testing.assert_close(placed(X, X, X)[0], attention(X, X, X)[0])
    with pytest.raises(NotPlaceable, match=r"the input key is .* the same tensor as query"):
        placed(X, X.clone(), X)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda module: module.train(), "training of the module is not what it was"),
        (lambda module: setattr(module, "scale", 3.0), "scale of the module"),
        (lambda module: setattr(module, "layer", nn.Linear(8, 8, bias=False)), "of the module is not what it was"),
        (lambda module: setattr(module.layer, "weight", nn.Parameter(torch.ones(8, 8).double())), "layer.weight of"),
        (lambda module: module.layer.register_forward_hook(lambda *_: None), "layer._forward_hooks"),
    ],
)
def test_a_module_that_has_changed_is_refused(change: Callable[[nn.Module], object], message: str) -> None:
    placed = placed_linear(Scaled().eval(), X)
    change(placed.module)
    with pytest.raises(NotPlaceable, match=message):
        placed(X)


def test_new_values_of_weights_count() -> None:
    module, other = Scaled(), Scaled()
    placed = placed_linear(module, X)
    module.load_state_dict(other.state_dict())
    assert torch.equal(placed(X), other(X))
    module.layer.weight = nn.Parameter(torch.ones(8, 8))
    assert torch.equal(placed(X), module(X)) and not torch.equal(placed(X), other(X))
    module.layer.bias.requires_grad_(False)
    placed(X).sum().backward()
    assert module.layer.bias.grad is None and module.layer.weight.grad is not None
    module.layer.bias.requires_grad_(True)
    placed(X).sum().backward()
    assert module.layer.bias.grad is not None


def test_weights_that_are_no_longer_tied() -> None:
    module = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 8))
    module[1].weight = module[0].weight
    placed = placed_linear(module, X)
    module[1].weight = nn.Parameter(module[0].weight.detach().clone())
    with pytest.raises(NotPlaceable, match=r"1\.weight of the module"):
        placed(X)


def test_settings_of_torch() -> None:
    placed = placed_linear(Scaled(), X)
    with torch.autocast("cpu", torch.bfloat16):
        with pytest.raises(NotPlaceable, match="autocast of cpu"):
            placed(X)
        with pytest.raises(NotPlaceable, match="autocast of cpu is enabled"):
            placed_linear(Scaled(), X)
    with pytest.raises(NotPlaceable, match=r"torch\.func"):
        torch.vmap(placed)(X[None])
    with pytest.raises(NotPlaceable, match="meta device"):
        placed_linear(Scaled().to("meta"), X)


class DynamicCache:
    """As transformers name theirs."""


class Answers(nn.Module):
    def __init__(self, answer: Callable[[Tensor], object]) -> None:
        super().__init__()
        self.answer = answer

    def forward(self, x: Tensor) -> object:
        return self.answer(x)


@pytest.mark.parametrize(
    ("module", "message"),
    [
        (torch.compile(nn.Linear(8, 8)), r"the module is compiled by torch\.compile.*compiled\._orig_mod"),
        (nn.Sequential(torch.compile(nn.Linear(8, 8)), nn.ReLU()), r"0 is compiled by torch\.compile"),
        (Answers(lambda x: (x.sin(), DynamicCache())), r"forward returns a DynamicCache: .*; .*use_cache=False"),
        (Answers(lambda x: torch.nested.nested_tensor([x, x[:2]], layout=torch.jagged)), "pad the sequences to one le"),
        (Answers(lambda x: torch._grouped_mm(x[None], x.t()[None])), "BF16 type.*; give the module and its inputs one"),
    ],
)
def test_refusals_have_their_own_remedy(module: nn.Module, message: str) -> None:
    with pytest.raises(NotPlaceable, match=message):
        PlacedModule(module.eval(), (X,), np.zeros(2, int), ["cpu"])


class Overwrites(nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        x.add_(1)
        return x + y


def test_inputs_that_share_memory_with_what_changes() -> None:
    memory = torch.zeros(8)
    placed = placed_linear(Overwrites(), memory[:4].clone(), memory[4:].clone())
    assert placed(memory[:4], memory[4:]).tolist() == [1.0] * 4 and memory.tolist() == [1.0] * 4 + [0.0] * 4
    with pytest.raises(NotPlaceable, match="forward changes the input x, which shares memory with the input y"):
        placed(memory[:4], memory[2:6])


def test_what_the_loss_does_not_use_gets_zeros_where_torch_leaves_none() -> None:
    """The one difference of gradients that docs/own_model.md names."""

    class Heads(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.Linear(3, 2), nn.Linear(3, 2)

        def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
            return self.first(x), self.second(x)

    heads, example = Heads().eval(), torch.ones(4, 3)
    count = len(operation_kinds(heads, (example,)))
    placed = PlacedModule(heads, (example,), np.arange(count) % 2, ["cpu", "cpu"])
    placed(example)[0].sum().backward()
    first, second = heads.first.weight.grad, heads.second.weight.grad
    assert first is not None and (first == 4.0).all()
    assert second is not None and not second.any()


def test_a_training_module_has_other_operations() -> None:
    net = network()
    n = n_operations()
    with pytest.raises(NotPlaceable, match=r"the placement has 1\d operations.*call module.eval\(\)"):
        PlacedModule(net.train(), (WORDS,), np.zeros(n, int), ["cpu"])


def test_a_split_of_another_module(tmp_path: Path) -> None:
    path = tmp_path / "split.json"
    path.write_text(split_of(np.arange(2), np.zeros(2, int), 1, ["first (addmm)", "second (relu)"]))
    module = nn.Sequential(nn.Linear(8, 8), nn.Tanh())
    with pytest.raises(NotPlaceable, match=r"operation 1 is second \(relu\) there and tanh here: write the split"):
        PlacedModule.of_split(module, (X,), path, ["cpu"])
    names = ["first (addmm)", "second (tanh)", "second (tanh_backward)"]
    path.write_text(split_of(np.arange(3), np.zeros(3, int), 1, names))
    with pytest.raises(NotPlaceable, match=r"of 3 operations, and a training step .*has 2; .*without --training"):
        PlacedModule.of_split(module, (X,), path, ["cpu"])


@pytest.mark.parametrize("device", ["meta", "cuda:99", "nonsense"])
def test_a_device_that_torch_cannot_use_is_named(device: str) -> None:
    with pytest.raises(NotPlaceable, match=f"device {device}.*cpu"):
        PlacedModule(network(), (WORDS,), np.zeros(n_operations(), int), [device])


class Shared(nn.Module):
    """A weight and an input that both devices read, a cast, a constant made in forward, and a buffer that changes."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(8, 8)
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        self.calls += 1
        y = self.layer(x) + torch.arange(8, device=x.device)
        z = self.layer(y).double() * self.calls + x
        return y.relu(), z.view(-1)


@pytest.mark.parametrize("seed", range(8))
def test_two_kinds_of_devices_without_numbers(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tensors without content on cpu and cuda: no operation mixes devices, and gradients are where weights are."""
    runs: list[PlacedRun] = []
    make = PlacedRun.__init__

    def noted(run: PlacedRun, *arguments: Any) -> None:
        make(run, *arguments)
        runs.append(run)

    monkeypatch.setattr(PlacedRun, "__init__", noted)
    module = Shared()
    placement = np.random.default_rng(seed).integers(0, 2, len(operation_kinds(module, (X,))))
    placed = PlacedModule(module, (X,), placement, ["cpu", "cpu"])
    x = X.clone().requires_grad_()
    placed(x)[0].sum().backward()
    forward = next(run for run in runs[::-1] if not run.gradients)
    backward = next(run for run in runs[::-1] if run.gradients)
    capture = placed._captured(call_of(module.forward, (x,), {}))
    placed.devices[1] = torch.device("cuda:0")
    with FakeTensorMode(), torch.no_grad():
        weights = dict(module.named_parameters()) | dict(module.named_buffers())
        homes = [placed.devices[placed._homes[name]] for name in capture.weights]
        values = [
            torch.empty(weights[name].shape, device=home) for name, home in zip(capture.weights, homes, strict=True)
        ]
        values.append(torch.empty(4, 8))
        origins = [value.device for value in values]
        results = forward(values)
        calls, first, second, *saved = results
        assert len({part.device.type for part in saved}) == len(set(placement.tolist())) and len(calls.shape) == 0
        gradients = backward([*saved, torch.empty_like(first), torch.empty_like(second)])
    places = [(part.device, origin) for part, origin in zip(gradients, origins, strict=True) if part is not None]
    assert len(places) == 3 and all(device == origin for device, origin in places)
