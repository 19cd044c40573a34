"""One network in two forms, as a module and as its export to ONNX, is expected to take the same time."""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, helper

from learned_schedulers.graphs.plans.model_files import read_graph
from learned_schedulers.graphs.plans.module_export import export_module
from learned_schedulers.graphs.plans.sources import Source, on_devices
from learned_schedulers.graphs.read.onnx_files import read_with_names

MODULE = """
import math
import torch
from torch import nn
from torch.nn import functional


class Fused(nn.Module):
    def __init__(self, width=64, heads=4):
        super().__init__()
        self.heads, self.qkv, self.out = heads, nn.Linear(width, 3 * width), nn.Linear(width, width)

    def parts(self, x):
        return [part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in self.qkv(x).chunk(3, -1)]

    def forward(self, x, mask):
        result = functional.scaled_dot_product_attention(*self.parts(x), attn_mask=mask)
        return self.out(result.transpose(1, 2).flatten(-2))


class ByHand(Fused):
    def forward(self, x, mask):
        q, k, v = self.parts(x)
        scores = (q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])).masked_fill(mask, -1e9)
        return self.out((scores.softmax(-1) @ v).transpose(1, 2).reshape(x.shape))


class Weights(Fused):  # returns the scores, too, so that no fused kernel computes it
    def forward(self, x, mask):
        q, k, v = self.parts(x)
        weights = (q @ k.transpose(-2, -1)).softmax(-1)
        return self.out((weights @ v).transpose(1, 2).flatten(-2)), weights


class Layers(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.norm, self.second = nn.Linear(64, 128), nn.LayerNorm(128), nn.Linear(128, 64)

    def forward(self, x):
        return functional.mish(self.second(functional.silu(self.norm(functional.gelu(self.first(x))))))


class MeanSquare(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(64))

    def forward(self, x):
        x = x.relu()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight


class Convolutions(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Sequential(nn.Conv2d(3, 16, 3), nn.BatchNorm2d(16), nn.Hardswish())
        self.second = nn.Sequential(nn.Conv2d(16, 16, 3, groups=16), nn.BatchNorm2d(16), nn.ReLU())
        self.third = nn.Sequential(nn.BatchNorm2d(16), nn.ReLU(), nn.GroupNorm(4, 16))

    def forward(self, x):
        return self.third(self.second(self.first(x)))


class Both(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.LSTM(32, 24, 2, bidirectional=True, batch_first=True)
        self.second = nn.GRU(48, 16, batch_first=True)

    def forward(self, x):
        return self.second(self.first(x)[0])[0]


class Views(nn.Module):
    def forward(self, x):
        halves = x.permute(0, 2, 1).chunk(2, 1)
        turned = torch.cat((-halves[1], halves[0]), 1)
        return turned[:, 2:] * x.transpose(1, 2)[:, 2:], x.transpose(0, 1).reshape(-1) + 1


class Positions(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(100, 32), nn.Embedding(64, 32)

    def forward(self, words):
        places = torch.arange(words.shape[1], device=words.device)
        return self.words(words) + self.places(places) * 2


class Integers(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("weight", torch.zeros(64, 64, dtype=torch.int8))

    def forward(self, x):
        return x @ (self.weight.float() * 0.1)
"""
X, MASK = "8,128,64", "mask=bool:8,1,128,128"


@pytest.fixture(autouse=True)
def _module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "forms.py").write_text(MODULE)
    monkeypatch.delitem(sys.modules, "forms", raising=False)


def both(name: str, inputs: Sequence[str], **options: Any) -> tuple[Source, Source]:
    """The module, and its export, which has many small operators."""
    import forms  # type: ignore[import-not-found]

    tensors = []
    for text in inputs:
        kind, _, sizes = text.rpartition("=")[2].rpartition(":")
        shape = [int(size) for size in sizes.split(",")]
        tensors.append(torch.zeros(shape, dtype=getattr(torch, kind or "float32")))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(getattr(forms, name)().eval(), tuple(tensors), "forms.onnx", dynamo=False, opset_version=16)
    return export_module(f"forms:{name}", inputs, False, **options), read_graph(Path("forms.onnx"), {}, **options)


def seconds(source: Source) -> float:
    return float(on_devices(source, 1).seconds.sum())


@pytest.mark.parametrize(
    ("name", "inputs", "operations"),
    [
        ("Fused", [X, MASK], 3),
        ("ByHand", [X, MASK], 3),
        ("Layers", ["8,128,64"], 6),
        ("MeanSquare", ["8,128,64"], 2),
        ("Convolutions", ["4,3,32,32"], 7),
        ("Both", ["16,64,32"], 4),
        ("Views", ["16,64,32"], 5),
        ("Positions", ["int64:8,64"], 2),
    ],
)
def test_both_forms_take_the_same_time(name: str, inputs: Sequence[str], operations: int) -> None:
    module, file = both(name, inputs)
    assert seconds(file) == pytest.approx(seconds(module), rel=0.1)
    assert len(module.graph) == operations and abs(len(file.graph) - operations) <= 1


