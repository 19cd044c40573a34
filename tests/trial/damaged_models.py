"""Damaged models: valid ONNX files and JSON workloads with random changes of bytes or of content."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tests.trial.damage import flipped, noise, spliced, truncated

WORKLOADS = Path(__file__).parents[1] / "fixtures/graphs"
NAMES = ("bert_l-3_inference", "bert_l-3_training", "resnet50_inference")
# Wrong values of a field.
ODD: list[Any] = [
    *(-1, 0, 1, 3.5, 2**31, 2**63, 10**30, -(10**30), 1e308, -1e-308, float("nan"), float("inf")),
    *(None, True, False, "", "0", "x" * 1000, "\u0000\ud800", [], {}, [[]], {"id": 1}),
]
SIZES = [-(2**63), -1, 0, 1, 2, 3, 1000, 2**20, 2**31, 2**40, 2**62, 2**63 - 1]

Mutation = Callable[[bytes, np.random.Generator], bytes]


def inputs(seed: int, count: int, onnx_files: list[bytes]) -> Iterator[tuple[str, str, bytes]]:
    """Suffix, kind of damage and content of so many files; half of them are ONNX files if there are valid ones."""
    rng = np.random.default_rng(seed)
    workloads = [(WORKLOADS / f"{name}.json").read_bytes() for name in NAMES]
    kinds = [(".json", workloads, _JSON), *([(".onnx", onnx_files, _ONNX)] if onnx_files else [])]
    for number in range(count):
        suffix, files, mutations = kinds[number % len(kinds)]
        mutation = mutations[int(rng.integers(len(mutations)))]
        whole = files[int(rng.integers(len(files)))]
        yield suffix, mutation.__name__, mutation(whole, rng)


def whole_models() -> list[bytes]:
    """The models without weights in the package `onnx`, and one with weights, half as often as all others together."""
    import onnx

    folder = Path(onnx.__file__).parent / "backend/test/data/light"
    light = [path.read_bytes() for path in sorted(folder.glob("*.onnx"))]
    return light + [with_weights()] * (len(light) // 2)


def with_weights() -> bytes:
    """A small ONNX model with weights; some of them are so large that their values are not read."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    weights = {"k": (8, 4, 3, 3), "b": (8,), "w": (72, 64), "v": (64, 64)}
    nodes = [
        helper.make_node("Conv", ["x", "k", "b"], ["a"], name="conv"),
        helper.make_node("Relu", ["a"], ["r"], name="relu"),
        helper.make_node("Reshape", ["r", "shape"], ["flat"], name="flat"),
        helper.make_node("Gemm", ["flat", "w"], ["g"], name="gemm"),
        helper.make_node("MatMul", ["g", "v"], ["m"], name="product"),
        helper.make_node("Split", ["m", "parts"], ["left", "right"], name="split", axis=1),
        helper.make_node("Concat", ["right", "left"], ["c"], name="join", axis=1),
        helper.make_node("Softmax", ["c"], ["y"], name="softmax", axis=-1),
    ]
    initial = [numpy_helper.from_array(np.zeros(shape, np.float32), name) for name, shape in weights.items()]
    initial += [
        numpy_helper.from_array(np.array(numbers, np.int64), name)
        for name, numbers in (("shape", [2, -1]), ("parts", [16, 48]))
    ]
    shapes = (("x", [2, 4, 5, 5]), ("y", [2, 64]))
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in shapes)
    model = helper.make_model(
        helper.make_graph(nodes, "small", [x], [y], initial), opset_imports=[helper.make_opsetid("", 18)]
    )
    onnx.checker.check_model(model)
    whole: bytes = model.SerializeToString()
    return whole


def _field(file_content: bytes, rng: np.random.Generator) -> bytes:
    """Replace some values of a workload by odd ones, or remove them."""
    content = json.loads(file_content)
    for _ in range(int(rng.integers(1, 4))):
        place: Any = content
        part = content.get(("nodes", "edges")[int(rng.integers(2))])
        if isinstance(part, list) and part and rng.random() < 0.9:
            place = part[int(rng.integers(len(part)))]
        if isinstance(place, dict) and place:
            key = list(place)[int(rng.integers(len(place)))]
            if rng.random() < 0.2:
                del place[key]
            else:
                place[key] = ODD[int(rng.integers(len(ODD)))]
    return json.dumps(content).encode("utf-8", "surrogatepass")


