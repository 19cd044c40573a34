"""FLOPs of single operators by hand, beside those of the library: ONNX operators, and modules of torch.

A multiplication and an addition count two FLOPs. What is counted is written out in full; nothing here reads the
library's formulas. Elementwise parts of recurrent layers and softmax within attention are left out: less than 5%.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil, log2, prod
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import onnx
from onnx import TensorProto, helper

from learned_schedulers.graphs.plans.module_export import export_module
from learned_schedulers.graphs.read.onnx_files import read_with_names

_FLOAT, _UINT8, _INT8, _INT32, _INT64 = (
    getattr(TensorProto, name) for name in ("FLOAT", "UINT8", "INT8", "INT32", "INT64")
)
_MICROSOFT = "com.microsoft"
Typed = tuple[int, Sequence[int]]


class _Operator(NamedTuple):
    """An ONNX operator: its inputs in order, those of them that are constants, and its FLOPs."""

    kind: str
    inputs: Mapping[str, Typed]
    constants: Sequence[str]
    flops: float
    attributes: Mapping[str, Any] = {}
    result: int = _FLOAT
    domain: str = ""
    opset: int = 23


def _scales(*names: str) -> dict[str, Typed]:
    return {name: (_UINT8 if name.endswith("z") else _FLOAT, []) for name in names}


_STEPS, _SAMPLES, _INPUT, _HIDDEN = 40, 6, 80, 160
_ROWS = _STEPS * _SAMPLES
_SEQUENCE = {"x": (_FLOAT, [_STEPS, _SAMPLES, _INPUT])}


def _recurrent(gates: int, directions: int) -> dict[str, Typed]:
    weights = {"w": _INPUT, "r": _HIDDEN}
    return _SEQUENCE | {name: (_FLOAT, [directions, gates * _HIDDEN, size]) for name, size in weights.items()}


_OPERATORS = [
    _Operator("LSTM", _recurrent(4, 2), ["w", "r"], 2 * 2 * _ROWS * 4 * _HIDDEN * (_INPUT + _HIDDEN),
              {"hidden_size": _HIDDEN, "direction": "bidirectional"}),
    _Operator("GRU", _recurrent(3, 1), ["w", "r"], 2 * _ROWS * 3 * _HIDDEN * (_INPUT + _HIDDEN),
              {"hidden_size": _HIDDEN}),
    _Operator("RNN", _recurrent(1, 1), ["w", "r"], 2 * _ROWS * _HIDDEN * (_INPUT + _HIDDEN), {"hidden_size": _HIDDEN}),
    _Operator("Einsum", {"a": (_FLOAT, [3, 50, 4, 24]), "b": (_FLOAT, [3, 70, 4, 24])}, [], 2 * 3 * 4 * 50 * 70 * 24,
              {"equation": "bqhd,bkhd->bhqk"}),
    _Operator("Einsum", {"a": (_FLOAT, [5, 30, 40]), "b": (_FLOAT, [40, 60])}, ["b"], 2 * 5 * 30 * 40 * 60,
              {"equation": "...i,ij->...j"}),
    _Operator("QLinearMatMul", {"x": (_UINT8, [30, 200]), **_scales("xs", "xz"), "w": (_UINT8, [200, 90]),
              **_scales("ws", "wz", "ys", "yz")}, ["w"], 2 * 30 * 200 * 90, result=_UINT8),
    _Operator("QLinearConv", {"x": (_UINT8, [2, 12, 20, 20]), **_scales("xs", "xz"), "w": (_UINT8, [18, 6, 5, 5]),
              **_scales("ws", "wz", "ys", "yz")}, ["w"], 2 * 2 * 18 * 16 * 16 * 6 * 25, {"group": 2}, _UINT8),
    _Operator("MatMulInteger", {"x": (_UINT8, [7, 30, 200]), "w": (_INT8, [200, 90])}, ["w"], 2 * 7 * 30 * 200 * 90,
              result=_INT32),
    _Operator("ConvInteger", {"x": (_UINT8, [2, 12, 20, 20]), "w": (_INT8, [18, 12, 3, 3])}, ["w"],
              2 * 2 * 18 * 10 * 10 * 12 * 9, {"strides": [2, 2], "pads": [1, 1, 1, 1]}, _INT32),
    _Operator("MatMulNBits", {"x": (_FLOAT, [4, 30, 128]), "w": (_UINT8, [96, 4, 16]), "s": (_FLOAT, [384])},
              ["w", "s"], 2 * 4 * 30 * 128 * 96, {"K": 128, "N": 96, "bits": 4, "block_size": 32}, domain=_MICROSOFT),
    _Operator("FusedMatMul", {"x": (_FLOAT, [4, 30, 128]), "w": (_FLOAT, [96, 128])}, ["w"], 2 * 4 * 30 * 128 * 96,
              {"transB": 1}, domain=_MICROSOFT),
    _Operator("Attention", {name: (_FLOAT, [2, 6, size, 32]) for name, size in (("q", 50), ("k", 70), ("v", 70))}, [],
              2 * 2 * 6 * 50 * 70 * 32 * 2),
    _Operator("MultiHeadAttention", {name: (_FLOAT, [2, 50, 192]) for name in "qkv"}, [], 2 * 2 * 50 * 50 * 192 * 2,
              {"num_heads": 6}, domain=_MICROSOFT),
    _Operator("DeformConv", {"x": (_FLOAT, [2, 12, 20, 20]), "w": (_FLOAT, [18, 12, 3, 3]),
              "o": (_FLOAT, [2, 18, 18, 18])}, ["w"], 2 * 18 * 18 * 12 * 9 * (2 * 18 + 4 * 2)),
    _Operator("DFT", {"x": (_FLOAT, [3, 2048, 2])}, [], 3 * 5 * 2048 * log2(2048), {"axis": 1}, opset=19),
    _Operator("DFT", {"x": (_FLOAT, [3, 2048, 1])}, [], 3 * 2.5 * 2048 * log2(2048), {"axis": 1, "onesided": 1},
              opset=19),
    _Operator("STFT", {"x": (_FLOAT, [3, 4000]), "step": (_INT64, []), "window": (_FLOAT, [400])}, ["step", "window"],
              3 * 37 * (400 + 2.5 * 400 * log2(400))),
]  # fmt: skip
_STEP = 100  # of the short transform: (4000 - 400) / 100 + 1 = 37 frames

_MODULES: list[tuple[str, str, tuple[str, ...], float]] = [  # module, input, kinds that are counted, their FLOPs
    ("torch.nn:LSTM(80, 160, num_layers=2)", "40,6,80", ("lstm",), 2 * 240 * 4 * 160 * (80 + 160 + 160 + 160)),
    ("torch.nn:GRU(80, 160, bidirectional=True)", "40,6,80", ("gru",), 2 * 2 * 240 * 3 * 160 * (80 + 160)),
    ("torch.nn:RNN(80, 160)", "40,6,80", ("rnn_tanh",), 2 * 240 * 160 * (80 + 160)),
    ("benchmarks.own_models.networks:Waves", "2,1024", ("_fft_r2c", "_fft_c2r"), 2 * 2 * 2.5 * 1024 * log2(1024)),
    ("benchmarks.own_models.networks:Integers", "48,64", ("_int_mm",), 2 * 48 * 64 * 96),
    ("benchmarks.own_models.networks:Heads", "2,50,192", ("scaled_dot_product_attention",), 2 * 2 * 50 * 50 * 192 * 2),
]  # fmt: skip


def errors() -> dict[str, float]:
    """The relative error of each operator's FLOPs."""
    by_name: dict[str, float] = {}
    with TemporaryDirectory() as folder:
        for number, operator in enumerate(_OPERATORS):
            path = Path(folder) / "operator.onnx"
            onnx.save(_model(operator), path)
            by_name[f"{operator.kind} {number}"] = abs(read_with_names(path).graph.flops.sum() / operator.flops - 1)
    for named, shape, kinds, flops in _MODULES:
        graph = export_module(named, [shape], False).graph
        counted = sum(float(f) for f, kind in zip(graph.flops, graph.kinds, strict=True) if kind in kinds)
        by_name[named] = abs(counted / flops - 1)
    return by_name


def _model(operator: _Operator) -> onnx.ModelProto:
    node = helper.make_node(operator.kind, list(operator.inputs), ["y"], domain=operator.domain, **operator.attributes)
    free = [name for name in operator.inputs if name not in operator.constants]
    graph = helper.make_graph(
        [node],
        "operator",
        [helper.make_tensor_value_info(name, *operator.inputs[name]) for name in free],
        [helper.make_tensor_value_info("y", operator.result, None)],
        [_constant(name, *operator.inputs[name]) for name in operator.constants],
    )
    opsets = [helper.make_opsetid("", operator.opset), helper.make_opsetid(_MICROSOFT, 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def _constant(name: str, kind: int, shape: Sequence[int]) -> onnx.TensorProto:
    if kind == _INT64:
        return helper.make_tensor(name, kind, shape, [_STEP])
    size = ceil(prod(shape) * helper.tensor_dtype_to_np_dtype(kind).itemsize)
    return onnx.TensorProto(name=name, data_type=kind, dims=shape, raw_data=bytes(size))
