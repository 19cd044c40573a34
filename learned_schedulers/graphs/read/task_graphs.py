"""Task graphs of others: tasks with run times, equal on all devices, and the bytes that go from one to another.

A task's result has one size here, and every child needs all of it: the largest size of the task's edges.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from learned_schedulers.graphs.devices.settings import Link
from learned_schedulers.graphs.read.graph import Graph, Operations, graph

FREE = Link(bytes_per_second=1e18, seconds=0.0)  # a result is on every device at once


@dataclass(frozen=True)
class TaskGraph:
    """A graph of n tasks, with the devices that its file names."""

    graph: Graph
    names: tuple[str, ...]  # n
    devices: int | None = None  # None: the file does not say
    link: Link | None = None  # between any two devices; None: the file does not say
    notes: tuple[str, ...] = ()  # sentences about what was assumed


@dataclass(frozen=True)
class Tasks:
    """n tasks and E edges, as a file lists them."""

    names: Sequence[str]  # n
    seconds: np.ndarray  # (n,) float64
    sources: np.ndarray  # (E,) int64
    targets: np.ndarray  # (E,) int64
    sizes: np.ndarray  # (E,) float64 bytes


def graph_of_file(path: Path, family: str, tasks: Tasks) -> tuple[Graph, tuple[str, ...]]:
    """The graph, named as the file, and the names of its tasks. Raises ValueError that names file and task."""
    try:
        return graph_of(path.stem, family, tasks)
    except ValueError as error:
        raise ValueError(f"{path}: {error}; correct the file") from error


def graph_of(name: str, family: str, tasks: Tasks) -> tuple[Graph, tuple[str, ...]]:
    """The graph, and the names of its tasks in its order. Raises ValueError that names graph and task."""
    n = len(tasks.names)
    written, read = np.zeros(n), np.zeros(n)
    np.maximum.at(written, tasks.sources, tasks.sizes)
    np.add.at(read, tasks.targets, written[tasks.sources])
    operations = Operations(
        kinds=["task"] * n,
        flops=np.zeros(n),
        bytes_read=read,
        bytes_written=written,
        bytes_kept=np.zeros(n, np.int64),
        seconds=tasks.seconds,
        labels=tasks.names,
    )
    profiled, order = graph(name, family, "profiled", operations, tasks.sources, tasks.targets)
    return profiled, tuple(tasks.names[i] for i in order)
