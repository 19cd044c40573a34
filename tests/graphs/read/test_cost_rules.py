"""Operators without a rule for their cost are named with their count, of torch modules and of ONNX files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, helper
from torch import Tensor, nn

from learned_schedulers.graphs.plans.module_export import export_module
from learned_schedulers.graphs.read.cost_rules import unpriced_text
from learned_schedulers.graphs.read.export import traced
from learned_schedulers.graphs.read.node_costs import Prices
from learned_schedulers.graphs.read.onnx_files import read_with_names


@torch.library.custom_op("cost_rules::product", mutates_args=())
def product(x: Tensor, y: Tensor) -> Tensor:
    return x @ y


@product.register_fake
def _(x: Tensor, y: Tensor) -> Tensor:
    return x.new_empty(x.shape[0], y.shape[1])


class Unknown(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        y = product(product(x, x), x).sort().values
        return torch.cond(y.sum() > 0, lambda z: z.sin(), lambda z: product(z, z), (y,)) + torch.fft.rfft(y).abs().sum()


class Priced(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Conv1d(4, 4, 1), nn.BatchNorm1d(4), nn.GELU(), nn.Linear(4, 4), nn.LayerNorm(4))

    def forward(self, x: Tensor) -> Tensor:
        y = self.layers(x) @ x
        return torch.where(y > 0, y.softmax(-1), y.cumsum(0).clamp(-1, 1)).logsumexp(-1) + y.amax(-1).to(x.dtype)


@pytest.mark.parametrize(
    ("module", "shape", "expected"),
    [
        (Unknown(), (4, 4), ["cost_rules::product", "cost_rules::product", "cost_rules::product"]),
        (Priced(), (2, 4, 4), []),
    ],
)
def test_modules(module: nn.Module, shape: tuple[int, ...], expected: list[str]) -> None:
    nodes = traced(module.to("meta"), (torch.empty(shape, device="meta"),), "forward").nodes
    assert list(Prices().unpriced(nodes)) == expected


def test_training_adds_no_operators_without_a_rule() -> None:
    nodes = traced(Priced().to("meta"), (torch.empty(2, 4, 4, device="meta"),), "training").nodes
    assert set(Prices().unpriced(nodes)) == set()


def test_files(tmp_path: Path) -> None:
    """An operator of another domain is unknown, even if it has a name of ONNX's."""
    nodes = [
        helper.make_node("LSTM", ["x", "w", "r"], ["y"], hidden_size=4),
        helper.make_node("Relu", ["y"], ["z"]),
        helper.make_node("Relu", ["z"], ["v"], domain="mine"),
        helper.make_node("Einsum", ["v", "v"], ["e"], equation="abcd,abcd->a"),
    ]
    weights = [helper.make_tensor(name, TensorProto.FLOAT, [1, 16, 4], np.zeros(64, np.float32)) for name in ("w", "r")]
    shape = [3, 1, 2, 4]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [3, 2, 4])],
        [helper.make_tensor_value_info("e", TensorProto.FLOAT, [3])],
        weights,
        value_info=[helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in ("y", "z", "v")],
    )
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid("mine", 1)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=10), tmp_path / "mine.onnx")
    assert read_with_names(tmp_path / "mine.onnx").unpriced == ("mine::Relu",)


@pytest.mark.parametrize(("kind", "taps"), [("MaxPool", 9), ("AveragePool", 9), ("LpPool", 9)])
def test_pools_of_files(kind: str, taps: int, tmp_path: Path) -> None:
    node = helper.make_node(kind, ["x"], ["y"], kernel_shape=[3, 3], strides=[2, 2])
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in FORMS.items()]
    model = helper.make_model(helper.make_graph([node], "g", values[:1], values[1:]), ir_version=10)
    model.opset_import[0].version = 20
    onnx.save(model, tmp_path / "mine.onnx")
    read = read_with_names(tmp_path / "mine.onnx", joins=True)
    assert read.unpriced == () and read.graph.flops.tolist() == [taps * 2 * 3 * 4 * 4]
    assert read_with_names(tmp_path / "mine.onnx").unpriced == ()


FORMS = {"x": [2, 3, 9, 9], "y": [2, 3, 4, 4]}


class Windows(nn.Module):
    """Windows that never change, and an unknown operator of a weight that never changes: neither costs anything."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(8, 8))

    def forward(self, x: Tensor) -> Tensor:
        windows = torch.hann_window(8, device=x.device) * torch.kaiser_window(8, device=x.device)
        pooled, places = nn.functional.max_pool2d(x, 2, return_indices=True)
        return nn.functional.max_unpool2d(pooled, places, 2) * windows + product(self.weight, self.weight)


def test_what_costs_nothing_is_not_warned_of() -> None:
    source = export_module(f"{__name__}:Windows", ["2,3,8,8"], False)
    assert source.unpriced == () and source.graph.kinds == ("max_pool2d_with_indices", "max_unpool2d", "mul", "add")
    assert export_module(f"{__name__}:Windows", ["2,3,8,8"], False, eager=True).unpriced == ("cost_rules::product",)


def test_the_sentence_counts() -> None:
    assert unpriced_text(()) == ""
    assert unpriced_text(("sort", "LSTM", "sort")).startswith("without a formula for their cost: LSTM (1), sort (2);")
