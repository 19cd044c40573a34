"""An ONNX file -> its computation graph; the package `onnx` is in the optional extra `graphs`.

The rules are those of `export.py`: what has constants alone as inputs is a constant, as if it had been folded, and
kept by the first operation that reads it; what costs nothing (Reshape, Identity, Dropout at inference) belongs to the
operation whose result it passes on; the graph's inputs lie ready. FLOPs: 2 a multiplication and addition of Conv,
ConvTranspose, MatMul and Gemm; none where data only move; one an element of the largest tensor for all others.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pipeline.graphs.corpus.graph import Graph, Operations, graph

_FREE = {"Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity", "Dropout"}
_MOVES = {
    *("Concat", "Transpose", "Slice", "Split", "Gather", "GatherElements", "GatherND", "Expand", "Pad", "Cast", "Tile"),
    *("Constant", "ConstantOfShape", "Shape", "Size", "Range", "DepthToSpace", "SpaceToDepth"),
}


class OnnxError(ValueError):
    """A file is no ONNX model, or one whose operations have no known sizes; the message names file and node."""


class _Tensor(NamedTuple):
    shape: tuple[int, ...]
    item_bytes: int

    @property
    def elements(self) -> int:
        return prod(self.shape)

    @property
    def bytes(self) -> int:
        return self.elements * self.item_bytes


def read_onnx(path: Path, family: str | None = None, dimensions: Mapping[str, int] | None = None) -> Graph:
    """The graph of a file; weights in other files beside it are not read. Its name is the file's.

    dimensions: sizes for those that the model leaves open, by their names in it: {"batch": 8}.
    Raises OnnxError naming file and node.
    """
    model = _model(path, dimensions or {})
    tensors = _tensors(model)
    labels = [_label(node, number) for number, node in enumerate(model.graph.node)]
    owner: dict[str, int | str | None] = {value.name: None for value in model.graph.input}
    for constant in (*model.graph.initializer, *(sparse.values for sparse in model.graph.sparse_initializer)):
        owner[constant.name] = constant.name
    kept_already: set[str] = set()
    read_by: set[str] = {name for node in model.graph.node for name in node.input}
    read_by |= {value.name for value in model.graph.output}
    kinds: list[str] = []
    chosen: list[str] = []
    costs: list[tuple[float, int, int, int]] = []  # FLOPs; bytes read, written, kept
    edges: list[tuple[int, int]] = []

    def tensor(name: str, label: str) -> _Tensor:
        if name not in tensors:
            raise OnnxError(
                f"{path}: node {label}: the size of {name!r} is not known; give the model fixed input sizes"
            )
        return tensors[name]

    for node, label in zip(model.graph.node, labels, strict=True):
        if any(attribute.HasField("g") or attribute.graphs for attribute in node.attribute):
            raise OnnxError(f"{path}: node {label} holds a graph of its own; inline it, or export without control flow")
        inputs = [name for name in node.input if name]
        outputs = [name for name in node.output if name in read_by]
        for name in inputs:
            if name not in owner:
                raise OnnxError(f"{path}: node {label} reads {name!r}, which nothing before it computes")
        if all(isinstance(owner[name], str) for name in inputs):
            owner.update({name: name for name in node.output})
            continue
        if node.op_type in _FREE:
            owner.update({name: owner[inputs[0]] for name in node.output})
            continue
        constants = {owner[name] for name in inputs if isinstance(owner[name], str)} - kept_already
        kept_already |= {name for name in constants if isinstance(name, str)}
        parts = [tensor(name, label) for name in inputs]
        results = [tensor(name, label) for name in outputs]
        costs.append(
            (
                _flops(node, parts, results),
                sum(part.bytes for part in parts),
                sum(result.bytes for result in results),
                sum(tensor(str(name), label).bytes for name in constants),
            )
        )
        edges += [(source, len(kinds)) for name in inputs if isinstance(source := owner[name], int)]
        owner.update({name: len(kinds) for name in node.output})
        kinds.append(node.op_type)
        chosen.append(label)
    flops, read, written, kept = np.array(costs, np.float64).reshape(-1, 4).T
    pairs = np.array(edges, np.int64).reshape(-1, 2)
    operations = Operations(kinds, flops, read, written, kept, labels=chosen)
    try:
        return graph(path.stem, family or path.stem, "forward", operations, pairs[:, 0], pairs[:, 1])[0]
    except ValueError as error:
        raise OnnxError(f"{path}: {error}") from error


def _model(path: Path, dimensions: Mapping[str, int]) -> Any:
    """The model with the sizes of all its results, as far as they can be told."""
    import onnx
    from google.protobuf.message import DecodeError

    try:
        model = onnx.load(path, load_external_data=False)
    except OSError as error:
        raise OnnxError(f"{path}: cannot be read: {error.strerror}") from error
    except (DecodeError, ValueError) as error:
        raise OnnxError(f"{path}: this is no ONNX model, or only a part of one") from error
    for value in model.graph.input:
        for dimension in value.type.tensor_type.shape.dim:
            if dimension.dim_param in dimensions:
                dimension.dim_value = dimensions[dimension.dim_param]
            elif dimension.dim_param:
                raise OnnxError(
                    f"{path}: input {value.name!r} leaves dimension {dimension.dim_param!r} open; say how large it is"
                )
    try:
        onnx.checker.check_model(model)
        return onnx.shape_inference.infer_shapes(model, data_prop=True)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as error:
        raise OnnxError(f"{path}: {error}") from error
    except (RuntimeError, ValueError, UnicodeDecodeError) as error:
        raise OnnxError(f"{path}: the model cannot be checked: {error}") from error


def _tensors(model: Any) -> dict[str, _Tensor]:
    """Size of every tensor that has one in all dimensions."""
    from onnx.helper import tensor_dtype_to_np_dtype

    tensors = {
        constant.name: _Tensor(tuple(constant.dims), tensor_dtype_to_np_dtype(constant.data_type).itemsize)
        for constant in model.graph.initializer
    }
    for value in (*model.graph.input, *model.graph.value_info, *model.graph.output):
        kind = value.type.tensor_type
        shape = [dimension.dim_value if dimension.HasField("dim_value") else None for dimension in kind.shape.dim]
        if kind.elem_type and kind.HasField("shape") and None not in shape:
            sizes = tuple(size for size in shape if size is not None)
            tensors[value.name] = _Tensor(sizes, tensor_dtype_to_np_dtype(kind.elem_type).itemsize)
    return tensors


def _label(node: Any, number: int) -> str:
    return f"{node.name or number} ({node.op_type})"


def _flops(node: Any, inputs: list[_Tensor], outputs: list[_Tensor]) -> float:
    kind = node.op_type
    if kind in _MOVES or not outputs:
        return 0.0
    result = outputs[0].elements
    if kind == "Conv":  # weights (out, in / groups, *kernel)
        return 2.0 * result * prod(inputs[1].shape[1:])
    if kind == "ConvTranspose":  # weights (in, out / groups, *kernel)
        return 2.0 * inputs[0].elements * prod(inputs[1].shape[1:])
    if kind in ("MatMul", "Gemm"):
        transposed = any(attribute.name == "transA" and attribute.i for attribute in node.attribute)
        return 2.0 * result * inputs[0].shape[0 if transposed else -1]
    return float(max(tensor.elements for tensor in inputs + outputs))
