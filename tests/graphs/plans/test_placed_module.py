"""A module that runs by a split gives the module's own results, and moves every result to a device once.

`tests/benchmarks/test_split_modules.py` compares modules of many kinds; here are the rules of calls and placements.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from pipeline.graphs.corpus.export import graph_of_module
from pipeline.graphs.corpus.workloads import WorkloadError, split_of
from pipeline.graphs.plans.placed_module import PlacedModule


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


def n_operations() -> int:
    return len(graph_of_module(Net().eval(), (WORDS,), "net", "nets", "forward"))


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
    graph = graph_of_module(network(), (WORDS,), "net", "nets", "forward")
    ends = zip(graph.children.sources.tolist(), graph.children.targets.tolist(), strict=True)
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
    with pytest.raises(WorkloadError, match=f"the workload Net has no node {n}"):
        PlacedModule.of_split(net, (WORDS,), path, ["cpu", "cpu"])
    path.write_text(split_of(np.arange(n - 1), np.zeros(n - 1, int), 2))
    with pytest.raises(WorkloadError, match=f"node {n - 1} is on no device"):
        PlacedModule.of_split(net, (WORDS,), path, ["cpu", "cpu"])


def test_wrong_placements() -> None:
    with pytest.raises(ValueError, match="the placement has 2 operations"):
        PlacedModule(network(), (WORDS,), np.zeros(2, int), ["cpu"])
    with pytest.raises(ValueError, match="uses device 3, but only 2 devices are given"):
        PlacedModule(network(), (WORDS,), np.full(n_operations(), 3), ["cpu"] * 2)
