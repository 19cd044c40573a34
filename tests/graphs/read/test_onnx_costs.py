"""Costs of ONNX operators by hand: FLOPs of products of all kinds, bytes that are touched, integers that stay."""

from __future__ import annotations

from collections.abc import Sequence
from math import log2
from pathlib import Path
from typing import Any, NamedTuple

import onnx
import pytest
from onnx import TensorProto, helper

from learned_schedulers.graphs.read.onnx_files import NamedGraph, read_with_names

FLOAT, FLOAT16, UINT8, INT8, INT32, INT64 = (
    getattr(TensorProto, name) for name in ("FLOAT", "FLOAT16", "UINT8", "INT8", "INT32", "INT64")
)
MICROSOFT = "com.microsoft"
Typed = tuple[int, Sequence[int]]


class Case(NamedTuple):
    """An operator on inputs and weights of these types and sizes, with its FLOPs by hand."""

    kind: str
    inputs: dict[str, Typed]
    flops: float
    attributes: dict[str, Any] = {}
    weights: dict[str, Typed] = {}
    output: int = FLOAT
    domain: str = ""
    opset: int = 23


def tensor(name: str, kind: int, shape: Sequence[int]) -> onnx.TensorProto:
    from math import ceil, prod

    bits = 4 if kind == TensorProto.INT4 else 8 * helper.tensor_dtype_to_np_dtype(kind).itemsize
    return onnx.TensorProto(name=name, data_type=kind, dims=shape, raw_data=bytes(ceil(prod(shape) * bits / 8)))


def read(case: Case, folder: Path, order: Sequence[str] | None = None) -> NamedGraph:
    names = order if order is not None else [*case.inputs, *case.weights]
    node = helper.make_node(case.kind, names, ["y"], domain=case.domain, **case.attributes)
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info(name, *typed) for name, typed in case.inputs.items()],
        [helper.make_tensor_value_info("y", case.output, None)],
        [tensor(name, *typed) for name, typed in case.weights.items()],
    )
    opsets = [helper.make_opsetid("", case.opset), helper.make_opsetid(MICROSOFT, 1)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=10), folder / "g.onnx")
    return read_with_names(folder / "g.onnx")


X3, X2, Q4 = (FLOAT, [32, 8, 96]), (FLOAT, [64, 256]), (FLOAT, [2, 8, 128, 64])
SCALE, ZERO = (FLOAT, []), (UINT8, [])
QUANTISED = {"xs": SCALE, "xz": ZERO, "w": (UINT8, [256, 512]), "ws": SCALE, "wz": ZERO, "ys": SCALE, "yz": ZERO}
CASES = [
    Case("LSTM", {"x": X3}, 2 * 32 * 8 * 4 * 128 * (96 + 128), {"hidden_size": 128},
         {"w": (FLOAT, [1, 512, 96]), "r": (FLOAT, [1, 512, 128])}),
    Case("LSTM", {"x": X3}, 2 * 2 * 32 * 8 * 4 * 128 * (96 + 128), {"hidden_size": 128, "direction": "bidirectional"},
         {"w": (FLOAT, [2, 512, 96]), "r": (FLOAT, [2, 512, 128])}),
    Case("GRU", {"x": X3}, 2 * 32 * 8 * 3 * 128 * (96 + 128), {"hidden_size": 128},
         {"w": (FLOAT, [1, 384, 96]), "r": (FLOAT, [1, 384, 128])}),
    Case("RNN", {"x": X3}, 2 * 32 * 8 * 128 * (96 + 128), {"hidden_size": 128},
         {"w": (FLOAT, [1, 128, 96]), "r": (FLOAT, [1, 128, 128])}),
    Case("Einsum", {"a": Q4, "b": Q4}, 2 * 2 * 8 * 128 * 128 * 64, {"equation": "bhqd,bhkd->bhqk"}),
    Case("Einsum", {"a": X2, "b": (FLOAT, [256, 32]), "c": (FLOAT, [32, 16])}, 2 * 64 * 256 * 32 + 2 * 64 * 32 * 16,
         {"equation": "ij,jk,kl"}),
    Case("Einsum", {"a": Q4, "b": (FLOAT, [64, 32])}, 2 * 2 * 8 * 128 * 64 * 32, {"equation": "...d,de->...e"}),
    Case("Einsum", {"a": (FLOAT, [64]), "b": (FLOAT, [32])}, 64 * 32, {"equation": "i,j->ij"}),
    Case("QLinearMatMul", {"x": (UINT8, [64, 256])}, 2 * 64 * 256 * 512, {}, QUANTISED, UINT8),
    Case("MatMulInteger", {"x": (UINT8, [3, 64, 256])}, 2 * 3 * 64 * 256 * 512, {}, {"w": (INT8, [256, 512])}, INT32),
    Case("ConvInteger", {"x": (UINT8, [2, 16, 32, 32])}, 2 * 2 * 24 * 30 * 30 * 16 * 9, {},
         {"w": (UINT8, [24, 16, 3, 3])}, INT32),
    Case("QLinearConv", {"x": (UINT8, [2, 16, 32, 32])}, 2 * 2 * 24 * 30 * 30 * 4 * 9, {"group": 4},
         QUANTISED | {"w": (UINT8, [24, 4, 3, 3])}, UINT8),
    Case("DeformConv", {"x": (FLOAT, [2, 16, 32, 32])}, 2 * 30 * 30 * 16 * 9 * (2 * 24 + 8), {},
         {"w": (FLOAT, [24, 16, 3, 3]), "o": (FLOAT, [2, 18, 30, 30])}),
    Case("Attention", {"q": Q4, "k": Q4, "v": Q4}, 4 * 2 * 8 * 128 * 128 * 64),
    Case("Attention", {"q": (FLOAT, [2, 128, 512]), "k": (FLOAT, [2, 96, 128]), "v": (FLOAT, [2, 96, 128])},
         4 * 2 * 8 * 128 * 96 * 64, {"q_num_heads": 8, "kv_num_heads": 2}),
    Case("Attention", {"q": Q4, "k": (FLOAT, [2, 8, 96, 64]), "v": (FLOAT, [2, 8, 96, 32])},
         2 * 2 * 8 * 128 * 96 * (64 + 32)),
    Case("DFT", {"x": (FLOAT, [4, 1024, 2])}, 4 * 5 * 1024 * log2(1024), {"axis": 1}, opset=19),
    Case("DFT", {"x": (FLOAT, [4, 1024, 1])}, 4 * 2.5 * 1024 * log2(1024), {"axis": 1, "onesided": 1}, opset=19),
    Case("MatMulNBits", {"x": (FLOAT, [3, 64, 256])}, 2 * 3 * 64 * 256 * 512, {"K": 256, "N": 512, "bits": 4,
         "block_size": 32}, {"w": (UINT8, [512, 8, 16]), "s": (FLOAT, [4096])}, domain=MICROSOFT),
    Case("FusedMatMul", {"x": (FLOAT, [3, 256, 64])}, 2 * 3 * 64 * 256 * 512, {"transA": 1, "transB": 1},
         {"w": (FLOAT, [512, 256])}, domain=MICROSOFT),
    Case("MultiHeadAttention", {name: (FLOAT, [2, 128, 512]) for name in "qkv"}, 4 * 2 * 128 * 128 * 512,
         {"num_heads": 8}, domain=MICROSOFT),
    Case("DynamicQuantizeMatMul", {"x": X2}, 2 * 64 * 256 * 512, {}, {"w": (UINT8, [256, 512]), "s": SCALE},
         domain=MICROSOFT),
    Case("FusedConv", {"x": (FLOAT, [2, 16, 32, 32])}, 2 * 2 * 24 * 30 * 30 * 16 * 9, {"activation": "Relu"},
         {"w": (FLOAT, [24, 16, 3, 3])}, domain=MICROSOFT),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.kind)
