"""What is known about a tensor of an ONNX file: type, sizes, value if it is small, and who computes it.

Sizes follow from onnx's own shape inference, one node at a time; small values (shapes, axes, steps) from its reference
evaluator. Only operators that cannot make large results from small inputs are evaluated, and nothing that has more than
`MOST_ELEMENTS` elements.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import ceil, prod
from typing import Any

import numpy as np

MOST_ELEMENTS = 2**16  # of a value that is computed while the file is read
_FEW_ELEMENTS = 1024  # of a value that shape inference may need: shapes, axes, lengths of parts
_BITS = {"INT4": 4, "UINT4": 4, "FLOAT4E2M1": 4, "INT2": 2, "UINT2": 2}  # numpy stores them in whole bytes
_FOLDED = {
    *("Abs", "Add", "And", "ArgMax", "ArgMin", "BitShift", "Cast", "CastLike", "Ceil", "Clip", "Compress", "Concat"),
    *(
        "ConstantOfShape",
        "Constant",
        "CumSum",
        "Div",
        "Equal",
        "Exp",
        "Expand",
        "Flatten",
        "Floor",
        "Gather",
        "Greater",
    ),
    *(
        "GatherElements",
        "GatherND",
        "GreaterOrEqual",
        "Identity",
        "IsInf",
        "IsNaN",
        "Less",
        "LessOrEqual",
        "Log",
        "Max",
    ),
    *("Mean", "Min", "Mod", "Mul", "Neg", "NonZero", "Not", "OneHot", "Or", "Pad", "Pow", "Range", "Reciprocal"),
    *("ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum", "ReduceL1", "ReduceL2", "Relu", "Reshape"),
    *(
        "Round",
        "ScatterElements",
        "ScatterND",
        "Sign",
        "Slice",
        "Split",
        "Sqrt",
        "Squeeze",
        "Sub",
        "Sum",
        "Tile",
        "TopK",
    ),
    *("Transpose", "Trilu", "Unique", "Unsqueeze", "Where", "Xor"),
}
_FEWER = {"NonZero", "Compress", "Unique"}  # their results have at most (rank times) the elements of their inputs
_LIKE_STANDARD = {"FusedConv": "Conv", "FusedGemm": "Gemm"}  # of com.microsoft


@dataclass(frozen=True)
class Value:
    """A tensor, or a sequence of tensors.

    roots: the constants of the file that it is made of, with their bytes; None: it is not a constant. stored: bytes in
    memory if they differ from type and sizes (integers that are read where floats are computed). strides: of a view, in
    elements; None: it is dense.
    """

    kind: int = 0  # TensorProto.DataType; 0: unknown
    shape: tuple[int | None, ...] | None = None  # None: the number of dimensions is unknown
    data: np.ndarray | None = None
    owner: int | None = None  # operation that computes it; None: it is ready
    of_input: str | None = None  # the model's input whose memory it is part of
    roots: tuple[tuple[str, int], ...] | None = None
    stored: int | None = None
    items: tuple[Value, ...] | None = None  # a sequence
    strides: tuple[int, ...] | None = None

    @property
    def complete(self) -> bool:
        if self.items is not None:
            return all(item.complete for item in self.items)
        return self.shape is not None and None not in self.shape and self.kind != 0

    @property
    def sizes(self) -> tuple[int, ...]:
        """The sizes of a tensor whose sizes are all known."""
        return tuple(size for size in self.shape or () if size is not None)

    @property
    def elements(self) -> int:
        return sum(item.elements for item in self.items) if self.items is not None else prod(self.sizes)

    @property
    def bytes(self) -> int:
        if self.items is not None:
            return sum(item.bytes for item in self.items)
        if self.stored is not None:
            return self.stored
        elements = self.elements
        if self.strides is not None and elements:  # a stride of 0 repeats the same elements
            elements = prod(size for size, stride in zip(self.sizes, self.strides, strict=True) if stride)
        return ceil(elements * bits_of(self.kind) / 8)


def dense_strides(sizes: Sequence[int]) -> tuple[int, ...]:
    """Strides, in elements, of a tensor whose elements lie one behind the other."""
    return tuple(prod(sizes[place + 1 :]) for place in range(len(sizes)))


def is_dense(sizes: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether these are the strides of a dense tensor; those of dimensions of one element mean nothing."""
    return all(
        size <= 1 or stride == dense for size, stride, dense in zip(sizes, strides, dense_strides(sizes), strict=True)
    )


@cache
def bits_of(kind: int) -> int:
    """Bits of an element of this TensorProto type. Raises ValueError for a type that does not exist."""
    from onnx import TensorProto
    from onnx.helper import tensor_dtype_to_np_dtype

    try:
        bits = _BITS.get(TensorProto.DataType.Name(kind))
        return bits or 8 * int(tensor_dtype_to_np_dtype(kind).itemsize)
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"type {kind}, which does not exist in ONNX") from error


@cache
def _type_of(kind: int, shape: tuple[int | None, ...] | None) -> Any:
    from onnx.helper import make_tensor_type_proto

    return make_tensor_type_proto(kind, shape)


def of_type(type_proto: Any) -> Value:
    """The kind and sizes of a TypeProto; named dimensions are unknown sizes."""
    if type_proto.HasField("sequence_type"):
        return Value()
    kind = type_proto.tensor_type
    if not kind.HasField("shape"):
        return Value(kind.elem_type)
    return Value(kind.elem_type, tuple(d.dim_value if d.HasField("dim_value") else None for d in kind.shape.dim))


