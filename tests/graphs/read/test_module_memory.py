"""What modules and ONNX files keep: weights that several operations read, gradients, states of optimisers, results."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, helper
from torch import Tensor, nn

from learned_schedulers.graphs.devices.simulator import makespans, peaks
from learned_schedulers.graphs.plans.model_files import read_graph
from learned_schedulers.graphs.plans.sources import on_devices
from learned_schedulers.graphs.problems.problem import NO_SHARED, Edges, Problem, Transfers
from learned_schedulers.graphs.read.export import traced
from learned_schedulers.graphs.read.module_memory import ModuleMemory, Optimiser, memory_of
from learned_schedulers.graphs.read.onnx_files import NamedGraph, read_with_names

WIDTH = 16
SQUARE = 4 * WIDTH**2  # bytes of a weight


class Siamese(nn.Module):
    """One layer for two inputs."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(WIDTH, WIDTH, bias=False)

    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        return self.layer(x), self.layer(y).relu()


class Tied(nn.Module):
    """Embedding and last layer are one parameter."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(WIDTH, WIDTH)
        self.head = nn.Linear(WIDTH, WIDTH, bias=False)
        self.head.weight = self.words.weight

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return self.head(x) + self.words((y.sum(1) > 0).long())


class Repeated(nn.Module):
    """Three steps with one matrix, which is transposed before each."""

    def __init__(self) -> None:
        super().__init__()
        self.matrix = nn.Parameter(torch.eye(WIDTH))

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        for _ in range(3):
            x = torch.tanh(x @ self.matrix.t())
        return x + y


class Buffer(nn.Module):
    """A buffer that two sums read."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("constant", torch.ones(WIDTH, WIDTH))

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return (x + self.constant) * (y - self.constant)


def memory(module: type[nn.Module], variant: str = "forward", optimiser: Optimiser = "sgd") -> ModuleMemory:
    inputs = torch.zeros(WIDTH, WIDTH), torch.zeros(WIDTH, WIDTH)
    return memory_of(traced(module(), inputs, variant).nodes, optimiser)


@pytest.mark.parametrize(("module", "reads"), [(Siamese, 1), (Tied, 1), (Repeated, 2), (Buffer, 1)])
def test_a_weight_of_several_operations_is_shared(module: type[nn.Module], reads: int) -> None:
    shared = memory(module).shared
    assert shared.sizes.tolist() == [SQUARE] * reads
    assert len(set(shared.firsts.tolist())) == 1 and (shared.readers > shared.firsts).all()


@pytest.mark.parametrize(("module", "results"), [(Siamese, 2), (Tied, 1), (Repeated, 1), (Buffer, 1)])
def test_results_of_the_module_stay(module: type[nn.Module], results: int) -> None:
    assert memory(module).results.lasting.sum() == results


def test_gradients_wait_for_their_step_and_optimisers_have_states() -> None:
    module = nn.Sequential(*(nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(3)))
    nodes = traced(module, (torch.zeros(WIDTH, WIDTH),), "training").nodes
    of = {name: memory_of(nodes, name) for name in ("sgd", "momentum", "adam", "fused")}
    assert of["sgd"].results.lasting.sum() - of["fused"].results.lasting.sum() == 3
    states = [int(of[name].states.sum()) for name in ("sgd", "momentum", "adam", "fused")]
    assert states == [0, 3 * SQUARE, 6 * SQUARE, 0]


def test_inputs_count_on_every_device_that_reads_them() -> None:
    """Two layers read x, a view of it among them; the second device needs it, too, without a transfer."""

    class Twice(nn.Module):
        def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
            return torch.relu(x), torch.tanh(x.t()) * 2

    read = memory(Twice)
    assert read.inputs.kept_bytes.tolist() == [SQUARE, 0, 0]  # nothing reads y
    assert (read.inputs.shared.readers.tolist(), read.inputs.shared.sizes.tolist()) == ([1], [SQUARE])
    numbers, edges = np.arange(3), Edges(np.array([0, 0, 1, 1], np.int32), np.array([2], np.int32))
    shared = NO_SHARED.and_those_of(read.inputs.shared)
    link = Transfers(slope=1.0)
    apart = Problem(np.ones(3), np.zeros(3), edges, 2, link, read.inputs.kept_bytes.astype(float), shared=shared)
    assert peaks(apart, numbers, np.array([0, 1, 1])).tolist() == [SQUARE, SQUARE]
    assert peaks(apart, numbers, np.array([0, 0, 0])).tolist() == [SQUARE, 0]
    assert makespans(apart, numbers[None], np.array([[0, 1, 1]])) == [2.0]


def onnx_graph(folder: Path, nodes: list[onnx.NodeProto], outputs: list[str]) -> NamedGraph:
    square = [WIDTH, WIDTH]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, square)],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
        [onnx.numpy_helper.from_array(np.ones(square, np.float32), "w")],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), folder / "g.onnx")
    return read_with_names(folder / "g.onnx")


def test_inputs_of_a_file_count_at_their_first_reader_also_through_views_and_groups(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Transpose", ["x"], ["t"], perm=[1, 0]),
        helper.make_node("MatMul", ["t", "w"], ["a"]),
        helper.make_node("Sigmoid", ["x"], ["s"]),
        helper.make_node("Mul", ["x", "s"], ["b"]),
        helper.make_node("Add", ["a", "b"], ["y"]),
    ]
    onnx_graph(tmp_path, nodes, ["y"])
    source = read_graph(tmp_path / "g.onnx", {})
    assert source.graph.kinds == ("MatMul", "Swish", "Add") and source.inputs is not None
    assert source.inputs.kept_bytes.tolist() == [SQUARE, 0, 0]
    assert source.inputs.shared.readers.tolist() == [1] and source.inputs.shared.firsts.tolist() == [0]
    assert on_devices(source, 2).weights.tolist() == [2 * SQUARE, 0, 0]


@pytest.mark.parametrize(
    ("nodes", "reads"),
    [
        ([helper.make_node("MatMul", ["x", "w"], ["a"]), helper.make_node("MatMul", ["a", "w"], ["y"])], 1),
        (
            [
                helper.make_node("Identity", ["w"], ["v"]),
                helper.make_node("Add", ["x", "v"], ["a"]),
                helper.make_node("Mul", ["a", "w"], ["b"]),
                helper.make_node("Sub", ["b", "v"], ["y"]),
            ],
            2,
        ),
    ],
)
def test_a_constant_of_several_nodes_is_shared(nodes: list[onnx.NodeProto], reads: int, tmp_path: Path) -> None:
    read = onnx_graph(tmp_path, nodes, ["y"])
    assert read.shared.sizes.tolist() == [SQUARE] * reads
    assert read.graph.bytes_kept.sum() == SQUARE
    assert read.results.lasting.tolist() == [False] * (len(read.graph) - 1) + [True]
