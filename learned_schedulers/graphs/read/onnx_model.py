"""An ONNX file -> a checked model whose inputs have sizes, whose functions are inlined, and whose weights are sizes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import Any

from learned_schedulers.files import content
from learned_schedulers.graphs.read.onnx_costs import has_rule
from learned_schedulers.graphs.read.onnx_values import MOST_ELEMENTS, Value, bits_of, is_function

_LARGEST = 2**31  # bytes; a protobuf message is smaller, and larger models keep their weights in separate files
_MOST_NODES = 1_000_000  # after functions are inlined
_OF_RUNTIME = {"SimplifiedLayerNormalization"}  # ONNX Runtime adds it to ONNX's own domain
_EXAMPLE = 8  # size of an open dimension in a message


class OnnxError(ValueError):
    """A file is not an ONNX model, or its operations have unknown sizes; the message names file and node."""


class UnfitSizes(OnnxError):
    """An operator cannot run with the sizes of its inputs."""


@dataclass
class Sizes:
    """The sizes that a user gives: of dimensions (or of a tensor's only unknown dimension), and of whole tensors."""

    dimensions: Mapping[str, int]
    shapes: Mapping[str, tuple[int, ...]]
    used: set[str] = field(default_factory=set)
    of_inputs: dict[str, int] = field(
        default_factory=dict
    )  # sizes of the model's open dimensions, where one name means one size

    def dimension(self, name: str) -> int | None:
        if name in self.dimensions:
            self.used.add(name)
        return self.dimensions.get(name)

    def shape(self, name: str) -> tuple[int, ...] | None:
        if name in self.shapes:
            self.used.add(name)
        return self.shapes.get(name)

    def words(self) -> str:
        """The sizes as options of the command."""
        sizes = [f"--size {name}={number}" for name, number in self.dimensions.items()]
        return " ".join([*sizes, *(f"--input {name}={_listed(shape)}" for name, shape in self.shapes.items())])


def model_of(path: Path, sizes: Sizes) -> tuple[Any, dict[str, Value]]:
    """The model, and its large weights, which are inputs of the model now.

    Raises OnnxError that names all dimensions that are open, or says what is wrong with the file.
    """
    import onnx  # slow to import; most graphs are read from other files
    import onnx.inliner
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
    model.ir_version = max(
        model.ir_version, 4
    )  # from 4 on, constants need not be inputs; runtimes allow it in old files
    weights = _without_weights(path, model)
    constants = {constant.name for constant in model.graph.initializer} | weights.keys()
    _set_sizes(path, model, sizes, constants)
    shapeless = [
        value.type.tensor_type
        for value in model.graph.output
        if value.type.HasField("tensor_type") and not value.type.tensor_type.HasField("shape")
    ]
    for kind in shapeless:
        kind.shape.SetInParent()  # the checker asks for a shape; runtimes do not
    try:
        if not _of_runtime(model):
            onnx.checker.check_model(model)
        for kind in shapeless:
            kind.ClearField("shape")
        if model.functions:
            _check_functions(path, model)
            model = onnx.inliner.inline_local_functions(model)
        if unpriced := _functions_without_price(model):
            model = onnx.inliner.inline_selected_functions(model, unpriced, inline_schema_functions=True)
    except OnnxError:
        raise
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as error:
        raise OnnxError(f"{path}: {one_line(error)}; correct the model and export it again") from error
    except (RuntimeError, ValueError, UnicodeDecodeError) as error:
        raise OnnxError(f"{path}: the model cannot be checked: {one_line(error)}") from error
    return model, weights


def folding_line(path: Path, sizes: Sizes) -> str:
    """A line to type that lets ONNX Runtime fold what follows from fixed sizes."""
    fixed = "".join(f"s.add_free_dimension_override_by_name({n!r}, {i}); " for n, i in sizes.of_inputs.items())
    return (
        f'python -c "import onnxruntime as r; s = r.SessionOptions(); {fixed}'
        "s.graph_optimization_level = r.GraphOptimizationLevel.ORT_ENABLE_BASIC; "
        f"s.optimized_model_filepath = 'folded.onnx'; r.InferenceSession('{path}', s)\""
    )


def _set_sizes(path: Path, model: Any, sizes: Sizes, constants: set[str]) -> None:
    """Give every open dimension of an input its size. Raises OnnxError that names all that stay open."""
    open_places: list[str] = []
    options: dict[str, None] = {}
    by_name: dict[str, set[int]] = {}  # sizes of dimensions of one name
    for value in model.graph.input:
        if value.name in constants:
            continue
        if not value.type.HasField("tensor_type"):
            kind = str(value.type.WhichOneof("value")).replace("_type", "")
            raise OnnxError(
                f"{path}: input {value.name!r} is a {kind}, whose length is unknown; export the model with tensors"
            )
        kind = value.type.tensor_type
        shape = sizes.shape(value.name)
        if not kind.HasField("shape"):
            if shape is None:
                open_places.append(f"input {value.name!r} leaves its number of dimensions open")
                options[f"--input {value.name}={_EXAMPLE},3,48,320"] = None
                continue
            kind.shape.SetInParent()
            for length in shape:
                kind.shape.dim.add(dim_value=length)
        dimensions = list(kind.shape.dim)
        if shape is not None and len(shape) != len(dimensions):
            raise OnnxError(
                f"{path}: --input {value.name}={_listed(shape)}: this input has {len(dimensions)} dimensions, not "
                f"{len(shape)}; give a size for each"
            )
        nameless: list[int] = []
        names: list[str] = []
        for place, dimension in enumerate(dimensions):
            fixed = dimension.HasField("dim_value") and dimension.dim_value >= 0
            if fixed and shape is not None and shape[place] != dimension.dim_value:
                raise OnnxError(
                    f"{path}: --input {value.name}={_listed(shape)}: the file fixes dimension {place} of this input at "
                    f"{dimension.dim_value}; give this size, or export the model with an open dimension"
                )
            if fixed:
                continue
            name = dimension.dim_param
            by_user = sizes.dimension(name) if name else None
            size = shape[place] if shape is not None else by_user
            if size is not None:
                dimension.dim_value = size
                by_name.setdefault(name, set()).add(size)
            elif name:
                open_places.append(f"input {value.name!r} leaves dimension {name!r} open")
                names.append(name)
            else:
                open_places.append(f"input {value.name!r} leaves dimension {place} open, which has no name")
                nameless.append(place)
        if nameless or len(set(names)) < len(names):  # names alone cannot give all sizes
            example = [d.dim_value if d.HasField("dim_value") and d.dim_value >= 0 else _EXAMPLE for d in dimensions]
            options[f"--input {value.name}={_listed(example)}"] = None
        else:
            options |= {f"--size {name}={_EXAMPLE}": None for name in names}
    sizes.of_inputs = {name: min(several) for name, several in by_name.items() if name and len(several) == 1}
    if open_places:
        which = "its size" if len(options) == 1 else "their sizes"
        raise OnnxError(f"{path}: {', '.join(open_places)}; give {which}: {' '.join(options)}")


def _without_weights(path: Path, model: Any) -> dict[str, Value]:
    """Replace the model's large constants by inputs of the same sizes; return these sizes by name.

    So their values are neither copied nor checked nor read from separate files, and a size that a file merely declares
    is not allocated.
    """
    from onnx.helper import make_tensor_value_info

    large = [
        constant
        for constant in model.graph.initializer
        if constant.data_location or not 0 <= prod(constant.dims) <= MOST_ELEMENTS
    ]
    names = {constant.name for constant in large}
    inputs = {value.name for value in model.graph.input}
    weights = {constant.name: constant_of(path, constant.name, constant.data_type, constant.dims) for constant in large}
    model.graph.input.extend(
        make_tensor_value_info(constant.name, constant.data_type, constant.dims)
        for constant in large
        if constant.name not in inputs
    )
    small = [constant for constant in model.graph.initializer if constant.name not in names]
    del model.graph.initializer[:]
    model.graph.initializer.extend(small)
    return weights


def constant_of(path: Path, name: str, kind: int, dims: Any) -> Value:
    """A constant of the file without its value. Raises OnnxError for a type that does not exist, or for wrong sizes."""
    try:
        bits = bits_of(kind)
    except ValueError as error:
        raise OnnxError(f"{path}: {name!r} is of {error}") from error
    value = Value(kind, tuple(dims))
    if min(dims, default=0) < 0 or not value.elements * bits < 2**66:
        raise OnnxError(f"{path}: shape {tuple(dims)} of {name!r} is impossible; correct it")
    return Value(kind, tuple(dims), roots=((name, value.bytes),))


def _of_runtime(model: Any) -> bool:
    """Whether ONNX Runtime wrote the file: it uses operators of ONNX that the file's version of ONNX lacks.

    onnx's checker refuses them; what the walk needs is checked there.
    """
    from onnx import defs

    def registered(kind: str, version: int | None) -> bool:
        try:
            defs.get_schema(kind, "") if version is None else defs.get_schema(kind, version, "")
            return True
        except (defs.SchemaError, TypeError):
            return False

    version = max((opset.version for opset in model.opset_import if opset.domain in ("", "ai.onnx")), default=1)
    kinds = {node.op_type for node in model.graph.node if node.domain in ("", "ai.onnx")}
    lacking = {kind for kind in kinds if not registered(kind, version)}
    return bool(lacking) and all(kind in _OF_RUNTIME or registered(kind, None) for kind in lacking)


def _functions_without_price(model: Any) -> list[tuple[str, str]]:
    """Operators of the model that ONNX defines by others, and whose costs only these have: their domains and names."""
    from onnx import defs

    versions = {opset.domain: opset.version for opset in model.opset_import}

    def of_function(node: Any) -> bool:
        try:
            return is_function(defs.get_schema(node.op_type, versions.get(node.domain, 1), node.domain))
        except defs.SchemaError:
            return False

    nodes = [node for node in _nodes_of(model.graph) if not has_rule(node) and not subgraphs(node)]
    return sorted({(node.domain, node.op_type) for node in nodes if of_function(node)})


def subgraphs(node: Any) -> list[Any]:
    """The subgraphs of a node."""
    return [
        graph
        for attribute in node.attribute
        for graph in (*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs)
    ]


def _nodes_of(graph: Any) -> Iterator[Any]:
    """The nodes of a graph and of all its subgraphs."""
    for node in graph.node:
        yield node
        for inner in subgraphs(node):
            yield from _nodes_of(inner)


def _check_functions(path: Path, model: Any) -> None:
    """Raises OnnxError for functions that call each other in a circle, or that become too many nodes."""
    functions = {(f.domain, f.name, f.overload): f for f in model.functions}
    nodes: dict[tuple[str, str, str], int] = {}

    def count(several: Any, inside: tuple[tuple[str, str, str], ...]) -> int:
        total = 0
        for node in several:
            total += 1
            for graph in subgraphs(node):
                total += count(graph.node, inside)
            key = (node.domain, node.op_type, node.overload)
            if key in functions:
                if key in inside:
                    raise OnnxError(f"{path}: function {node.op_type!r} calls itself; export the model without it")
                if key not in nodes:
                    nodes[key] = count(functions[key].node, (*inside, key))
                total += nodes[key]
        if total > _MOST_NODES:
            raise OnnxError(
                f"{path}: its functions become more than {_MOST_NODES:,} nodes; export the model without them"
            )
        return total

    count(model.graph.node, ())


def one_line(error: Exception) -> str:
    return " ".join(str(error).split())


def _listed(sizes: Any) -> str:
    return ",".join(str(size) for size in sizes)
