"""An ONNX file -> its computation graph.

The rules are those of `export.py`: a node whose inputs are all constants is a constant, as if it were folded, and its
bytes count as `bytes_kept` of the first operation that reads it. A node without cost (Reshape, Identity, Dropout at
inference) belongs to the operation whose result it passes on. The graph's inputs are ready. onnx_walk.py lists the
operations, onnx_costs.py prices them; which nodes are views, and which ones runtimes compute as one: onnx_views.py and
onnx_steps.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from learned_schedulers.graphs.problems.problem import Inputs, Parts, SharedWeights
from learned_schedulers.graphs.read.graph import Graph, Operations, graph
from learned_schedulers.graphs.read.joins.recognised import Joins, recognised
from learned_schedulers.graphs.read.onnx_control import control
from learned_schedulers.graphs.read.onnx_model import OnnxError, Sizes, model_of
from learned_schedulers.graphs.read.onnx_steps import steps_of
from learned_schedulers.graphs.read.onnx_values import Value, of_type
from learned_schedulers.graphs.read.onnx_walk import Walk, parts_of

__all__ = ["NamedGraph", "OnnxError", "read_onnx", "read_with_names"]


class NamedGraph(NamedTuple):
    """The graph of a file of n operations."""

    graph: Graph
    names: tuple[str, ...]  # n: of the operations in the file
    unpriced: tuple[str, ...]  # operators, one for each operation whose FLOPs follow from no rule (cost_rules.py)
    notes: tuple[str, ...]  # sentences that say what was assumed where data decide: sizes, branches, steps
    shared: SharedWeights
    inputs: Inputs
    results: Parts  # outputs of the model stay to the end
    joins: Joins  # groups of operations that a runtime computes as one


def read_onnx(path: Path, family: str | None = None, dimensions: Mapping[str, int] | None = None) -> Graph:
    """The graph of a file; it has the file's name.

    dimensions: sizes of the dimensions that the model leaves open, by their names in the model: {"batch": 8}.
    Only the sizes of weights matter: values of large ones are not read, and separate files with weights are not opened.
    Raises OnnxError that names file and node.
    """
    return read_with_names(path, family, dimensions).graph


def read_with_names(
    path: Path,
    family: str | None = None,
    dimensions: Mapping[str, int] | None = None,
    shapes: Mapping[str, tuple[int, ...]] | None = None,
    joins: bool = False,
    attention: bool = True,
) -> NamedGraph:
    """The graph of a file as of `read_onnx`, with the names of its operations in the file.

    dimensions: as there; also a size that data decide (NonZero), by the tensor's name, and the steps of a loop, by the
    node's. shapes: sizes of inputs, or of tensors inside whose sizes do not follow from the file: {"x": (1, 3, 48)}.
    joins: as runtimes run it: views cost nothing, and groups are recognised, also attention where `attention` says so.
    """
    sizes = Sizes(dimensions or {}, shapes or {})
    model, weights = model_of(path, sizes)
    opsets = {opset.domain if opset.domain != "ai.onnx" else "": opset.version for opset in model.opset_import}
    walk = Walk(path, sizes, opsets, control, views=joins)
    scope: dict[str, Value] = {
        value.name: replace(of_type(value.type), of_input=str(value.name)) for value in model.graph.input
    } | weights
    try:
        outputs = walk.whole(model.graph, scope)
    except RecursionError as error:
        raise OnnxError(f"{path}: its subgraphs are nested too deeply; export it without control flow") from error
    if unused := [name for name in (*sizes.dimensions, *sizes.shapes) if name not in sizes.used]:
        raise OnnxError(
            f"{path}: no dimension or tensor whose size is open is named {unused[0]!r}; leave its size out, or correct "
            "its name"
        )
    listing = walk.listing
    flops, read, written, weight_bytes = np.array(listing.costs, np.float64).reshape(-1, 4).T
    pairs = np.array(listing.edges, np.int64).reshape(-1, 2)
    operations = Operations(listing.kinds, flops, read, written, weight_bytes, labels=listing.labels)
    try:
        read_inputs = [(number, name, scope[name].bytes) for number, name in listing.inputs]
        onnx_graph, order = graph(path.stem, family or path.stem, "forward", operations, pairs[:, 0], pairs[:, 1])
    except ValueError as error:
        raise OnnxError(f"{path}: {error}") from error
    names = tuple(listing.labels[i] for i in order)
    places = np.argsort(order)  # of the listed operations in the graph
    lasting = np.zeros(len(onnx_graph), bool)
    lasting[[places[value.owner] for value in parts_of(outputs) if value.owner is not None]] = True
    written_bytes = onnx_graph.bytes_written.astype(np.float64)
    results = Parts(np.arange(len(onnx_graph)), written_bytes, onnx_graph.children, lasting)
    shared = SharedWeights.of(_readers(listing.reads, places))
    inputs = Inputs.of(_readers(read_inputs, places), len(onnx_graph))
    groups = (
        recognised(steps_of(listing, parts_of(outputs), opsets.get("", 1)), attention=attention)
        if joins
        else Joins((), {})
    )
    return NamedGraph(onnx_graph, names, tuple(listing.unpriced), tuple(walk.notes), shared, inputs, results, groups)


def _readers(reads: Iterable[tuple[int, str, int]], places: np.ndarray) -> list[tuple[list[int], int]]:
    """Of each constant or input: its readers, and its bytes. places: of the listed operations in the graph."""
    readers: dict[str, set[int]] = {}
    sizes: dict[str, int] = {}
    for number, name, size in reads:
        readers.setdefault(name, set()).add(int(places[number]))
        sizes[name] = size
    return [(sorted(numbers), sizes[name]) for name, numbers in readers.items()]
