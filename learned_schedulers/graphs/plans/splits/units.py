"""Units: groups of a workload's operations that no split may divide, because of colour classes and cycles.

As in the program of Tarnawski et al. 2020 (throughput-dp), operations of one colour class are one unit, and units that
wait for each other are one unit. In a training graph the forward operations decide a unit's position, and backward
operations follow their colour class. A class with only backward operations takes part by its reversed edges.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from learned_schedulers.graphs.problems.problem import Edges
from learned_schedulers.graphs.read.topology import topological_order
from learned_schedulers.graphs.read.workloads import Workload


@dataclass(frozen=True)
class Units:
    """u units in a topological order; a split is contiguous if the devices' numbers never decrease along their edges.

    The results that operations send to other units are grouped into r different sets of members.
    """

    labels: np.ndarray  # (n,) int64, unit of each operation
    children: Edges  # between units
    accelerator_seconds: np.ndarray  # (u,) float64
    cpu_seconds: np.ndarray  # (u,) float64
    weight_bytes: np.ndarray  # (u,) float64
    supported: np.ndarray  # (u,) bool: accelerators support all its operations
    members: np.ndarray  # (r, u) bool: the unit that computes the result and all units that read it; at least two
    transfer_seconds: np.ndarray  # (r,) float64, to move the result between an accelerator and host memory

    def __len__(self) -> int:
        return len(self.weight_bytes)


def units_of(workload: Workload) -> Units:
    """The units of a workload; without colours and backward operations, each operation is a unit."""
    n = len(workload)
    colors = np.where(workload.colors < 0, workload.colors.max(initial=-1) + 1 + np.arange(n), workload.colors)
    _, classes = np.unique(colors, return_inverse=True)
    edges = workload.graph.children
    sources, targets = classes[edges.sources], classes[edges.targets]
    source_backward, target_backward = workload.backward[edges.sources], workload.backward[edges.targets]
    count = int(classes.max(initial=-1)) + 1
    has_forward = np.zeros(count, bool)
    has_forward[classes[~workload.backward]] = True
    forward = ~source_backward & ~target_backward
    mirrored = source_backward & target_backward & ~(has_forward[sources] & has_forward[targets])
    earlier = np.r_[sources[forward], targets[mirrored]]
    later = np.r_[targets[forward], sources[mirrored]]
    _, components = connected_components(
        coo_array((np.ones(len(earlier), bool), (earlier, later)), shape=(count, count)), connection="strong"
    )
    # Units are numbered by their first operation, so that a graph in a topological order keeps it.
    _, labels = np.unique(_by_first(components[classes]), return_inverse=True)
    class_units = labels[np.unique(classes, return_index=True)[1]]
    earlier, later = class_units[earlier], class_units[later]
    away = earlier != later
    count = int(labels.max(initial=-1)) + 1
    order, children = topological_order(workload.graph.name, [""] * count, earlier[away], later[away])
    number = np.empty(count, np.int64)
    number[order] = np.arange(count)
    labels = number[labels]
    members, seconds = _results(workload, labels, count)
    return Units(
        labels=labels,
        children=children,
        accelerator_seconds=np.bincount(labels, workload.accelerator_seconds, count),
        cpu_seconds=np.bincount(labels, workload.cpu_seconds, count),
        weight_bytes=np.bincount(labels, workload.graph.bytes_kept, count),
        supported=np.bincount(labels, ~workload.supported, count) == 0,
        members=members,
        transfer_seconds=seconds,
    )


def _by_first(labels: np.ndarray) -> np.ndarray:
    """(n,): the first operation with the same label."""
    _, first, index = np.unique(labels, return_index=True, return_inverse=True)
    return first[index]


def _results(workload: Workload, labels: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Members, (r, u), and seconds, (r,), of the results that leave their unit; results of equal members are summed."""
    edges = workload.graph.children
    members = np.zeros((len(workload), count), bool)
    members[np.arange(len(workload)), labels] = True
    members[edges.sources, labels[edges.targets]] = True
    leaving = (members.sum(1) > 1) & (workload.transfer_seconds > 0)
    if not leaving.any():
        return np.zeros((0, count), bool), np.zeros(0)
    distinct, group = np.unique(members[leaving], axis=0, return_inverse=True)
    return distinct, np.bincount(group.ravel(), workload.transfer_seconds[leaving], len(distinct))
