"""Graphs of modules on the meta device: operations, costs by hand, merged operations and operations without cost."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from learned_schedulers.graphs.read.export import graph_of_module
from learned_schedulers.graphs.read.graph import Graph


class Net(nn.Module):
    """A grouped convolution, normalised and viewed as rows; one weight that is read twice."""

    def __init__(self) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(4, 6, 3, groups=2, bias=False)
        self.norm = nn.BatchNorm2d(6)
        self.head = nn.Linear(54, 54)

    def forward(self, x: Tensor) -> Tensor:
        rows = torch.relu(self.norm(self.convolution(x))).flatten(1)  # (2, 6, 3, 3) -> (2, 54)
        return self.head(self.head(rows))


def graph_of(variant: str, module: type[nn.Module] = Net, *shape: int) -> Graph:
    with torch.device("meta"):
        return graph_of_module(module(), (torch.empty(shape or (2, 4, 5, 5)),), "net", "nets", variant)


def names(graph: Graph) -> list[tuple[str, str]]:
    return list(zip(graph.kinds, graph.layers, strict=True))


def test_forward_by_hand() -> None:
    graph = graph_of("forward")
    assert names(graph) == [
        ("convolution", "convolution"),
        ("_native_batch_norm_legit_no_training", "norm"),
        ("relu", ""),
        ("addmm", "head"),
        ("addmm", "head"),
    ]
    assert list(zip(graph.children.sources, graph.children.targets, strict=True)) == [(i, i + 1) for i in range(4)]
    result = 2 * 6 * 3 * 3
    product = 2.0 * 2 * 54 * 54
    # The convolution has two groups of 2 input channels and 3 x 3 weights; normalisation and relu: one per element.
    assert graph.flops.tolist() == [2.0 * result * 2 * 9, result, result, product, product]
    assert graph.bytes_written.tolist() == [4 * result] * 5
    head = 4 * (54 * 54 + 54)  # counts at its first reader
    assert graph.bytes_kept.tolist() == [4 * 6 * 2 * 9, 4 * 4 * 6, 0, head, 0]
    assert graph.bytes_read.tolist() == [
        4 * 2 * 4 * 25 + 4 * 6 * 2 * 9,
        4 * result + 4 * 4 * 6,
        4 * result,
        *[4 * result + head] * 2,
    ]
    assert len(graph.seconds) == 0


def test_training_adds_gradients_with_their_layers() -> None:
    graph = graph_of("training")
    (backward,) = np.flatnonzero(np.array(graph.kinds) == "convolution_backward")
    assert graph.layers[backward] == "convolution"
    # The first layer's input needs no gradient, and the gradient of its weights costs as much as the convolution.
    assert graph.flops[backward] == graph.flops[graph.kinds.index("convolution")] == 2.0 * 2 * 6 * 9 * 2 * 9
    assert graph.kinds.count("mm") == 4  # two products, each with two gradients
    assert {layer for kind, layer in names(graph) if kind == "mm"} == {"head"}
    assert graph.bytes_kept.sum() == graph_of("forward").bytes_kept.sum()


class Stacked(nn.Module):
    """Gradients of inputs and weights of grouped and transposed convolutions."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv1d(4, 4, 1, bias=False)
        self.grouped = nn.Conv1d(4, 4, 3, groups=4, bias=False)
        self.transposed = nn.ConvTranspose1d(4, 5, 2, stride=2, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.transposed(self.grouped(self.first(x)))


def test_convolutions_take_twice_as_much_backward() -> None:
    graph = graph_of("training", Stacked, 3, 4, 8)
    flops: dict[tuple[str, str], float] = {}
    for name, count in zip(names(graph), graph.flops.tolist(), strict=True):
        flops[name] = count
    assert flops["convolution", "grouped"] == 2 * 3 * 4 * 6 * 3
    assert flops["convolution", "transposed"] == 2 * 3 * 4 * 6 * 5 * 2
    for layer in ("grouped", "transposed"):
        assert flops["convolution_backward", layer] == 2 * flops["convolution", layer]


class Views(nn.Module):
    """Parts of one result, and an element that is repeated by a view."""

    def forward(self, x: Tensor) -> Tensor:
        value, gate = torch.exp(x).chunk(2, -1)
        return value + gate[:, :1].expand(-1, value.shape[1])


def test_what_is_free_belongs_to_its_producer() -> None:
    graph = graph_of("forward", Views, 3, 8)
    assert graph.kinds == ("exp", "add")
    assert graph.children.targets.tolist() == [1]
    assert graph.bytes_written.tolist() == [96, 48]
    assert graph.bytes_read.tolist() == [96, 48 + 12]  # 3 x 4, and 3 x 1 repeated


class Step(nn.Module):
    def forward(self, x: Tensor, h: Tensor, c: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        c = c + torch.sigmoid(x)
        return torch.tanh(h), h * c, c


def test_states_of_a_cell_are_operations_without_cost() -> None:
    with torch.device("meta"):
        parts = tuple(torch.empty(2, 3) for _ in range(3))
        cell = graph_of_module(Step(), parts, "step", "steps", "cell", states=2)
    kinds = np.array(cell.kinds)
    ends = np.char.startswith(kinds, "carried")
    assert sorted(names(cell)) == sorted(
        [("carried_in", "0"), ("carried_in", "1"), ("carried_out", "0"), ("carried_out", "1")]
        + [(kind, "") for kind in ("sigmoid", "add", "tanh", "mul")]
    )
    assert cell.flops[ends].sum() == cell.bytes_read[ends].sum() == cell.bytes_written[ends].sum() == 0
    edges = {
        (names(cell)[i], names(cell)[j]) for i, j in zip(cell.children.sources, cell.children.targets, strict=True)
    }
    assert {edge for edge in edges if edge[0][0] == "carried_in"} == {
        (("carried_in", "0"), ("tanh", "")),
        (("carried_in", "0"), ("mul", "")),
        (("carried_in", "1"), ("add", "")),
    }
    assert {edge for edge in edges if edge[1][0] == "carried_out"} == {
        (("mul", ""), ("carried_out", "0")),
        (("add", ""), ("carried_out", "1")),
    }


@pytest.mark.parametrize("variant", ["forward", "training"])
def test_the_same_module_gives_the_same_graph(variant: str) -> None:
    assert graph_of(variant).graph_id == graph_of(variant).graph_id