def test_attention_is_the_same_however_it_is_written() -> None:
    fused, by_hand = (both(name, [X, MASK]) for name in ("Fused", "ByHand"))
    parts = both("Fused", [X, MASK], attention=False)
    for form in (0, 1):
        assert seconds(by_hand[form]) == pytest.approx(seconds(fused[form]), rel=0.1)
        assert seconds(parts[form]) > 1.5 * seconds(fused[form])
        assert max(fused[form].graph.bytes_written) < 4 * 8 * 4 * 128 * 128 <= max(parts[form].graph.bytes_written)
        assert any("1 scaled_dot_product_attention" in n or "1 Attention" in n for n in by_hand[form].notes)


def test_what_others_read_stays_in_parts() -> None:
    for source in both("Weights", [X, MASK]):
        assert {"_softmax", "Softmax"} & {*source.graph.kinds}
        assert not {"Attention", "scaled_dot_product_attention"} & {*source.graph.kinds}


def test_plain_torch_has_every_operation() -> None:
    joined, eager = (export_module("forms:Convolutions", ["4,3,32,32"], False, eager=way) for way in (False, True))
    assert len(eager.graph) == len(joined.graph) + 2 and eager.nodes is None
    assert eager.graph.kinds.count("_native_batch_norm_legit_no_training") == 3
    assert joined.graph.kinds.count("_native_batch_norm_legit_no_training") == 1  # no convolution before it
    training = export_module("forms:Convolutions", ["4,3,32,32"], True)
    assert training.nodes is None and "native_batch_norm" in "".join(training.graph.kinds)


def test_integers_are_not_folded() -> None:
    source = export_module("forms:Integers", ["8,64"], False)
    assert "_to_copy" in source.graph.kinds and source.graph.bytes_kept.sum() == 64 * 64


def test_a_split_lists_all_operations_each_group_on_one_device() -> None:
    for source in both("Layers", ["8,128,64"]):
        nodes = source.listed
        assert len(nodes.names) == len(nodes.owners) >= len(source.graph) == len({*nodes.owners.tolist()})
        assert nodes.owners.max() == len(source.graph) - 1 and (np.diff(nodes.ids) == 1).all()
    kinds = [source.graph.kinds[owner] for owner in nodes.owners]
    assert kinds.count("Gelu") == 5 and kinds.count("LayerNormalization") == 9 and kinds.count("Swish") == 2


def test_weights_and_results_of_groups() -> None:
    module, file = both("Layers", ["8,128,64"])
    for source in (module, file):
        assert source.graph.bytes_kept.sum() == pytest.approx(4 * (2 * 64 * 128 + 3 * 128 + 64), rel=0.001)
        assert source.results is not None and source.results.lasting.sum() == 1
        assert source.results.owners.tolist() == [*range(len(source.graph))] or source is module
    eager = export_module("forms:Layers", ["8,128,64"], False, eager=True)
    assert eager.graph.bytes_kept.sum() == module.graph.bytes_kept.sum()


def node(kind: str, inputs: Sequence[str], output: str, **attributes: Any) -> onnx.NodeProto:
    return helper.make_node(kind, inputs, [output], name=output, **attributes)


def file_of(nodes: Sequence[onnx.NodeProto], shape: Sequence[int], constants: dict[str, np.ndarray]) -> Path:
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [onnx.numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    path = Path("nodes.onnx")
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10), path)
    return path


def test_a_batch_norm_that_the_exporter_left() -> None:
    weights = {"w": np.zeros((16, 8, 3, 3), np.float32)} | {n: np.ones(16, np.float32) for n in "abmv"}
    nodes = [node("Conv", ["x", "w"], "c"), node("BatchNormalization", ["c", *"abmv"], "n"), node("Relu", ["n"], "y")]
    source = read_graph(file_of(nodes, [4, 8, 32, 32], weights), {})
    assert source.graph.kinds == ("Conv", "Relu") and source.graph.bytes_written[0] == 4 * 4 * 16 * 30 * 30
    assert source.listed.owners.tolist() == [0, 0, 1]
    assert source.names[0] == "Conv of c (Conv) to n (BatchNormalization), 2 operations"
    assert any("2 operations count as 1, which runtimes make of them: 1 Conv" in note for note in source.notes)