def test_flops_by_hand(case: Case, tmp_path: Path) -> None:
    order = [*case.inputs, "w", "o"] if case.kind == "DeformConv" else None
    result = read(case, tmp_path, order)
    assert result.graph.flops.sum() == pytest.approx(case.flops, rel=0.05)
    assert result.unpriced == () and result.notes == ()


TABLE = {"w": (FLOAT, [50_000, 64])}


@pytest.mark.parametrize(
    ("kind", "inputs", "attributes", "order", "read_bytes"),
    [
        ("Gather", {"i": (INT64, [3])}, {}, ["w", "i"], 3 * 8 + 3 * 64 * 4),
        ("GatherND", {"i": (INT64, [5, 1])}, {}, ["w", "i"], 5 * 8 + 5 * 64 * 4),
        ("GatherElements", {"i": (INT64, [2, 64])}, {}, ["w", "i"], 128 * 8 + 128 * 4),
    ],
)
def test_rows_of_a_table_are_read_and_the_whole_table_is_stored(
    kind: str, inputs: dict, attributes: dict, order: list[str], read_bytes: int, tmp_path: Path
) -> None:
    graph = read(Case(kind, inputs, 0, attributes, TABLE), tmp_path, order).graph
    assert graph.bytes_read.tolist() == [read_bytes] and graph.bytes_kept.tolist() == [50_000 * 64 * 4]


def test_a_slice_reads_what_it_writes(tmp_path: Path) -> None:
    case = Case("Slice", {"x": (FLOAT, [1000, 64])}, 0, {}, {"a": (INT64, [1]), "b": (INT64, [1])})
    graph = read(case._replace(weights={"a": (INT64, [1]), "b": (INT64, [1])}), tmp_path).graph
    assert graph.bytes_read.tolist() == [16] and graph.bytes_written.tolist() == [0]  # from 0 to 0


@pytest.mark.parametrize("between", [[], ["Transpose"], ["Identity", "Transpose"]])
@pytest.mark.parametrize(("kind", "bits"), [(TensorProto.INT4, 4), (INT8, 8)])
def test_integers_of_weights_stay_integers(between: list[str], kind: int, bits: int, tmp_path: Path) -> None:
    nodes = [helper.make_node("DequantizeLinear", ["w", "s"], ["t0"], axis=0, block_size=32)]
    nodes += [helper.make_node(view, [f"t{i}"], [f"t{i + 1}"]) for i, view in enumerate(between)]
    nodes.append(helper.make_node("MatMul", ["x", f"t{len(between)}"], ["y"]))
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", FLOAT, [16, 512])],
        [helper.make_tensor_value_info("y", FLOAT, [16, 512])],
        [tensor("w", kind, [512, 512]), tensor("s", FLOAT, [16, 512])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    onnx.save(model, tmp_path / "g.onnx")
    result = read_with_names(tmp_path / "g.onnx").graph
    weight_bytes = 512 * 512 * bits // 8 + 4 * 16 * 512
    assert result.kinds == ("MatMul",) and result.bytes_kept.tolist() == [weight_bytes]
    assert result.bytes_read.tolist() == [weight_bytes + 4 * 16 * 512]


def test_an_operator_without_a_rule_is_named(tmp_path: Path) -> None:
    inputs = {"b": (FLOAT, [1, 16, 4]), "s": (FLOAT, [1, 4, 16])}
    assert read(Case("NonMaxSuppression", inputs, 0, output=INT64), tmp_path).unpriced == ("NonMaxSuppression",)
