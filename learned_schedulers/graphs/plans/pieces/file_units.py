"""An ONNX file as units: nodes of its main graph that one device computes together, and the tensors between them.

A node with operations is a unit; so a loop or a branch is one, whatever its body has. A node without operations (a
view, a constant, arithmetic on shapes) belongs to no unit: whoever reads its result computes it. Nodes that pass
something else than a tensor of a type that NumPy has are one unit, with all that lies between them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from learned_schedulers.graphs.problems.problem import Edges
from learned_schedulers.graphs.read.onnx_files import WalkedFile
from learned_schedulers.graphs.read.onnx_model import OnnxError, subgraphs
from learned_schedulers.graphs.read.onnx_values import Value
from learned_schedulers.graphs.read.onnx_walk import RANDOM, names_in
from learned_schedulers.graphs.read.topology import topological_order

SHARED_TYPES = {  # TensorProto.DataType of tensors that devices can share
    **{1: "float32", 2: "uint8", 3: "int8", 4: "uint16", 5: "int16", 6: "int32", 7: "int64", 9: "bool"},
    **{10: "float16", 11: "float64", 12: "uint32", 13: "uint64"},
}


@dataclass(frozen=True)
class FileUnits:
    """The u units of a file of n operations."""

    model: Any  # as of `WalkedFile`
    of_operations: np.ndarray  # (n,) int64: the unit of each operation
    members: tuple[tuple[int, ...], ...]  # u: nodes of each unit
    working: frozenset[int]  # nodes with operations
    parents: Edges  # of units
    constants: dict[str, np.ndarray]  # tensors that follow from the file and the sizes of its inputs
    outputs: tuple[str, ...]  # of the model that units compute
    quantised: bool  # whether it rounds numbers to few bits

    def __len__(self) -> int:
        return len(self.members)


def units_of(path: Path, file: WalkedFile) -> FileUnits:
    """The units of a file. Raises OnnxError for a file that cannot be divided, with its reason."""
    graph = file.model.graph
    _check(path, graph, file)
    # Sizes that were assumed are no constants: the run has others.
    constants = {} if file.assumed else _constants(file.values)
    producers = {name: number for number, node in enumerate(graph.node) for name in node.output if name}
    working = np.bincount(file.nodes, minlength=len(graph.node)) > 0
    origins: dict[str, frozenset[str]] = {}  # of each tensor: results of operations that whoever computes it reads
    needs: list[frozenset[str]] = []  # of each node
    for number, node in enumerate(graph.node):
        reads = [origins.get(name, frozenset()) for name in names_read(node) if name not in constants]
        needs.append(frozenset().union(*reads))
        for name in node.output:
            origins[name] = frozenset([name]) if working[number] else needs[-1]
    outputs = tuple(dict.fromkeys(value.name for value in graph.output if value.name in producers))
    attached = _attached(outputs, producers, origins, working)
    for number, owner in attached.items():
        needs[owner] |= needs[number]
    edges = [
        (producers[name], number, name)
        for number in np.flatnonzero(working).tolist()
        for name in needs[number]
        if producers[name] != number
    ]
    labels = _labels(len(graph.node), edges, {name for name in producers if not _shareable(file.values.get(name))})
    # Units are numbered by their first node, so that they keep the file's order.
    numbers = {label: i for i, label in enumerate(dict.fromkeys(labels[working].tolist()))}
    members: list[list[int]] = [[] for _ in numbers]
    for number in np.flatnonzero(working).tolist():
        members[numbers[labels[number]]].append(number)
    for number, owner in attached.items():
        members[numbers[labels[owner]]].append(number)
    pairs = {(numbers[labels[source]], numbers[labels[target]]) for source, target, _ in edges}
    away = np.array([pair for pair in sorted(pairs) if pair[0] != pair[1]], np.int64).reshape(-1, 2)
    order, children = topological_order(path.stem, [""] * len(members), away[:, 0], away[:, 1])
    places = np.argsort(order)
    of_operations = places[[numbers[label] for label in labels[file.nodes].tolist()]]
    return FileUnits(
        file.model,
        of_operations.astype(np.int64),
        tuple(tuple(sorted(members[i])) for i in order),
        frozenset(np.flatnonzero(working).tolist()),
        children.reversed(),
        constants,
        outputs,
        any("Quantize" in node.op_type for node in _all_nodes(graph)),
    )


def names_read(node: Any) -> set[str]:
    """Tensors around a node that it reads, also inside of its subgraphs."""
    return {name for name in node.input if name}.union(*map(names_in, subgraphs(node)))


def _check(path: Path, graph: Any, file: WalkedFile) -> None:
    if not len(file.nodes):
        raise OnnxError(f"{path}: --run: it has no operation that takes time, so there is nothing to run")
    for node in _all_nodes(graph):
        training = node.op_type == "Dropout" and len(node.input) > 2 and node.input[2] and _is_true(file, node.input[2])
        if node.op_type in RANDOM or training:
            raise OnnxError(
                f"{path}: --run: node {node.name or node.output[0]} ({node.op_type}) draws random numbers, others in "
                "each run, so that results cannot be compared; export the model with these numbers as an input"
            )
    constants = {constant.name for constant in graph.initializer}
    for value, role in [(value, "input") for value in graph.input] + [(value, "output") for value in graph.output]:
        form = value.type.WhichOneof("value")
        kind = {None: 0, "tensor_type": value.type.tensor_type.elem_type}.get(form)
        if value.name not in constants and kind not in (0, *SHARED_TYPES):
            raise OnnxError(
                f"{path}: --run: {role} {value.name!r} has a type that NumPy lacks, strings, or no tensor; devices "
                "share tensors of numbers alone: export the model without it"
            )


def _is_true(file: WalkedFile, name: str) -> bool:
    """Whether a condition is true, or unknown."""
    value = file.values.get(name, Value())
    return value.data is None or bool(np.any(value.data))


def _all_nodes(graph: Any) -> Iterable[Any]:
    for node in graph.node:
        yield node
        for inner in subgraphs(node):
            yield from _all_nodes(inner)


def _constants(values: Any) -> dict[str, np.ndarray]:
    return {
        name: np.asarray(value.data)
        for name, value in values.items()
        if value.data is not None and value.kind in SHARED_TYPES and value.items is None
    }


def _shareable(value: Value | None) -> bool:
    """Whether devices can share a tensor; what is unknown of its type is tried."""
    return value is None or (value.items is None and (value.kind == 0 or value.kind in SHARED_TYPES))


def _attached(
    outputs: Iterable[str], producers: dict[str, int], origins: dict[str, frozenset[str]], working: np.ndarray
) -> dict[int, int]:
    """Nodes without operations that compute an output of the model -> the last node whose result they read."""
    first = int(np.flatnonzero(working)[0])
    return {
        producers[name]: max((producers[origin] for origin in origins[name]), default=first)
        for name in outputs
        if not working[producers[name]]
    }


def _labels(count: int, edges: list[tuple[int, int, str]], unshareable: set[str]) -> np.ndarray:
    """(count,): nodes of one unit have the same label; units do not wait for each other in a circle."""

    def components(pairs: list[tuple[int, int]], size: int, connection: str) -> np.ndarray:
        ends = np.array(pairs, np.int64).reshape(-1, 2).T
        matrix = coo_array((np.ones(ends.shape[1], bool), tuple(ends)), shape=(size, size))
        return np.asarray(connected_components(matrix, connection=connection)[1])

    together = components([(source, target) for source, target, name in edges if name in unshareable], count, "weak")
    between = [(int(together[source]), int(together[target])) for source, target, _ in edges]
    return components(between, count, "strong")[together]
