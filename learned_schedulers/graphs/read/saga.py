"""Task graphs of SAGA (Coleman and Krishnamachari): the JSON that `anrg-saga` writes of its classes.

A task graph has `tasks` (`name`, `cost`) and `dependencies` (`source`, `target`, `size`). It is the whole file, or it
lies under `task_graph`, beside `network` with `nodes` (`name`, `speed`) and `edges` (`source`, `target`, `speed`; null
is no limit). A task takes cost / speed on a node, a result size / speed between two nodes, and nothing on one node.

All nodes, and the edges between any two of them, must have one speed: here all devices are identical. Without a
network, costs count as seconds and sizes as bytes.
"""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import Field

from learned_schedulers.graphs.devices.settings import Link
from learned_schedulers.graphs.read.json_files import Part, checked
from learned_schedulers.graphs.read.task_graphs import FREE, TaskGraph, Tasks, graph_of_file

Number = Annotated[float, Field(ge=0, lt=1e15, allow_inf_nan=False)]
_MOST_NODES = 1000
_LEAST_SPEED = 1e-9
_SIZE = 2.0**40  # bytes that the largest size counts as, so that fractions are not lost


class _Task(Part):
    name: str
    cost: Number


class _Dependency(Part):
    source: str
    target: str
    size: Number = 0.0


class _Node(Part):
    name: str
    speed: Annotated[float, Field(ge=_LEAST_SPEED, allow_inf_nan=False)]


class _Edge(Part):
    source: str
    target: str
    speed: Annotated[float, Field(ge=0)] | None = None


class _Network(Part):
    nodes: Annotated[list[_Node], Field(min_length=1, max_length=_MOST_NODES)]
    edges: list[_Edge]


class _Graph(Part):
    tasks: Annotated[list[_Task], Field(min_length=1)]
    dependencies: list[_Dependency]


class _Instance(Part):
    task_graph: _Graph
    network: _Network | None = None


def read_saga(path: Path, parsed: object) -> TaskGraph:
    """The task graph of a file's JSON. Raises ValueError that names file and task."""
    whole = parsed if isinstance(parsed, dict) and "task_graph" in parsed else {"task_graph": parsed}
    instance = checked(_Instance, whole, path)
    tasks = sorted(instance.task_graph.tasks, key=lambda task: task.name)  # SAGA writes sets, in any order
    names = [task.name for task in tasks]
    numbers = {name: number for number, name in enumerate(names)}
    if len(numbers) < len(names):
        twice = next(name for number, name in enumerate(names) if numbers[name] != number)
        raise ValueError(f"{path}: the name {twice!r} belongs to more than one task; give each task a different name")
    edges = instance.task_graph.dependencies
    for edge in edges:
        for end in (edge.source, edge.target):
            if end not in numbers:
                raise ValueError(f"{path}: {edge.source!r} -> {edge.target!r}: there is no task {end!r}; correct it")
    sizes, seconds = np.array([edge.size for edge in edges]), np.array([task.cost for task in tasks])
    devices, link, note = None, None, "costs count as seconds and sizes as bytes, of which fractions count as one"
    if instance.network is not None:
        speed, between = _speeds(path, instance.network)
        scale = _SIZE / (sizes.max(initial=0.0) or 1.0)
        seconds, sizes, devices = seconds / speed, sizes * scale, len(instance.network.nodes)
        link = FREE if between is None else Link(bytes_per_second=between * scale, seconds=0.0)
        note = f"times are in the file's unit; the largest size counts as {_SIZE:.3g} bytes"
    ends = np.array([(numbers[edge.source], numbers[edge.target]) for edge in edges], np.int64).reshape(-1, 2)
    graph, order = graph_of_file(path, "saga", Tasks(names, seconds, ends[:, 0], ends[:, 1], np.ceil(sizes)))
    return TaskGraph(graph, order, devices, link, (note,))


def _speeds(path: Path, network: _Network) -> tuple[float, float | None]:
    """The speed of all nodes, and of the edges between any two; None: without limit."""
    speeds = {node.speed for node in network.nodes}
    if len(speeds) > 1:
        raise ValueError(
            f"{path}: network.nodes have {len(speeds)} speeds, from {min(speeds):g} to {max(speeds):g}, but all "
            "devices are identical here; give all nodes one speed, or leave out the network"
        )
    between = {frozenset((edge.source, edge.target)): edge.speed for edge in network.edges}
    names = [node.name for node in network.nodes]
    of_pairs = {between.get(frozenset(pair), 0.0) for pair in combinations(names, 2)} or {None}
    limits = {None if speed is None or np.isinf(speed) else speed for speed in of_pairs}
    if len(limits) > 1 or any(speed is not None and speed < _LEAST_SPEED for speed in limits):
        raise ValueError(
            f"{path}: network.edges do not have one speed above 0 between any two nodes, but all devices are identical "
            "here; give all edges one speed, or leave out the network"
        )
    return speeds.pop(), limits.pop()