def inferred(node: Any, scope: Mapping[str, Value], opsets: Mapping[str, int]) -> dict[str, Value] | None:
    """Types and sizes of the node's outputs by onnx's shape inference; None if onnx does not know the operator.

    Raises onnx.shape_inference.InferenceError if the inputs do not fit the operator.
    """
    from onnx import defs, helper, numpy_helper, shape_inference

    if node.domain == "com.microsoft" and node.op_type in _LIKE_STANDARD:
        node = _standard(node)
    if node.op_type == "STFT" and not any(attribute.name == "onesided" for attribute in node.attribute):
        node = _one_sided(node)
    try:
        schema = defs.get_schema(node.op_type, opsets.get(node.domain, 1), node.domain)
    except defs.SchemaError:
        try:  # ONNX Runtime writes operators of later versions into files of earlier ones
            schema = defs.get_schema(node.op_type, node.domain)
        except defs.SchemaError:
            return None
        opsets = {**opsets, node.domain: schema.since_version}
    inputs = {name: scope[name] for name in node.input if name}
    if any(value.items is not None or not value.kind for value in inputs.values()):
        return {name: Value() for name in node.output if name}
    data = {
        name: numpy_helper.from_array(value.data, name)
        for name, value in inputs.items()
        if value.data is not None and value.data.size <= _FEW_ELEMENTS and value.data.dtype.kind in "iufb"
    }
    types = {name: _type_of(value.kind, value.shape) for name, value in inputs.items()}
    imports = [helper.make_opsetid(domain, version) for domain, version in opsets.items()]
    if is_function(schema) and not schema.has_type_and_shape_inference_function:
        results = _by_function(node, types, data, imports)
    else:
        results = shape_inference.infer_node_outputs(schema, node, types, data, opset_imports=imports)
    return {name: of_type(result) for name, result in results.items()}


def is_function(schema: Any) -> bool:
    """Whether ONNX defines an operator by others."""
    return bool(schema.has_function or schema.has_context_dependent_function)


def _by_function(
    node: Any, types: Mapping[str, Any], data: Mapping[str, Any], imports: Sequence[Any]
) -> dict[str, Any]:
    """Types of the outputs of an operator by those that ONNX defines it by."""
    from onnx import helper, inliner, shape_inference

    inputs = [helper.make_value_info(name, kind) for name, kind in types.items() if name not in data]
    outputs = [helper.make_empty_tensor_value_info(name) for name in node.output if name]
    graph = helper.make_graph([node], "node", inputs, outputs, list(data.values()))
    model = helper.make_model(graph, opset_imports=imports)
    inlined = inliner.inline_selected_functions(model, [(node.domain, node.op_type)], inline_schema_functions=True)
    results = shape_inference.infer_shapes(inlined, data_prop=True).graph.output
    return {result.name: result.type for result in results}


def _one_sided(node: Any) -> Any:
    """A STFT that says its default; onnx's inference takes the other one, against the operator's definition."""
    from onnx import helper

    explicit = type(node)()
    explicit.CopyFrom(node)
    explicit.attribute.append(helper.make_attribute("onesided", 1))
    return explicit


def _standard(node: Any) -> Any:
    """The operator of ONNX whose results have the same sizes as those of this one of com.microsoft."""
    standard = type(node)()
    standard.CopyFrom(node)
    standard.op_type, standard.domain = _LIKE_STANDARD[node.op_type], ""
    del standard.input[3:]  # activations and sums come behind
    attributes = [a for a in node.attribute if not a.name.startswith(("activation", "fused"))]
    del standard.attribute[:]
    standard.attribute.extend(attributes)
    return standard


def folded(
    node: Any, scope: Mapping[str, Value], results: Mapping[str, Value], opsets: Mapping[str, int]
) -> list[np.ndarray] | None:
    """The values of the node's outputs if those of its inputs are known, and all are small; None otherwise."""
    if node.domain or not node.output:
        return None
    first = scope.get(node.input[0]) if node.input else None
    if node.op_type in ("Shape", "Size") and first is not None and first.complete and first.items is None:
        sizes = np.array(first.sizes, np.int64)
        attributes = {attribute.name: attribute.i for attribute in node.attribute}
        part = sizes[attributes.get("start") : attributes.get("end")]
        return [part if node.op_type == "Shape" else np.array(first.elements, np.int64)]
    inputs = {name: scope[name].data for name in node.input if name}
    if node.op_type not in _FOLDED or any(value is None for value in inputs.values()):
        return None
    small = all(
        result.complete and 0 <= result.elements <= MOST_ELEMENTS
        for name in node.output
        if name and (result := results.get(name, Value()))
    )
    if not small and node.op_type not in _FEWER:
        return None
    from onnx import helper
    from onnx.reference import ReferenceEvaluator

    graph = helper.make_graph(
        [node],
        "node",
        [helper.make_empty_tensor_value_info(name) for name in inputs],
        [helper.make_empty_tensor_value_info(name) for name in node.output if name],
    )
    imports = [helper.make_opsetid(domain, version) for domain, version in opsets.items()]
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            values: Any = ReferenceEvaluator(helper.make_model(graph, opset_imports=imports)).run(None, inputs)
    except Exception:  # the evaluator may raise anything about odd inputs; then the value stays unknown
        return None
    results_in_order = iter(values)
    return [np.asarray(next(results_in_order)) if name else np.zeros(0) for name in node.output]
