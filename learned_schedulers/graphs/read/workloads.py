"""Profiled workloads and their splits, as JSON files of Tarnawski et al., NeurIPS 2020 (MIT licence).

A workload: `maxSizePerFPGA` (bytes), `maxFPGAs`, `maxCPUs`; `nodes` with `id`, `supportedOnFpga`, `cpuLatency` and
`fpgaLatency` (milliseconds), `isBackwardNode`, `colorClass` (nodes of the same class must share a device), `size`
(bytes); `edges` with `sourceId`, `destId`, `cost`: milliseconds to move the source's result between an accelerator and
host memory, equal on all edges of a source. An "FPGA" is any accelerator. All other keys are ignored.
A split: `{"cpus": [{"nodes": [ids]}], "fpgas": [{"nodes": [ids]}]}`; all CPUs are equal, and nodes never wait for one.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, TypeVar

import numpy as np
from pydantic import Field

from learned_schedulers.graphs.read.graph import Graph, Operations, graph
from learned_schedulers.graphs.read.json_files import Part, checked, json_of

MOST_DEVICES = 4096
CPU = -1  # the placement of a node that runs on a CPU
_LINK = 2.0**31 / 1000  # bytes per millisecond; the authors computed the cost of an edge from its size at this rate

Cost = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Name = Annotated[int, Field(ge=-(2**31), lt=2**31)]
Count = Annotated[int, Field(ge=0, le=MOST_DEVICES)]


class WorkloadError(ValueError):
    """A file is not a workload, or not a split of the workload; the message names file and node."""


class _Node(Part):
    id: Name
    name: str = ""
    supportedOnFpga: bool
    cpuLatency: Cost
    fpgaLatency: Cost
    isBackwardNode: bool = False
    colorClass: Name | None = None
    size: Cost = 0.0


class _Edge(Part):
    sourceId: Name
    destId: Name
    cost: Cost
    size: Cost | None = None


class _File(Part):
    maxSizePerFPGA: Cost
    maxFPGAs: Count
    maxCPUs: Count
    nodes: list[_Node]
    edges: list[_Edge]


class _Device(Part):
    nodes: list[Name]
    names: list[str] = Field(default_factory=list)


class _Split(Part):
    cpus: list[_Device]
    fpgas: list[_Device]


@dataclass(frozen=True)
class Workload:
    """A profiled graph and its devices. `graph.seconds`: on an accelerator if it supports the operation, else CPU."""

    graph: Graph
    ids: np.ndarray  # (n,) int64: each operation's id in the file
    colors: np.ndarray  # (n,) int32: operations of the same color must share a device; -1: no color
    supported: np.ndarray  # (n,) bool: accelerators can run the operation; otherwise only CPUs can
    backward: np.ndarray  # (n,) bool: the operation belongs to the backward pass
    cpu_seconds: np.ndarray  # (n,) float64
    accelerator_seconds: np.ndarray  # (n,) float64
    transfer_seconds: np.ndarray  # (n,) float64: time to move each result between an accelerator and host memory
    accelerators: int
    cpus: int
    memory: float  # bytes of each accelerator

    def __len__(self) -> int:
        return len(self.ids)


def read_workload(path: Path, family: str | None = None) -> Workload:
    """The workload of a file; its graph has the file's name. Raises WorkloadError that names file and node."""
    file = _parsed(_File, path)
    ids = [node.id for node in file.nodes]
    if len(set(ids)) < len(ids):
        twice = next(i for i, count in Counter(ids).items() if count > 1)
        raise WorkloadError(f"{path}: the id {twice} belongs to more than one node; give each node a different id")
    numbers = {name: i for i, name in enumerate(ids)}
    transfer, size = np.zeros(len(ids)), np.zeros(len(ids))
    costs: dict[int, float] = {}  # of each source's first edge
    for edge in file.edges:
        for end in (edge.sourceId, edge.destId):
            if end not in numbers:
                raise WorkloadError(
                    f"{path}: edge {edge.sourceId} -> {edge.destId}: there is no node {end}; correct the edge"
                )
        # The published program also treats costs that differ by less as equal.
        if abs(costs.setdefault(edge.sourceId, edge.cost) - edge.cost) > 1e-6:
            raise WorkloadError(
                f"{path}: the edges of node {edge.sourceId} have different costs, but they move the same result; "
                "give them the same cost"
            )
        source = numbers[edge.sourceId]
        transfer[source] = edge.cost / 1000
        size[source] = max(size[source], _LINK * edge.cost if edge.size is None else edge.size)
    supported = np.array([node.supportedOnFpga for node in file.nodes], bool)
    on_cpu = np.array([node.cpuLatency for node in file.nodes]) / 1000
    on_accelerator = np.array([node.fpgaLatency for node in file.nodes]) / 1000
    read = np.zeros(len(ids))
    pairs = np.array([(numbers[edge.sourceId], numbers[edge.destId]) for edge in file.edges], np.int64).reshape(-1, 2)
    pairs = np.unique(pairs, axis=0)
    sources, targets = pairs[:, 0], pairs[:, 1]
    np.add.at(read, targets, size[sources])
    operations = Operations(
        kinds=["profiled"] * len(ids),
        flops=np.zeros(len(ids)),
        bytes_read=read,
        bytes_written=size,
        bytes_kept=np.array([node.size for node in file.nodes]),
        layers=[node.name for node in file.nodes],
        seconds=np.where(supported, on_accelerator, on_cpu),
        labels=[f"{node.id} ({node.name})" if node.name else str(node.id) for node in file.nodes],
    )
    try:
        profiled, order = graph(path.stem, family or path.stem, "profiled", operations, sources, targets)
    except ValueError as error:
        raise WorkloadError(f"{path}: {error}") from error
    colors = np.array([-1 if node.colorClass is None else node.colorClass for node in file.nodes], np.int32)
    return Workload(
        graph=profiled,
        ids=np.array(ids, np.int64)[order],
        colors=colors[order],
        supported=supported[order],
        backward=np.array([node.isBackwardNode for node in file.nodes], bool)[order],
        cpu_seconds=on_cpu[order],
        accelerator_seconds=on_accelerator[order],
        transfer_seconds=transfer[order],
        accelerators=file.maxFPGAs,
        cpus=file.maxCPUs,
        memory=file.maxSizePerFPGA,
    )


