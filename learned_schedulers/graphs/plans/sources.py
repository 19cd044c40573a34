"""A user's model in a file -> its graph: ONNX, a workload, a task graph of others. module_export.py: torch modules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from learned_schedulers.files import printable
from learned_schedulers.graphs.devices.number_rates import rates_of
from learned_schedulers.graphs.devices.settings import DEVICES, LINKS, DeviceName, Link, LinkName
from learned_schedulers.graphs.devices.targets import linked
from learned_schedulers.graphs.problems.problem import NO_SHARED, Inputs, Parts, Problem, SharedWeights
from learned_schedulers.graphs.read.graph import Graph
from learned_schedulers.graphs.read.json_files import json_of
from learned_schedulers.graphs.read.onnx_files import NamedGraph, read_with_names
from learned_schedulers.graphs.read.onnx_steps import KINDS
from learned_schedulers.graphs.read.roofline import problem_of
from learned_schedulers.graphs.read.saga import read_saga
from learned_schedulers.graphs.read.stg import read_stg
from learned_schedulers.graphs.read.task_graphs import TaskGraph
from learned_schedulers.graphs.read.workflows import read_workflow
from learned_schedulers.graphs.read.workloads import read_workload
from learned_schedulers.graphs.run.core import Core

_DEVICES = 4  # the default number


class Nodes(NamedTuple):
    """The m operations of a model, if some of them count as one."""

    names: tuple[str, ...]  # m
    ids: np.ndarray  # (m,) int64: numbers in a split
    owners: np.ndarray  # (m,) int64: operation of the graph that each belongs to


@dataclass(frozen=True)
class Source:
    """A graph of n operations, with further facts from its source."""

    graph: Graph
    names: tuple[str, ...]  # n: names of the operations in messages, traces and splits
    ids: np.ndarray  # (n,) int64: numbers of the operations in a split
    groups: np.ndarray | None = None  # (n,) int64 from 0 on: operations of the same group must share a device
    devices: int = _DEVICES
    memory: float | None = None  # bytes of each device; None: the device's own
    unpriced: tuple[str, ...] = ()  # operators, one for each operation whose cost follows from no rule
    types: tuple[str, ...] = ()  # n: of the numbers that a product multiplies, else ""; empty: all as float32
    notes: tuple[str, ...] = ()  # sentences about what was assumed: sizes, branches, steps, losses
    shared: SharedWeights = NO_SHARED
    results: Parts | None = None  # of the problem
    inputs: Inputs | None = None  # None: they do not count
    gradients: tuple[tuple[int, int], ...] = ()  # operation that computes a weight's gradient, and its bytes
    nodes: Nodes | None = None  # of the model; None: those of the graph
    link: Link | None = None  # between the devices, if the source names it

    @property
    def listed(self) -> Nodes:
        """The operations that a split lists."""
        return self.nodes or Nodes(self.names, self.ids, np.arange(len(self.graph)))

    @property
    def in_memory(self) -> tuple[SharedWeights, Parts | None, Inputs | None]:
        """The last arguments of `problem_of`."""
        return self.shared, self.results, self.inputs

    def room(self, memory: float | None, otherwise: float) -> float:
        """Bytes of each device: those that the user gives (memory, GB), the source's own, or `otherwise`."""
        if memory is not None:
            return memory * 1e9
        return otherwise if self.memory is None else self.memory


def on_devices(
    source: Source,
    devices: int | None = None,
    device: DeviceName = "v100",
    link: LinkName | Link = "pcie",
    memory: float | None = None,
    tf32: bool = False,
) -> Problem:
    """The graph of a source on these devices. devices, memory (GB of each): None for the source's own.

    link: not used if the source names one. tf32: products of float32 run by tensor cores. Raises ValueError if the
    device has no tf32.
    """
    room = source.room(memory, DEVICES[device].memory_bytes)
    rates = rates_of(source.types or ("float32",) * len(source.graph), device, tf32)
    problem = problem_of(source.graph, devices or source.devices, DEVICES[device], room, rates, *source.in_memory)
    return linked(problem, source.link or (link if isinstance(link, Link) else LINKS[link])).mean


def on_cores(source: Source, core: Core, devices: int, memory: float | None = None) -> Problem:
    """The graph of a source on cores of this machine, which share its memory. memory (GB of each): None for a share."""
    share = source.room(memory, core.memory_bytes / devices)
    rates = core.rates_of(source.graph.kinds, source.types)
    problem = problem_of(source.graph, devices, core.device, share, rates, *source.in_memory)
    return linked(problem, core.link).mean


def read_file(
    path: Path,
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
    if path.suffix.lower() == ".onnx":
        from learned_schedulers.graphs.plans.joined import joined

        read = read_with_names(path, dimensions=dimensions, shapes=shapes, joins=not eager, attention=attention)
        return joined(of_file(read), read.joins, KINDS)
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


def _of_tasks(tasks: TaskGraph) -> Source:
    """Devices of a task graph have no limit of memory."""
    ids = np.arange(len(tasks.graph))
    devices = tasks.devices or _DEVICES
    return Source(tasks.graph, tasks.names, ids, devices=devices, memory=np.inf, notes=tasks.notes, link=tasks.link)


def of_file(read: NamedGraph) -> Source:
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
    return Source(graph, names, workload.ids, shared, workload.accelerators, workload.memory, results=parts)
