"""A user's graph: ONNX, a workload or a task graph of others in a file; pairs. module_export.py: torch modules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from learned_schedulers.files import printable
from learned_schedulers.graphs.plans.joined import joined
from learned_schedulers.graphs.plans.sources import DEFAULT_DEVICES, Source
from learned_schedulers.graphs.problems.problem import Parts
from learned_schedulers.graphs.read.graph import Passes
from learned_schedulers.graphs.read.json_files import json_of
from learned_schedulers.graphs.read.onnx_files import NamedGraph, read_with_names
from learned_schedulers.graphs.read.onnx_steps import KINDS
from learned_schedulers.graphs.read.saga import read_saga
from learned_schedulers.graphs.read.stg import read_stg
from learned_schedulers.graphs.read.task_graphs import FREE, TaskGraph, Tasks, graph_of
from learned_schedulers.graphs.read.workflows import read_workflow
from learned_schedulers.graphs.read.workloads import read_workload


def read_graph(
    path: str | Path,
    dimensions: Mapping[str, int] | None = None,
    shapes: Mapping[str, tuple[int, ...]] | None = None,
    attention: bool = True,
    eager: bool = False,
) -> Source:
    """The graph of an ONNX file, a workload or a task graph of others. Raises ValueError that names file and node.

    ONNX files and those of the Standard Task Graph Set are recognised by the suffix, forms of JSON by their keys.

    dimensions, shapes: of an ONNX file, as of `read_with_names`; eager: every node of it counts; otherwise views cost
    nothing, and nodes that runtimes compute as one are one operation, also those of attention where `attention` is.
    """
    path = Path(path)
    if path.suffix.lower() == ".onnx":
        read = read_with_names(path, dimensions=dimensions, shapes=shapes, joins=not eager, attention=attention)
        return joined(_of_file(read), read.joins, KINDS)
    if dimensions or shapes:
        raise ValueError(
            f"{path}: --size and --input are for ONNX files; leave them out, because a workload has its own"
        )
    if path.suffix.lower() == ".stg":
        return _of_tasks(read_stg(path))
    if path.suffix.lower() == ".json":
        return _of_json(path)
    raise ValueError(
        f"{path}: this is not a model that can be read; name an ONNX file (.onnx), a workload, a workflow or a task "
        "graph (.json, .stg) or module:Class"
    )


def _of_json(path: Path) -> Source:
    parsed = json_of(path)
    keys = parsed.keys() if isinstance(parsed, dict) else set()
    if "workflow" in keys:
        return _of_tasks(read_workflow(path, parsed))
    if "task_graph" in keys or {"tasks", "dependencies"} <= keys:
        return _of_tasks(read_saga(path, parsed))
    return _profiled(path)


def graph_from_pairs(
    pairs: Sequence[tuple[str, str]], seconds: Mapping[str, float], sizes: Mapping[str, float] | None = None
) -> Source:
    """The graph of n operations by their names: an operation of a pair (before, after) needs the result of the other.

    seconds: run time of each operation on any device; sizes: bytes of results, of those that are left out 0; None:
    every result is on all devices at once. Memory has no limit. Raises ValueError that names the operation: of a pair
    or of `sizes` that has no run time, of a cycle, or with a time or size that is negative or not finite.
    """
    numbers = {name: number for number, name in enumerate(seconds)}
    for name in (*(name for pair in pairs for name in pair), *(sizes or {})):
        if name not in numbers:
            raise ValueError(f"operation {printable(name)!r} has no run time; add it to `seconds`")
    ends = np.array([(numbers[before], numbers[after]) for before, after in pairs], np.int64).reshape(-1, 2)
    written = np.array([(sizes or {}).get(name, 0.0) for name in seconds], float)
    times = np.array([*seconds.values()], float)
    tasks = Tasks(tuple(seconds), times, ends[:, 0], ends[:, 1], written[ends[:, 0]])
    return _of_tasks(TaskGraph(*graph_of("pairs", "pairs", tasks), link=FREE if sizes is None else None))


def _of_tasks(tasks: TaskGraph) -> Source:
    """Devices of a task graph have no limit of memory."""
    ids = np.arange(len(tasks.graph))
    devices = tasks.devices or DEFAULT_DEVICES
    return Source(tasks.graph, tasks.names, ids, devices=devices, memory=np.inf, notes=tasks.notes, link=tasks.link)


def _of_file(read: NamedGraph) -> Source:
    """The graph of an ONNX file."""
    return Source(
        read.graph,
        read.names,
        np.arange(len(read.graph)),
        unpriced=read.unpriced,
        notes=read.notes,
        shared=read.shared,
        results=read.results,
        inputs=read.inputs,
    )


def _profiled(path: Path) -> Source:
    workload = read_workload(path)
    # The size of a node includes its result, which counts separately in `Graph`.
    weight_bytes = np.maximum(workload.graph.bytes_kept - workload.graph.bytes_written, 0)
    graph = replace(workload.graph, bytes_kept=weight_bytes)
    names = tuple(
        f"{name} ({label})" if label else str(name)
        for name, label in zip(workload.ids.tolist(), graph.layers, strict=True)
    )
    if not workload.supported.all():
        first = int(np.flatnonzero(~workload.supported)[0])
        raise ValueError(
            f"{path}: node {printable(names[first])} only runs on CPUs (supportedOnFpga), but all devices must be "
            "identical here; remove such nodes"
        )
    if workload.accelerators < 1:
        raise ValueError(f"{path}: maxFPGAs is {workload.accelerators}; there must be at least one device")
    colors = workload.colors.astype(np.int64)
    alone = colors < 0  # each node without a class becomes a separate class
    colors[alone] = colors.max(initial=0) + 1 + np.arange(int(alone.sum()))
    classes, groups = np.unique(colors, return_inverse=True)
    shared = groups if len(classes) < len(colors) else None
    parts = Parts(np.arange(len(graph)), graph.bytes_written, graph.children, np.zeros(len(graph), bool))
    passes = Passes(workload.backward, groups) if workload.backward.any() else None
    return Source(
        graph, names, workload.ids, shared, workload.accelerators, workload.memory, results=parts, passes=passes
    )