def read_split(path: Path, workload: Workload) -> np.ndarray:
    """The accelerator of each operation, or CPU: (n,) int32. Raises WorkloadError that names file and node."""
    return placement_of_split(path, workload.ids, workload.graph.name)


def placement_of_split(path: Path, ids: np.ndarray, graph_name: str) -> np.ndarray:
    """The accelerator, or CPU, of the operations with these ids: (n,) int32. Raises as `read_split` does."""
    split = _parsed(_Split, path)
    numbers = {name: i for i, name in enumerate(ids.tolist())}
    nowhere = CPU - 1
    placement = np.full(len(ids), nowhere, np.int32)
    for device, part in [*((CPU, part) for part in split.cpus), *enumerate(split.fpgas)]:
        for name in part.nodes:
            if name not in numbers:
                raise WorkloadError(f"{path}: the workload {graph_name} has no node {name}; leave it out")
            if placement[numbers[name]] != nowhere:
                raise WorkloadError(f"{path}: node {name} is on more than one device; leave it on one")
            placement[numbers[name]] = device
    if len(missing := np.flatnonzero(placement < CPU)):
        raise WorkloadError(
            f"{path}: node {ids[missing[0]]} is on no device ({len(missing)} such nodes); add it to a device"
        )
    return placement


def names_of_split(path: Path) -> dict[int, str]:
    """Names of operations by id, where a split has them (see `split_of`). Raises WorkloadError that names the file."""
    split = _parsed(_Split, path)
    parts = (*split.cpus, *split.fpgas)
    return {name: label for part in parts for name, label in zip(part.nodes, part.names, strict=False)}


def split_of(
    ids: np.ndarray,
    placement: np.ndarray,
    devices: int,
    names: Sequence[str] | None = None,
    device_names: Sequence[str] = (),
) -> str:
    """A split in the published form, as JSON: the ids on CPUs and on each accelerator. ids, placement: (n,).

    names: (n,), if ids alone do not identify the nodes: each device gets a further key `names`, as long as `nodes`.
    device_names: (m,) or empty; each accelerator gets a further key `device`.
    """

    def part(device: int) -> dict[str, object]:
        members = np.flatnonzero(placement == device).tolist()
        nodes: dict[str, object] = {"nodes": ids[members].tolist()}
        return nodes if names is None else nodes | {"names": [names[i] for i in members]}

    parts: list[dict[str, object]] = [part(device) for device in range(devices)]
    named = [{"device": name, **of_device} for name, of_device in zip(device_names, parts, strict=False)]
    return json.dumps({"cpus": [part(CPU)], "fpgas": named or parts}) + "\n"


Kind = TypeVar("Kind", bound=Part)


def _parsed(kind: type[Kind], path: Path) -> Kind:
    try:
        return checked(kind, json_of(path), path)
    except ValueError as error:
        raise WorkloadError(str(error)) from error
