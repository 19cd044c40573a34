"""Costs of a split by the two published objectives, and the files' rules that it breaks.

A split is (n,) int32: accelerators 0..A-1, then CPUs A..A+C-1. Rules and objectives follow Tarnawski et al. 2020:

- largest load (section 4; samples flow through the devices in a pipeline): an accelerator's load is the time of its
  operations and of its transfers, one for each result that it shares with another device in each direction; a CPU's
  load is the time of its operations. In a training graph forward and backward pass count together;
- latency of one sample (section 3; read/latency_objective.py), for graphs without a backward pass; CPUs never queue.

A split is contiguous if no two devices wait for each other, even indirectly; in a training graph only the forward pass
counts. The published dynamic programme searches such splits, and the latency needs them. The rule of the published
integer programme (no path leaves a device and returns) allows two devices to wait for each other, which no order of
them resolves. For the latency every operation on a CPU stands alone. Not implemented: replicated operations and
transfers during computation, which the files do not require, and separate forward and backward loads (appendix C).
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from learned_schedulers.graphs.read.latency_objective import latency
from learned_schedulers.graphs.read.workloads import CPU, Workload

Objective = Literal["load", "latency"]
OBJECTIVES: tuple[Objective, ...] = get_args(Objective)
NO_BACKWARD = "the latency is only defined for graphs without a backward pass; use the load"
_SHOWN = 3  # operations that a message names


def cost(workload: Workload, devices: np.ndarray, objective: Objective) -> float:
    """Seconds, the less the better; a latency is infinite if blocks wait for each other.

    If `broken` is empty, the split is contiguous, and the latency cuts no block further.
    """
    if objective == "load":
        return float(loads(workload, devices).max(initial=0.0))
    return latency(workload, np.where(devices < workload.accelerators, devices, CPU)).seconds


def loads(workload: Workload, devices: np.ndarray) -> np.ndarray:
    """(A + C,) seconds that each device is busy with one sample."""
    count = workload.accelerators + workload.cpus
    seconds = np.where(devices < workload.accelerators, workload.accelerator_seconds, workload.cpu_seconds)
    load = np.bincount(devices, seconds, count)
    edges = workload.graph.children
    sources, readers = edges.sources, devices[edges.targets]
    away = readers != devices[sources]
    ends = np.unique(
        np.stack([np.r_[sources[away], sources[away]], np.r_[readers[away], devices[sources[away]]]]), axis=1
    )
    results, at_devices = ends[:, ends[1] < workload.accelerators]  # a CPU reads its inputs in host memory
    return load + np.bincount(at_devices, workload.transfer_seconds[results], count)


def broken(workload: Workload, devices: np.ndarray, objective: Objective) -> list[str]:
    """One sentence for each rule that a split breaks, with operations and devices; empty if the split is valid."""
    faults = []
    if objective == "latency" and workload.backward.any():
        i = int(np.flatnonzero(workload.backward)[0])
        faults.append(f"node {workload.ids[i]} belongs to a backward pass; {NO_BACKWARD}")
    count = workload.accelerators + workload.cpus
    if len(wrong := np.flatnonzero((devices < 0) | (devices >= count))):
        faults.append(
            f"{_nodes(workload, wrong)} on devices that do not exist; "
            f"there are {workload.accelerators} accelerators and {workload.cpus} CPUs"
        )
        return faults
    if len(wrong := np.flatnonzero((devices < workload.accelerators) & ~workload.supported)):
        faults.append(f"{_nodes(workload, wrong)} on an accelerator, which does not support them; only CPUs do")
    # For the latency all CPUs count as one.
    places = devices if objective == "load" else np.minimum(devices, workload.accelerators)
    for color in np.unique(workload.colors[workload.colors >= 0]).tolist():
        inside = np.flatnonzero(workload.colors == color)
        if len(wrong := inside[places[inside] != places[inside[0]]]):
            faults.append(
                f"colour class {color}: {_nodes(workload, wrong)} not on {name_of(workload, devices[inside[0]])} "
                f"as node {workload.ids[inside[0]]}"
            )
    weight_bytes = np.bincount(devices, workload.graph.bytes_kept, count)[: workload.accelerators]
    for device in np.flatnonzero(weight_bytes > workload.memory).tolist():
        faults.append(f"accelerator {device} needs {weight_bytes[device]:,.0f} bytes; it has {workload.memory:,.0f}")
    if waiting := _waiting(workload, devices, objective):
        faults.append(
            f"not contiguous: {' and '.join(name_of(workload, d) for d in waiting)} wait for each other's results"
        )
    return faults


def name_of(workload: Workload, device: int) -> str:
    """Name of a device in messages."""
    return f"accelerator {device}" if device < workload.accelerators else f"CPU {device - workload.accelerators}"


def _waiting(workload: Workload, devices: np.ndarray, objective: Objective) -> list[int]:
    """The devices of a cycle, or a device that waits for itself through operations on CPUs; empty without a cycle."""
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


def _nodes(workload: Workload, operations: np.ndarray) -> str:
    """`node 3 is` or `nodes 3, 4 are`, the beginning of a sentence."""
    names = ", ".join(str(i) for i in workload.ids[operations[:_SHOWN]].tolist())
    more = f" and {len(operations) - _SHOWN} more" if len(operations) > _SHOWN else ""
    return f"node{'s' if len(operations) > 1 else ''} {names}{more} {'are' if len(operations) > 1 else 'is'}"
