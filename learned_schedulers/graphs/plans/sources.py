"""The graph of a user's model, with what its source tells. Files: model_files.py; torch modules: module_export.py."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from learned_schedulers.graphs.devices.core import Core
from learned_schedulers.graphs.devices.number_rates import rates_of
from learned_schedulers.graphs.devices.settings import DEVICES, LINKS, DeviceName, Link, LinkName
from learned_schedulers.graphs.devices.targets import linked
from learned_schedulers.graphs.problems.problem import NO_SHARED, Inputs, Parts, Problem, SharedWeights
from learned_schedulers.graphs.read.graph import Graph
from learned_schedulers.graphs.read.roofline import problem_of

DEFAULT_DEVICES = 4


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
    devices: int = DEFAULT_DEVICES
    memory: float | None = None  # bytes of each device; None: the device's own
    unpriced: tuple[str, ...] = ()  # operators, one for each operation whose cost follows from no rule
    types: tuple[str, ...] = ()  # n: of the numbers that a product multiplies, else ""; empty: all as float32
    notes: tuple[str, ...] = ()  # sentences about what was assumed: sizes, branches, steps, losses
    shared: SharedWeights = NO_SHARED
    results: Parts | None = None  # of the problem
    inputs: Inputs | None = None  # None: they do not count
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
    count = source.devices if devices is None else devices
    problem = problem_of(source.graph, count, DEVICES[device], room, rates, *source.in_memory)
    return linked(problem, source.link or (link if isinstance(link, Link) else LINKS[link])).mean


def on_cores(source: Source, core: Core, devices: int, memory: float | None = None) -> Problem:
    """The graph of a source on cores of this machine, which share its memory. memory (GB of each): None for a share."""
    share = source.room(memory, core.memory_bytes / devices)
    rates = core.rates_of(source.graph.kinds, source.types)
    problem = problem_of(source.graph, devices, core.device, share, rates, *source.in_memory)
    return linked(problem, core.link).mean
