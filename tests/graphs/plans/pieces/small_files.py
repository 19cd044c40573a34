"""Small ONNX files of many kinds, which tests run in pieces."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FLOAT, INTEGER, TRUTH = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
N = 8


def node(kind: str, inputs: str, outputs: str, **attributes: Any) -> onnx.NodeProto:
    """A node whose inputs and outputs are named in one word each."""
    return helper.make_node(kind, inputs.split(), outputs.split(), name=f"{kind}_{outputs.split()[0]}", **attributes)


def tensor(name: str, shape: Sequence[int | str] | None, kind: int = FLOAT) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, shape)


def weight(name: str, *shape: int) -> onnx.TensorProto:
    rng = np.random.default_rng(sum(map(ord, name)))
    return numpy_helper.from_array((rng.standard_normal(shape) / 3).astype(np.float32), name)


def numbers(name: str, *values: Any) -> onnx.TensorProto:
    return numpy_helper.from_array(np.array(values, np.int64), name)


def graph(nodes: Sequence[Any], inputs: Sequence[Any], outputs: Sequence[Any], weights: Sequence[Any] = ()) -> Any:
    return helper.make_graph(list(nodes), "small", list(inputs), list(outputs), list(weights))


def two_towers(rows: int | str = 4, width: int = N, depth: int = 3) -> Any:
    """Two chains of products that read one input, joined at the end; each has an output of its own as well."""
    nodes, weights = [], []
    for tower in "ab":
        last = "x"
        for i in range(depth):
            weights.append(weight(f"w{tower}{i}", width, width))
            nodes += [
                node("MatMul", f"{last} w{tower}{i}", f"m{tower}{i}"),
                node("Tanh", f"m{tower}{i}", f"{tower}{i}"),
            ]
            last = f"{tower}{i}"
    nodes.append(node("Add", f"a{depth - 1} b{depth - 1}", "sum"))
    outputs = [tensor(name, [rows, width]) for name in ("sum", f"a{depth - 1}", "b0")]
    return graph(nodes, [tensor("x", [rows, width])], outputs, weights)


def chain() -> Any:
    """Nothing is parallel."""
    nodes = [node("MatMul", f"c{i} w{i}", f"c{i + 1}") for i in range(5)]
    return graph(nodes, [tensor("c0", [4, N])], [tensor("c5", [4, N])], [weight(f"w{i}", N, N) for i in range(5)])


def integers() -> Any:
    """Tokens, which index a table, and positions; a mask; results that are integers."""
    nodes = [
        node("Gather", "table tokens", "rows"),
        node("Gather", "places positions", "placed"),
        node("Add", "rows placed", "both"),
        node("Where", "mask both rows", "chosen"),
        node("ArgMax", "chosen", "best", axis=-1),
        node("TopK", "both three", "values which"),
    ]
    inputs = [tensor("tokens", [2, 5], INTEGER), tensor("positions", [5], INTEGER), tensor("mask", [2, 5, 1], TRUTH)]
    outputs = [tensor("best", [2, 5, 1], INTEGER), tensor("values", [2, 5, 3]), tensor("which", [2, 5, 3], INTEGER)]
    return graph(nodes, inputs, outputs, [weight("table", 6, N), weight("places", 2, N), numbers("three", 3)])


def shapes() -> Any:
    """Arithmetic on shapes, views and a constant of weights, all without operations; an output is a view."""
    nodes = [
        node("MatMul", "x w", "product"),
        node("Shape", "product", "shape"),
        node("Gather", "shape first", "rows"),
        node("Concat", "rows rest", "target", axis=0),
        node("Exp", "x", "grown"),
        node("Reshape", "grown target", "parts"),
        node("Transpose", "w", "turned", perm=[1, 0]),
        node("MatMul", "product turned", "again"),
        node("Reshape", "again target", "view"),
        node("Mul", "parts view", "y"),
        node("Flatten", "y", "flat"),
    ]
    outputs = [tensor("flat", None), tensor("view", None), tensor("target", [3], INTEGER)]
    return graph(
        nodes, [tensor("x", ["rows", N])], outputs, [weight("w", N, N), numbers("first", 0), numbers("rest", 2, 4)]
    )


def branches() -> Any:
    """An If inside a Loop, which both read values around them; the loop's last step is an output."""
    then = graph([node("MatMul", "state w", "then_y")], [], [tensor("then_y", [4, N])])
    otherwise = graph([node("Add", "state outer", "else_y")], [], [tensor("else_y", [4, N])])
    body = graph(
        [
            node("ReduceSum", "state", "total", keepdims=0),
            node("Greater", "total zero", "positive"),
            helper.make_node("If", ["positive"], ["new"], name="choice", then_branch=then, else_branch=otherwise),
            node("Tanh", "new", "next"),
            node("Identity", "condition", "again"),
            node("Mul", "next outer", "row"),
        ],
        [tensor("step", [], INTEGER), tensor("condition", [], TRUTH), tensor("state", [4, N])],
        [tensor("again", [], TRUTH), tensor("next", [4, N]), tensor("row", [4, N])],
    )
    nodes = [
        node("Sigmoid", "x", "outer"),
        node("MatMul", "x w", "begin"),
        helper.make_node("Loop", ["steps", "yes", "begin"], ["last", "rows"], name="loop", body=body),
        node("Exp", "outer", "beside"),
        node("Add", "last beside", "y"),
    ]
    scalars = [numpy_helper.from_array(np.array(3), "steps"), numpy_helper.from_array(np.array(True), "yes")]
    zero = numpy_helper.from_array(np.array(0, np.float32), "zero")
    outputs = [tensor("y", [4, N]), tensor("rows", [3, 4, N])]
    return graph(nodes, [tensor("x", [4, N])], outputs, [weight("w", N, N), *scalars, zero])


