"""What of a workload no split may take apart: colour classes, and whatever waits for them and they wait for.

As in the program of Tarnawski et al. 2020 (throughput-dp): operations of one colour class are one unit, units that wait
for each other are one, and in a training graph a unit's place is told by its forward operations: the backward ones are
where their colour class is. A class of backward operations alone takes part by the mirror image of its edges.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from pipeline.graphs.corpus.topology import topological_order
from pipeline.graphs.corpus.workloads import Workload
from pipeline.graphs.problems.problem import Edges


@dataclass(frozen=True)
class Units:
    """u units in a topological order; a split is contiguous if the devices' numbers never fall along an edge of them.

    Results: what operations of one unit, or several, hand to other units: r different sets of readers.
    """

    labels: np.ndarray  # (n,) int64, unit of each operation
    children: Edges  # between units
    accelerator_seconds: np.ndarray  # (u,) float64
    cpu_seconds: np.ndarray  # (u,) float64
    kept: np.ndarray  # (u,) float64 bytes
    supported: np.ndarray  # (u,) bool: all its operations run on accelerators
    members: np.ndarray  # (r, u) bool: the unit whose result it is, and those that read it; more than one
    transfer_seconds: np.ndarray  # (r,) float64, of moving it between an accelerator and host memory

    def __len__(self) -> int:
        return len(self.kept)


def units_of(workload: Workload) -> Units:
    """The units of a workload; where it has no colours and no backward operations, each operation is one."""
    n = len(workload)
    colors = np.where(workload.colors < 0, workload.colors.max(initial=-1) + 1 + np.arange(n), workload.colors)
    _, first = np.unique(colors, return_inverse=True)
    sources, targets = first[workload.graph.children.sources], first[workload.graph.children.targets]
    backward = workload.backward[workload.graph.children.sources], workload.backward[workload.graph.children.targets]
    count = int(first.max(initial=-1)) + 1
    ahead = np.zeros(count, bool)
    ahead[first[~workload.backward]] = True
    forward = ~backward[0] & ~backward[1]
    mirrored = backward[0] & backward[1] & ~(ahead[sources] & ahead[targets])
    befores = np.r_[sources[forward], targets[mirrored]]
    behinds = np.r_[targets[forward], sources[mirrored]]
    _, second = connected_components(
        coo_array((np.ones(len(befores), bool), (befores, behinds)), shape=(count, count)), connection="strong"
    )
    # Numbered by their first operation, so that a graph in a topological order keeps it.
    _, labels = np.unique(_by_first(second[first]), return_inverse=True)
    merged = labels[np.unique(first, return_index=True)[1]]
    befores, behinds = merged[befores], merged[behinds]
    away = befores != behinds
    count = int(labels.max(initial=-1)) + 1
    order, children = topological_order(workload.graph.name, [""] * count, befores[away], behinds[away])
    number = np.empty(count, np.int64)
    number[order] = np.arange(count)
    labels = number[labels]
    members, seconds = _results(workload, labels, count)
    return Units(
        labels=labels,
        children=children,
        accelerator_seconds=np.bincount(labels, workload.accelerator_seconds, count),
        cpu_seconds=np.bincount(labels, workload.cpu_seconds, count),
        kept=np.bincount(labels, workload.graph.bytes_kept, count),
        supported=np.bincount(labels, ~workload.supported, count) == 0,
        members=members,
        transfer_seconds=seconds,
    )


def _by_first(labels: np.ndarray) -> np.ndarray:
    """(n,): the first operation that has the same label."""
    _, first, place = np.unique(labels, return_index=True, return_inverse=True)
    return first[place]


def _results(workload: Workload, labels: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Members, (r, u), and seconds, (r,), of results that leave their unit; those of the same members are one."""
    edges = workload.graph.children
    members = np.zeros((len(workload), count), bool)
    members[np.arange(len(workload)), labels] = True
    members[edges.sources, labels[edges.targets]] = True
    leaving = (members.sum(1) > 1) & (workload.transfer_seconds > 0)
    if not leaving.any():
        return np.zeros((0, count), bool), np.zeros(0)
    distinct, which = np.unique(members[leaving], axis=0, return_inverse=True)
    return distinct, np.bincount(which.ravel(), workload.transfer_seconds[leaving], len(distinct))
