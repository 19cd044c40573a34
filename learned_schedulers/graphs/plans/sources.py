"""The graph of a user's model, with what its source tells. Files: model_files.py; torch modules: module_export.py."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from learned_schedulers.graphs.devices.lists import kinds_of, names_of, transfers_between
from learned_schedulers.graphs.devices.number_rates import NUMBER_RATES, rates_of
from learned_schedulers.graphs.devices.settings import DEVICES, LINKS, DeviceName, Link, LinkName
from learned_schedulers.graphs.devices.targets import transfers_over
from learned_schedulers.graphs.problems.problem import NO_SHARED, Inputs, Parts, Problem, SharedWeights
from learned_schedulers.graphs.read.graph import Graph, Passes
from learned_schedulers.graphs.read.roofline import problem_of

DEFAULT_DEVICES = 4


class Nodes(NamedTuple):
    """The m operations of a model, if some of them count as one."""

    names: tuple[str, ...]  # m
    ids: np.ndarray  # (m,) int64: numbers in a split
    owners: np.ndarray  # (m,) int64: operation of the graph that each belongs to
    layers: tuple[str, ...]  # m: path of the module, or name of the node, that each belongs to


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
    passes: Passes | None = None  # of a training step; None: there is no backward pass
    weights: Mapping[str, int] = field(default_factory=dict)  # of a module: first reader by the name of each; -1: none

    @property
    def listed(self) -> Nodes:
        """The operations that a split lists."""
        return self.nodes or Nodes(self.names, self.ids, np.arange(len(self.graph)), self.graph.layers)

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
    devices: int | str | Sequence[str] | None = None,
    device: DeviceName = "v100",
    link: LinkName | Link = "pcie",
    memory: float | None = None,
    tf32: bool = False,
    links: Mapping[str, LinkName | Link] | None = None,
) -> Problem:
    """The graph of a source on these devices. devices, memory (GB of each): None for the source's own.

    devices: a number of those of the kind `device`, or a list of kinds, such as ["h100", "h100", "t4"] or "h100:2,t4".
    link: between any two devices, but for those of `links`: {"h100.0-h100.1": "nvlink"} or, for all pairs of these
    kinds, {"h100-h100": "nvlink"}; neither is used if the source names its link. tf32: products of float32 run by
    tensor cores, on devices that have them. Raises ValueError for a device that does not exist, a link that names
    none, kinds that differ where run times are profiled, and tf32 if no device has it.
    """
    is_number = devices is None or isinstance(devices, int)
    count = source.devices if devices is None else devices
    kinds = (device,) * count if isinstance(count, int) else kinds_of(count)
    each = tuple(dict.fromkeys(kinds)) or (device,)
    if len(each) > 1 and len(source.graph.seconds):
        raise ValueError(f"run times are profiled, on devices of one kind; list one kind, not {' and '.join(each)}")
    with_tf32 = [kind for kind in each if "tf32" in NUMBER_RATES[kind]] or each
    types = source.types or ("float32",) * len(source.graph)
    alone = {}
    for kind in each:
        room, rates = source.room(memory, DEVICES[kind].memory_bytes), rates_of(types, kind, tf32 and kind in with_tf32)
        alone[kind] = problem_of(source.graph, len(kinds), DEVICES[kind], room, rates, *source.in_memory)
    problem = alone[each[0]]
    if len(each) > 1:
        rooms = np.array([source.room(memory, DEVICES[kind].memory_bytes) for kind in kinds])
        limited = any(on_kind.limited for on_kind in alone.values())
        problem = replace(
            problem,
            seconds=np.stack([alone[kind].seconds for kind in kinds], 1),
            memory=rooms if limited else np.inf,
        )
    named_links = {pair: _link(between) for pair, between in (links or {}).items()}
    if source.link is None:
        transfers = transfers_between(kinds, _link(link), named_links)
    else:
        transfers = transfers_over(source.link)
    names = () if is_number and not named_links else names_of(kinds)
    return replace(problem, transfers=transfers, device_names=names)


def _link(link: LinkName | Link) -> Link:
    return link if isinstance(link, Link) else LINKS[link]
