"""A piece of an ONNX file as a model of its own: nodes of some units, with the weights and nodes that they need."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from learned_schedulers.files import content
from learned_schedulers.graphs.plans.pieces.file_units import FileUnits, names_read
from learned_schedulers.graphs.read.onnx_model import OnnxError, one_line, subgraphs

_LARGE = 1024  # bytes of a weight from which on it lies beside the model
_MOST_BYTES = 2**31  # of a model


class PieceModels:
    """The models of a file's pieces."""

    def __init__(self, path: Path, units: FileUnits) -> None:
        """Reads the weights. Raises OnnxError for weights that cannot be read."""
        self._path, self._units = path, units
        graph = units.model.graph
        self._nodes = list(graph.node)
        self._producers = {name: number for number, node in enumerate(self._nodes) for name in node.output if name}
        self._weights = {weight.name: weight for weight in _weights(path)}
        self._sparse = {weight.values.name: weight for weight in graph.sparse_initializer}
        self._inputs = {value.name: value for value in graph.input if value.name not in self._weights}

    def inputs(self) -> dict[str, Any]:
        """The inputs of the whole file, with their types and sizes."""
        return dict(self._inputs)

    def reads(self, units: Iterable[int]) -> list[str]:
        """Tensors that a piece of these units reads: inputs of the file, and results of other pieces."""
        return self._closure(units)[1]

    def results(self, units: Iterable[int]) -> list[str]:
        """Tensors that nodes of these units compute."""
        return [
            name
            for unit in units
            for number in self._units.members[unit]
            for name in self._nodes[number].output
            if name
        ]

    def write(self, path: Path, units: Iterable[int], outputs: Iterable[str], forms: Mapping[str, np.ndarray]) -> None:
        """Write the model of a piece, its large weights in a file beside it.

        outputs: what other pieces or the caller read; forms: a tensor of the type and size of each result that the
        piece reads. Raises OnnxError if it is too large for a file.
        """
        import onnx
        from onnx import helper

        numbers, names, weights = self._closure(units)
        model = onnx.ModelProto()
        model.CopyFrom(self._head())
        graph = model.graph
        graph.name = path.stem
        graph.node.extend(self._nodes[number] for number in numbers)
        for name in weights:
            if name in self._weights:
                graph.initializer.append(self._weights[name])
            elif name in self._sparse:
                graph.sparse_initializer.append(self._sparse[name])
            else:
                graph.initializer.append(onnx.numpy_helper.from_array(self._units.constants[name], name))
        for name in names:
            if name in self._inputs:
                graph.input.append(self._inputs[name])
            else:
                kind = helper.np_dtype_to_tensor_dtype(forms[name].dtype)
                graph.input.append(helper.make_tensor_value_info(name, kind, forms[name].shape))
        if any(subgraphs(node) for node in graph.node):
            for value in graph.input:  # a branch that does not run need not fit these sizes
                value.type.tensor_type.ClearField("shape")
        graph.output.extend(onnx.ValueInfoProto(name=name) for name in outputs)
        try:
            beside = f"{path.stem}.weights"
            onnx.save_model(model, path, save_as_external_data=True, location=beside, size_threshold=_LARGE)
        except ValueError as error:
            raise OnnxError(f"{self._path}: --run: a piece cannot be written: {one_line(error)}") from error

    def _head(self) -> Any:
        """The model without its graph."""
        import onnx

        whole = self._units.model
        head = onnx.ModelProto(ir_version=whole.ir_version)
        head.opset_import.extend(whole.opset_import)
        return head

    def _closure(self, units: Iterable[int]) -> tuple[list[int], list[str], list[str]]:
        """Nodes of a piece in the file's order; tensors that it reads; its weights and constants."""
        numbers = {number for unit in units for number in self._units.members[unit]}
        waiting = sorted(numbers)
        names: dict[str, None] = {}
        weights: dict[str, None] = {}
        while waiting:
            for name in sorted(names_read(self._nodes[waiting.pop()])):
                number = self._producers.get(name)
                if number in numbers or name in names:
                    continue
                if name in self._weights or name in self._sparse or name in self._units.constants:
                    weights[name] = None
                elif name in self._inputs or number in self._units.working:
                    names[name] = None
                elif number is not None:  # else it is a tensor inside of a subgraph
                    numbers.add(number)
                    waiting.append(number)
        return sorted(numbers), list(names), list(weights)


def _weights(path: Path) -> list[Any]:
    """The weights of a file, with their numbers, also those in files beside it."""
    import onnx
    from onnx.external_data_helper import load_external_data_for_tensor, uses_external_data

    weights = list(onnx.load_model_from_string(content(path, _MOST_BYTES)).graph.initializer)
    for weight in weights:
        if uses_external_data(weight):
            try:
                load_external_data_for_tensor(weight, str(path.parent))
            except (OSError, ValueError, onnx.checker.ValidationError) as error:
                raise OnnxError(
                    f"{path}: --run: weight {weight.name!r}: {one_line(error)}; put its file beside the model"
                ) from error
            weight.data_location = onnx.TensorProto.DEFAULT
            del weight.external_data[:]
    return weights