def test_a_masked_softmax_with_a_guard() -> None:
    """Exporters write what torch's attention does for rows without keys."""
    numbers = {"zero": np.zeros(1, np.float32), "scale": np.full((), 1 / math.sqrt(32), np.float32)}
    nodes = [
        node("Transpose", ["x"], "k", perm=[0, 1, 3, 2]),
        node("Abs", ["x"], "v"),
        node("MatMul", ["x", "k"], "s"),
        node("Mul", ["s", "scale"], "t"),
        node("Softmax", ["t"], "p", axis=-1),
        node("IsNaN", ["p"], "n"),
        node("Where", ["n", "zero", "p"], "c"),
        node("MatMul", ["c", "v"], "y"),
    ]
    source = read_graph(file_of(nodes, [2, 4, 64, 32], numbers), {})
    assert source.graph.kinds == ("Abs", "Attention")
    assert source.graph.flops[1] == 2 * 2 * 4 * 64 * 64 * (32 + 32)
    parts = read_graph(Path("nodes.onnx"), {}, attention=False)
    assert parts.graph.kinds == ("Abs", "MatMul", "Mul", "Softmax", "MatMul")


@pytest.mark.parametrize(("values", "kinds"), [
    ("bhqk,bkhd->bqhd", ("Tanh", "Attention", "Exp")),
    ("bhqk,bqhd->bkhd", ("Tanh", "Einsum", "Softmax", "Einsum", "Exp")),  # a sum over queries
])  # fmt: skip
def test_attention_of_einsums(values: str, kinds: tuple[str, ...]) -> None:
    nodes = [
        node("Tanh", ["x"], "k"),
        node("Einsum", ["x", "k"], "s", equation="bqhd,bkhd->bhqk"),
        node("Softmax", ["s"], "p"),
        node("Einsum", ["p", "k"], "o", equation=values),
        node("Exp", ["o"], "y"),
    ]
    assert read_graph(file_of(nodes, [2, 64, 4, 32], {}), {}).graph.kinds == kinds


def test_a_weight_that_another_operation_reads_first_now() -> None:
    """A group takes the place of its last operation."""
    weights = {"w": np.zeros((64, 64), np.float32), "b": np.ones(64, np.float32)}
    nodes = [
        node("MatMul", ["x", "w"], "first"),
        node("MatMul", ["x", "w"], "second"),
        node("Exp", ["second"], "e"),
        node("Add", ["first", "b"], "f"),
        node("Sub", ["e", "f"], "y"),
    ]
    source = read_graph(file_of(nodes, [8, 64], weights), {})
    assert source.graph.kinds == ("MatMul", "Exp", "Gemm", "Sub")
    assert source.graph.bytes_kept.tolist() == [4 * 64 * 64, 0, 4 * 64, 0]
    assert source.shared.readers.tolist() == [2] and source.shared.firsts.tolist() == [0]
    assert source.graph.children.sources.tolist() == [0, 1, 2] and source.listed.owners.tolist() == [2, 0, 1, 2, 3]


def test_views_of_a_file_cost_nothing_and_readers_read_what_they_touch() -> None:
    numbers = {"i": np.array(1), "b": np.array([2]), "e": np.array([30]), "s": np.array([0]), "flat": np.array([-1])}
    constants = {name: value.astype(np.int64) for name, value in numbers.items()}
    nodes = [
        node("Transpose", ["x"], "t", perm=[1, 0, 2]),
        node("Gather", ["t", "i"], "row", axis=0),  # (8, 64) of (8, 32, 64)
        node("Relu", ["row"], "r"),
        node("Slice", ["x", "b", "e", "s"], "part"),
        node("Reshape", ["t", "flat"], "dense"),  # a copy
        node("Exp", ["dense"], "y"),
    ]
    path = file_of(nodes, [8, 32, 64], constants)
    source = read_graph(path, {})
    assert source.graph.kinds == ("Relu", "Reshape", "Exp")
    assert source.graph.bytes_read.tolist() == [4 * 8 * 64, 4 * 8 * 32 * 64, 4 * 8 * 32 * 64]
    assert read_with_names(path).graph.kinds == ("Transpose", "Gather", "Relu", "Slice", "Exp")


def test_a_whole_network_stays_whole() -> None:
    """A light model of onnx whose batch norms and views are gone: the same FLOPs of products, the same weights."""
    path = Path(onnx.__file__).parent / "backend/test/data/light/light_shufflenet.onnx"
    joined, plain = read_graph(path, {}), read_graph(path, {}, eager=True)
    assert len(joined.graph) < len(plain.graph) == len(joined.listed.names)
    products = [source.graph.flops[[k == "Conv" for k in source.graph.kinds]].sum() for source in (joined, plain)]
    assert products[0] == products[1] and joined.graph.bytes_kept.sum() == plain.graph.bytes_kept.sum()
