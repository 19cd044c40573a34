"""An ONNX file -> its computation graph.

The rules are those of `export.py`: a node whose inputs are all constants is a constant, as if it were folded, and its
bytes count as `bytes_kept` of the first operation that reads it. A node without cost (Reshape, Identity, Dropout at
inference) belongs to the operation whose result it passes on. The graph's inputs are ready. FLOPs: 2 per multiplication
and addition of Conv, ConvTranspose, MatMul and Gemm; none for operations that only move data; one per element of the
largest tensor for all remaining operations, which is no rule for some of them (cost_rules.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from learned_schedulers.graphs.read.cost_rules import ONNX_PER_ELEMENT
from learned_schedulers.graphs.read.graph import Graph, Operations, graph
from learned_schedulers.graphs.read.source_files import content

_FREE = {"Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity", "Dropout"}
_MOVES = {
    *("Concat", "Transpose", "Slice", "Split", "Gather", "GatherElements", "GatherND", "Expand", "Pad", "Cast", "Tile"),
    *("Constant", "ConstantOfShape", "Shape", "Size", "Range", "DepthToSpace", "SpaceToDepth"),
}


_PRODUCTS = {"Conv", "ConvTranspose", "MatMul", "Gemm"}  # with a formula
_LARGEST = 2**31  # bytes; a protobuf message is smaller, and larger models keep their weights in separate files
_FEW_ELEMENTS = 1024  # most elements of a constant whose values may matter: shapes, axes, lengths of parts


class OnnxError(ValueError):
    """A file is not an ONNX model, or its operations have unknown sizes; the message names file and node."""


class NamedGraph(NamedTuple):
    """The graph of a file of n operations."""

    graph: Graph
    names: tuple[str, ...]  # n: of the operations in the file
    unpriced: tuple[str, ...]  # operators, one for each operation whose FLOPs follow from no rule (cost_rules.py)


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
    """The graph of a file; it has the file's name.

    dimensions: sizes of the dimensions that the model leaves open, by their names in the model: {"batch": 8}.
    Only the sizes of weights matter: their values are not read, and separate files with weights are not opened.
    Raises OnnxError that names file and node.
    """
    return read_with_names(path, family, dimensions).graph


def read_with_names(path: Path, family: str | None = None, dimensions: Mapping[str, int] | None = None) -> NamedGraph:
    """The graph of a file as of `read_onnx`, with the names of its operations in the file."""
    model, weights = _model(path, dimensions or {})
    tensors = _tensors(path, model) | weights
    labels = [_label(node, number) for number, node in enumerate(model.graph.node)]
    owner: dict[str, int | str | None] = {value.name: None for value in model.graph.input}
    owner |= {name: name for name in weights}
    for constant in (*model.graph.initializer, *(sparse.values for sparse in model.graph.sparse_initializer)):
        owner[constant.name] = constant.name
    counted: set[str] = set()  # constants whose bytes belong to an operation
    read_by: set[str] = {name for node in model.graph.node for name in node.input}
    read_by |= {value.name for value in model.graph.output}
    kinds: list[str] = []
    operation_labels: list[str] = []
    costs: list[tuple[float, int, int, int]] = []  # FLOPs; bytes read, written, kept
    edges: list[tuple[int, int]] = []
    unpriced: list[str] = []

    def tensor(name: str, label: str) -> _Tensor:
        if name not in tensors:
            raise OnnxError(
                f"{path}: node {label}: the size of {name!r} is unknown; give the model fixed input sizes, and use "
                "only operators of ONNX itself"
            )
        if not 0 <= tensors[name].bytes < 2**63:
            raise OnnxError(f"{path}: node {label}: shape {tensors[name].shape} of {name!r} is impossible; correct it")
        return tensors[name]

    for node, label in zip(model.graph.node, labels, strict=True):
        if any(attribute.HasField("g") or attribute.graphs for attribute in node.attribute):
            raise OnnxError(f"{path}: node {label} contains a subgraph; inline it, or export without control flow")
        inputs = [name for name in node.input if name]
        outputs = [name for name in node.output if name in read_by]
        for name in inputs:
            if name not in owner:
                raise OnnxError(f"{path}: node {label} reads {name!r}, which no node before it computes")
        if all(isinstance(owner[name], str) for name in inputs):
            owner.update({name: name for name in node.output})
            continue
        if node.op_type in _FREE:
            owner.update({name: owner[inputs[0]] for name in node.output})
            continue
        constants = {owner[name] for name in inputs if isinstance(owner[name], str)} - counted
        counted |= {name for name in constants if isinstance(name, str)}
        parts = [tensor(name, label) for name in inputs]
        results = [tensor(name, label) for name in outputs]
        try:
            flops_of_node = _flops(node, parts, results)
        except IndexError as error:
            raise OnnxError(f"{path}: node {label} has too few inputs, or inputs of too few dimensions") from error
        costs.append(
            (
                flops_of_node,
                sum(part.bytes for part in parts),
                sum(result.bytes for result in results),
                sum(tensor(str(name), label).bytes for name in constants),
            )
        )
        edges += [(source, len(kinds)) for name in inputs if isinstance(source := owner[name], int)]
        owner.update({name: len(kinds) for name in node.output})
        if not _has_rule(node):
            unpriced.append(f"{node.domain}::{node.op_type}" if node.domain else node.op_type)
        kinds.append(node.op_type)
        operation_labels.append(label)
    flops, read, written, weight_bytes = np.array(costs, np.float64).reshape(-1, 4).T
    pairs = np.array(edges, np.int64).reshape(-1, 2)
    operations = Operations(kinds, flops, read, written, weight_bytes, labels=operation_labels)
    try:
        onnx_graph, order = graph(path.stem, family or path.stem, "forward", operations, pairs[:, 0], pairs[:, 1])
    except ValueError as error:
        raise OnnxError(f"{path}: {error}") from error
    return NamedGraph(onnx_graph, tuple(operation_labels[i] for i in order), tuple(unpriced))


def _model(path: Path, dimensions: Mapping[str, int]) -> tuple[Any, dict[str, _Tensor]]:
    """The model with the sizes of its results, as far as they can be inferred, and the sizes of its large weights."""
    import onnx  # slow to import; most graphs are read from other files
    from google.protobuf.message import DecodeError

    try:
        file_content = content(path, _LARGEST)
    except ValueError as error:
        raise OnnxError(str(error)) from error
    try:
        model = onnx.load_model_from_string(file_content)
    except (DecodeError, ValueError) as error:
        raise OnnxError(f"{path}: this is not a complete ONNX model; export it again") from error
    if not model.HasField("graph"):
        raise OnnxError(f"{path}: this is not an ONNX model: it has no graph; export it again")
    if model.functions:
        raise OnnxError(f"{path}: the model defines functions; inline them (onnx.inliner)")
    for value in model.graph.input:
        for dimension in value.type.tensor_type.shape.dim:
            if dimension.dim_param in dimensions:
                dimension.dim_value = dimensions[dimension.dim_param]
            elif dimension.dim_param:
                raise OnnxError(
                    f"{path}: input {value.name!r} leaves dimension {dimension.dim_param!r} open; give its size: "
                    f"--size {dimension.dim_param}=8"
                )
    weights = _without_weights(path, model)
    try:
        onnx.checker.check_model(model)
        return onnx.shape_inference.infer_shapes(model, data_prop=True), weights
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as error:
        raise OnnxError(f"{path}: {_one_line(error)}; correct the model and export it again") from error
    except (RuntimeError, ValueError, UnicodeDecodeError) as error:
        raise OnnxError(f"{path}: the model cannot be checked: {_one_line(error)}") from error


def _without_weights(path: Path, model: Any) -> dict[str, _Tensor]:
    """Replace the model's large constants by inputs of the same sizes; return these sizes by name.

    So their values are neither copied nor checked nor read from separate files, and a size that a file merely declares
    is not allocated.
    """
    from onnx.helper import make_tensor_value_info

    large = [
        constant
        for constant in model.graph.initializer
        if constant.data_location or not 0 <= prod(constant.dims) <= _FEW_ELEMENTS
    ]
    names = {constant.name for constant in large}
    inputs = {value.name for value in model.graph.input}
    weights = {constant.name: _size(path, constant.name, constant.data_type, constant.dims) for constant in large}
    model.graph.input.extend(
        make_tensor_value_info(constant.name, constant.data_type, constant.dims)
        for constant in large
        if constant.name not in inputs
    )
    small = [constant for constant in model.graph.initializer if constant.name not in names]
    del model.graph.initializer[:]
    model.graph.initializer.extend(small)
    return weights


def _tensors(path: Path, model: Any) -> dict[str, _Tensor]:
    """Sizes of all tensors whose dimensions are all known."""
    tensors = {
        constant.name: _size(path, constant.name, constant.data_type, constant.dims)
        for constant in model.graph.initializer
    }
    for value in (*model.graph.input, *model.graph.value_info, *model.graph.output):
        kind = value.type.tensor_type
        shape = [dimension.dim_value if dimension.HasField("dim_value") else None for dimension in kind.shape.dim]
        if kind.elem_type and kind.HasField("shape") and None not in shape:
            tensors[value.name] = _size(path, value.name, kind.elem_type, [size for size in shape if size is not None])
    return tensors


def _size(path: Path, name: str, data_type: int, dims: Iterable[int]) -> _Tensor:
    from onnx.helper import tensor_dtype_to_np_dtype

    try:
        return _Tensor(tuple(dims), tensor_dtype_to_np_dtype(data_type).itemsize)
    except (KeyError, TypeError, ValueError) as error:
        raise OnnxError(f"{path}: {name!r} is of type {data_type}, which does not exist in ONNX") from error


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())


def _label(node: Any, number: int) -> str:
    return f"{node.name or number} ({node.op_type})"


def _has_rule(node: Any) -> bool:
    kinds = _MOVES | _PRODUCTS | ONNX_PER_ELEMENT
    return node.domain in ("", "ai.onnx") and node.op_type in kinds


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