def _wired(file_content: bytes, rng: np.random.Generator) -> bytes:
    """Change edges of a workload: cycles, loops, nodes that do not exist, all edges into one node."""
    content = json.loads(file_content)
    nodes, edges = content.get("nodes", []), content.get("edges", [])
    ids = [node["id"] for node in nodes]
    if not edges:
        return file_content
    for _ in range(int(rng.integers(1, 5))):
        edge = edges[int(rng.integers(len(edges)))]
        match int(rng.integers(5)):
            case 0:
                edge["sourceId"], edge["destId"] = edge["destId"], edge["sourceId"]
            case 1:
                edge["destId"] = edge["sourceId"]
            case 2:
                edge["destId"] = max(ids) + 1
            case 3:
                edge["destId"] = ids[int(rng.integers(len(ids)))]
            case _:
                for second in edges:
                    if second["sourceId"] != edge["destId"]:
                        second["destId"] = edge["destId"]
    return json.dumps(content).encode()


def _model(change: Callable[[Any, np.random.Generator], None]) -> Mutation:
    def mutation(content: bytes, rng: np.random.Generator) -> bytes:
        import onnx

        model = onnx.load_model_from_string(content)
        for _ in range(int(rng.integers(1, 4))):
            change(model, rng)
        mutated: bytes = model.SerializeToString()
        return mutated

    mutation.__name__ = change.__name__
    return mutation


def _node(model: Any, rng: np.random.Generator) -> Any:
    nodes = model.graph.node
    return nodes[int(rng.integers(len(nodes)))] if len(nodes) else model.graph.node.add(op_type="Relu")


def renamed(model: Any, rng: np.random.Generator) -> None:
    """Change an operator, or a tensor that it reads or writes."""
    node, second = _node(model, rng), _node(model, rng)
    match int(rng.integers(5)):
        case 0:
            node.op_type = ["Frobnicate", "", "MatMul", "Conv", "Gemm", "Reshape", "If", "Loop", "ConstantOfShape"][
                int(rng.integers(9))
            ]
        case 1:
            node.domain = "com.example"
        case 2:
            if node.input and second.output:
                node.input[int(rng.integers(len(node.input)))] = second.output[0]
        case 3:
            if node.input:
                node.input[int(rng.integers(len(node.input)))] = ["", "nothing", "\u00e9"][int(rng.integers(3))]
        case _:
            if node.output and second.output:
                node.output[0] = second.output[0]


def resized(model: Any, rng: np.random.Generator) -> None:
    """Give inputs, weights or attributes wrong sizes or types."""
    size = SIZES[int(rng.integers(len(SIZES)))]
    value = model.graph.input[int(rng.integers(len(model.graph.input)))] if len(model.graph.input) else None
    match int(rng.integers(5)):
        case 0 if value is not None and len(value.type.tensor_type.shape.dim):
            dims = value.type.tensor_type.shape.dim
            dims[int(rng.integers(len(dims)))].dim_value = size
        case 1 if value is not None:
            value.type.tensor_type.elem_type = int(rng.integers(-1, 40))
        case 2 if len(model.graph.initializer):
            weight = model.graph.initializer[int(rng.integers(len(model.graph.initializer)))]
            weight.dims.append(size) if rng.random() < 0.5 else weight.ClearField("dims")
            weight.data_type = int(rng.integers(0, 40)) if rng.random() < 0.3 else weight.data_type
        case 3 if len(model.graph.initializer):
            weight = model.graph.initializer[int(rng.integers(len(model.graph.initializer)))]
            weight.data_location = 1
            weight.external_data.add(
                key="location", value=["../../etc/passwd", "/etc/passwd", "w.bin"][int(rng.integers(3))]
            )
            weight.external_data.add(key="length", value=str(size))
        case _:
            for attribute in _node(model, rng).attribute:
                if attribute.HasField("i"):
                    attribute.i = size
                elif attribute.ints:
                    attribute.ints[int(rng.integers(len(attribute.ints)))] = size
                elif attribute.HasField("t"):
                    attribute.t.dims.append(size)


def reordered(model: Any, rng: np.random.Generator) -> None:
    """Remove nodes, repeat them, or move them."""
    nodes = list(model.graph.node)
    if len(nodes) < 2:
        return
    a, b = rng.integers(0, len(nodes), 2).tolist()
    match int(rng.integers(3)):
        case 0:
            nodes[a], nodes[b] = nodes[b], nodes[a]
        case 1:
            nodes.insert(a, nodes[b])
        case _:
            del nodes[a]
    del model.graph.node[:]
    model.graph.node.extend(nodes)


_BYTES: list[Mutation] = [truncated, flipped, spliced, noise]
_JSON: list[Mutation] = [*_BYTES, _field, _field, _field, _wired, _wired]
_ONNX: list[Mutation] = [*_BYTES, *(_model(change) for change in (renamed, resized, reordered)), _model(resized)]
