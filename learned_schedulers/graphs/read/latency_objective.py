"""Latency of one sample under a split, by the rules of Tarnawski et al. 2020 (section 3 and their program).

An accelerator runs its operations as one block: it waits for all results that it needs, loads them one after the other
(each once), computes for the sum of its operations' times, and stores every result that other devices need (each once).
Transfers go through host memory. An operation on a CPU starts when its inputs are ready: CPUs never queue.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from learned_schedulers.graphs.read.topology import topological_order
from learned_schedulers.graphs.read.workloads import CPU, Workload


@dataclass(frozen=True)
class Latency:
    """Latency of a split, and the blocks that it is cut into."""

    status: Literal["ok", "cyclic", "too many blocks"]  # cyclic: two blocks wait for each other
    seconds: float  # infinite unless the status is ok
    blocks: np.ndarray  # (n,) int32: the contiguous block of each operation, or CPU
    too_large: tuple[int, ...]  # blocks that exceed an accelerator's memory; the published rules only warn of them


def latency(workload: Workload, placement: np.ndarray) -> Latency:
    """The latency under `placement`, (n,) accelerators or CPU; further blocks of a device take free accelerators."""
    blocks = contiguous(workload, placement)
    count = int(blocks.max(initial=CPU)) + 1
    weight_bytes = np.bincount(blocks[blocks >= 0], workload.graph.bytes_kept[blocks >= 0], count)
    too_large = tuple(np.flatnonzero(weight_bytes > workload.memory).tolist())
    if count > workload.accelerators:
        return Latency("too many blocks", np.inf, blocks, too_large)
    seconds = _seconds(workload, blocks, count)
    return Latency("cyclic" if np.isinf(seconds) else "ok", seconds, blocks, too_large)


def contiguous(workload: Workload, placement: np.ndarray) -> np.ndarray:
    """Block of each operation, (n,) int32, or CPU: an accelerator's operations are cut wherever a path leaves it.

    The block of an operation on accelerator d is the largest number of times that a path to the operation enters d. A
    contiguous placement does not change, except that unused numbers are skipped. O(accelerators x (n + E)).
    """
    parents = workload.graph.children.reversed()
    offsets, before = parents.offsets.tolist(), parents.targets.tolist()
    blocks = np.full(len(workload), CPU, np.int32)
    count = 0
    for device in np.unique(placement[placement != CPU]).tolist():
        inside = (placement == device).tolist()
        entered = [0] * len(inside)
        for i, is_inside in enumerate(inside):
            entered[i] = max(
                (entered[j] + (is_inside and not inside[j]) for j in before[offsets[i] : offsets[i + 1]]), default=0
            )
            if is_inside:
                entered[i] = max(entered[i], 1)
        pieces = np.array(entered)[inside]
        _, number = np.unique(pieces, return_inverse=True)
        blocks[inside] = count + number
        count += int(number.max()) + 1
    return blocks


def _seconds(workload: Workload, blocks: np.ndarray, count: int) -> float:
    """Seconds of the latency; infinite if blocks wait for each other."""
    n = len(workload)
    # A unit runs as one: units are first the blocks, then the single operations on CPUs.
    unit = np.where(blocks == CPU, count + np.arange(n), blocks).astype(np.int64)
    edges = workload.graph.children
    sources, targets = edges.sources, edges.targets
    away = unit[sources] != unit[targets]
    try:
        order, children = topological_order("", [""] * (count + n), unit[sources[away]], unit[targets[away]])
    except ValueError:
        return float("inf")
    work = np.bincount(unit, np.where(blocks == CPU, workload.cpu_seconds, workload.accelerator_seconds), count + n)
    loaded, loading_unit = np.unique(np.stack([sources, unit[targets]])[:, away & (blocks[targets] != CPU)], axis=1)
    np.add.at(work, loading_unit, workload.transfer_seconds[loaded])
    stored = np.unique(sources[away & (blocks[sources] != CPU)])
    np.add.at(work, unit[stored], workload.transfer_seconds[stored])
    parents = children.reversed()
    ends = np.zeros(count + n)
    for i, ordered_unit in enumerate(order.tolist()):
        before = ends[parents.targets[parents.offsets[i] : parents.offsets[i + 1]]]
        ends[i] = before.max(initial=0.0) + work[ordered_unit]
    return float(ends.max(initial=0.0))
