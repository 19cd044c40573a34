"""What a split costs by the two published objectives, and which of the files' rules it breaks.

A split, (n,) int32: accelerators 0..A-1, then CPUs A..A+C-1. Rules and objectives are those of Tarnawski et al. 2020:

- largest load (section 4; samples follow each other through the devices): an accelerator's load is the time of its
  operations, and of moving in and out each result that it shares with another device, once each; a CPU's is the time of
  its operations alone. In a training graph forward and backward pass count together;
- latency of one sample (section 3; corpus/latency_objective.py): for graphs without a backward pass; CPUs never queue.

Contiguous means here that no two devices wait for each other, whatever lies between; in a training graph in its forward
pass. That is what the published dynamic programme searches, and what the latency needs; the integer programme's rule,
no path that leaves a device and returns, allows two devices to wait for each other, which no order of them resolves.
For the latency every operation on a CPU is by itself. Left out of the paper: replicated operations and transfers beside
computation, which the files do not ask for, and the objective of forward and backward loads apart (its appendix C).
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from pipeline.graphs.corpus.latency_objective import latency
from pipeline.graphs.corpus.workloads import CPU, Workload

Objective = Literal["load", "latency"]
OBJECTIVES: tuple[Objective, ...] = get_args(Objective)
NO_BACKWARD = "the latency is of graphs without a backward pass; use the load"
_SHOWN = 3  # of the operations that break a rule


def cost(workload: Workload, devices: np.ndarray, objective: Objective) -> float:
    """Seconds, the less the better; a latency is infinite where blocks wait for each other.

    The contiguity that the latency asks for is not made here: where `broken` is empty, no block is cut further.
    """
    if objective == "load":
        return float(loads(workload, devices).max(initial=0.0))
    return latency(workload, np.where(devices < workload.accelerators, devices, CPU)).seconds


def loads(workload: Workload, devices: np.ndarray) -> np.ndarray:
    """(A + C,) seconds of each device, busy with one sample."""
    count = workload.accelerators + workload.cpus
    here = np.where(devices < workload.accelerators, workload.accelerator_seconds, workload.cpu_seconds)
    load = np.bincount(devices, here, count)
    edges = workload.graph.children
    sources, readers = edges.sources, devices[edges.targets]
    away = readers != devices[sources]
    ends = np.unique(
        np.stack([np.r_[sources[away], sources[away]], np.r_[readers[away], devices[sources[away]]]]), axis=1
    )
    ends = ends[:, ends[1] < workload.accelerators]  # what a CPU needs is in its memory
    return load + np.bincount(ends[1], workload.transfer_seconds[ends[0]], count)


def broken(workload: Workload, devices: np.ndarray, objective: Objective) -> list[str]:
    """The rules that a split breaks, one sentence each, with the operations and devices; none: it is valid."""
    said = []
    if objective == "latency" and workload.backward.any():
        i = int(np.flatnonzero(workload.backward)[0])
        said.append(f"node {workload.ids[i]} is of a backward pass; {NO_BACKWARD}")
    count = workload.accelerators + workload.cpus
    if len(wrong := np.flatnonzero((devices < 0) | (devices >= count))):
        said.append(
            f"{_nodes(workload, wrong)} on devices that are not there; "
            f"there are {workload.accelerators} accelerators and {workload.cpus} CPUs"
        )
        return said
    if len(wrong := np.flatnonzero((devices < workload.accelerators) & ~workload.supported)):
        said.append(f"{_nodes(workload, wrong)} on an accelerator, which does not support them; CPUs alone do")
    # For the latency all CPUs are one.
    apart = devices if objective == "load" else np.minimum(devices, workload.accelerators)
    for color in np.unique(workload.colors[workload.colors >= 0]).tolist():
        inside = np.flatnonzero(workload.colors == color)
        if len(wrong := inside[apart[inside] != apart[inside[0]]]):
            said.append(
                f"colour class {color}: {_nodes(workload, wrong)} not on {name_of(workload, devices[inside[0]])} "
                f"as node {workload.ids[inside[0]]}"
            )
    kept = np.bincount(devices, workload.graph.bytes_kept, count)[: workload.accelerators]
    for device in np.flatnonzero(kept > workload.memory).tolist():
        said.append(f"accelerator {device} keeps {kept[device]:,.0f} bytes; it has {workload.memory:,.0f}")
    if waiting := _waiting(workload, devices, objective):
        said.append(
            f"not contiguous: {' and '.join(name_of(workload, d) for d in waiting)} wait for each other's results"
        )
    return said


def name_of(workload: Workload, device: int) -> str:
    """As messages name a device."""
    return f"accelerator {device}" if device < workload.accelerators else f"CPU {device - workload.accelerators}"


def _waiting(workload: Workload, devices: np.ndarray, objective: Objective) -> list[int]:
    """The devices of a cycle, or one that waits for itself over operations on CPUs; empty where there is none."""
    n, edges = len(workload), workload.graph.children
    alone = (devices >= workload.accelerators) & (objective == "latency")
    count = workload.accelerators + workload.cpus
    part = np.where(alone, count + np.arange(n), devices)
    counts = ~workload.backward[edges.sources] & ~workload.backward[edges.targets]
    sources, targets = part[edges.sources[counts]], part[edges.targets[counts]]
    graph = coo_array((np.ones(len(sources), bool), (sources, targets)), shape=(count + n, count + n))
    _, label = connected_components(graph, connection="strong")
    shared = np.flatnonzero(np.bincount(label) > 1)
    return np.unique(devices[np.isin(label[part], shared[:1])]).tolist()


def _nodes(workload: Workload, which: np.ndarray) -> str:
    names = ", ".join(str(i) for i in workload.ids[which[:_SHOWN]].tolist())
    more = f" and {len(which) - _SHOWN} more" if len(which) > _SHOWN else ""
    return f"node{'s' if len(which) > 1 else ''} {names}{more} {'are' if len(which) > 1 else 'is'}"