def by_data() -> Any:
    """Sizes that data decide, and whose largest size would be wrong in a run."""
    nodes = [
        node("Greater", "x zero", "positive"),
        node("NonZero", "positive", "where"),
        node("Shape", "where", "size"),
        node("Gather", "size one", "count"),
        node("Cast", "count", "number", to=FLOAT),
        node("Exp", "x", "grown"),
        node("Mul", "grown number", "y"),
        node("Transpose", "where", "places", perm=[1, 0]),
        node("GatherND", "grown places", "picked"),
    ]
    outputs = [tensor("y", [4, N]), tensor("picked", ["many"])]
    weights = [numpy_helper.from_array(np.array(0, np.float32), "zero"), numbers("one", 1)]
    return graph(nodes, [tensor("x", [4, N])], outputs, weights)


def sequences() -> Any:
    """A list of tensors, which cannot be shared, and an operation whose result nobody reads."""
    nodes = [
        node("Exp", "x", "grown"),
        node("SplitToSequence", "grown", "rows", axis=0),
        node("Tanh", "x", "small"),
        node("Sigmoid", "small", "unread"),
        node("SequenceAt", "rows first", "row"),
        node("SequenceInsert", "rows small", "more"),
        node("ConcatFromSequence", "more", "all", axis=0),
        node("Add", "row small", "y"),
    ]
    outputs = [tensor("y", None), tensor("all", None)]
    return graph(nodes, [tensor("x", [4, N])], outputs, [numpy_helper.from_array(np.array(1), "first")])


def types() -> Any:
    """Half precision, whole bytes, a scalar, and an empty tensor between operations."""
    nodes = [
        node("Cast", "x", "half", to=TensorProto.FLOAT16),
        node("Mul", "half half", "square"),
        node("Cast", "square", "wide", to=FLOAT),
        node("DynamicQuantizeLinear", "wide", "whole scale offset"),
        node("DequantizeLinear", "whole scale offset", "near"),
        node("ReduceMax", "near", "most", keepdims=0),
        node("Slice", "wide zero zero", "nothing"),
        node("Concat", "nothing near", "joined", axis=0),
        node("Div", "joined most", "y"),
    ]
    outputs = [tensor("y", [4, N]), tensor("most", []), tensor("nothing", [0, N]), tensor("whole", [4, N], 2)]
    return graph(nodes, [tensor("x", [4, N])], outputs, [numbers("zero", 0)])


KINDS: dict[str, Callable[[], Any]] = {
    kind.__name__: kind for kind in (two_towers, chain, integers, shapes, branches, by_data, sequences, types)
}


def write(path: Path, small: Any, external: bool = False, functions: Sequence[Any] = ()) -> Path:
    """Write a graph as a file; external: its weights lie beside it."""
    opsets = [helper.make_opsetid("", 17), *({f.domain: helper.make_opsetid(f.domain, 1) for f in functions}.values())]
    model = helper.make_model(small, opset_imports=opsets, ir_version=9, functions=list(functions))
    onnx.save_model(model, path, save_as_external_data=external, location=f"{path.stem}.weights", size_threshold=0)
    return path
