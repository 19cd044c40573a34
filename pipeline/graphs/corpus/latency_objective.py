"""Latency of one sample under a split, by the rules of Tarnawski et al. 2020 (section 3 and their program).

An accelerator runs its operations as one block: it waits for the results of all others that it needs, takes them in one
after the other (each once), computes the sum of its times, and hands every result out that others need (each once).
Transfers go through host memory. An operation on a CPU starts when its inputs are there: CPUs never queue.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from pipeline.graphs.corpus.topology import topological_order
from pipeline.graphs.corpus.workloads import CPU, Workload


@dataclass(frozen=True)
class Latency:
    """What a split costs, and how it had to be cut."""

    status: Literal["ok", "cyclic", "too many blocks"]  # cyclic: two blocks wait for each other
    seconds: float  # infinite without status ok
    blocks: np.ndarray  # (n,) int32: the contiguous block of each operation, or CPU
    too_large: tuple[int, ...]  # blocks that exceed an accelerator's memory: the published rules warn, no more


def latency(workload: Workload, placement: np.ndarray) -> Latency:
    """The latency under `placement`, (n,) accelerators or CPU; a split accelerator takes further, free ones."""
    blocks = contiguous(workload, placement)
    count = int(blocks.max(initial=CPU)) + 1
    kept = np.bincount(blocks[blocks >= 0], workload.graph.bytes_kept[blocks >= 0], count)
    too_large = tuple(np.flatnonzero(kept > workload.memory).tolist())
    if count > workload.accelerators:
        return Latency("too many blocks", np.inf, blocks, too_large)
    seconds = _seconds(workload, blocks, count)
    return Latency("cyclic" if np.isinf(seconds) else "ok", seconds, blocks, too_large)


def contiguous(workload: Workload, placement: np.ndarray) -> np.ndarray:
    """Accelerators' operations cut into as many blocks as a path leaves and enters them again: (n,) int32, or CPU.

    Block of an operation on accelerator d: the most times that a path from anywhere enters d before it. A placement
    that is contiguous stays as it is, but for numbers that no operation has. O(accelerators x (n + E)).
    """
    parents = workload.graph.children.reversed()
    offsets, before = parents.offsets.tolist(), parents.targets.tolist()
    blocks = np.full(len(workload), CPU, np.int32)
    count = 0
    for device in np.unique(placement[placement != CPU]).tolist():
        inside = (placement == device).tolist()
        entered = [0] * len(inside)
        for i, here in enumerate(inside):
            entered[i] = max(
                (entered[j] + (here and not inside[j]) for j in before[offsets[i] : offsets[i + 1]]), default=0
            )
            if here:
                entered[i] = max(entered[i], 1)
        pieces = np.array(entered)[inside]
        _, number = np.unique(pieces, return_inverse=True)
        blocks[inside] = count + number
        count += int(number.max()) + 1
    return blocks


def _seconds(workload: Workload, blocks: np.ndarray, count: int) -> float:
    """Infinite where blocks wait for each other."""
    n = len(workload)
    # Units that run as one: the blocks, then every operation on a CPU by itself.
    unit = np.where(blocks == CPU, count + np.arange(n), blocks).astype(np.int64)
    edges = workload.graph.children
    sources, targets = edges.sources, edges.targets
    away = unit[sources] != unit[targets]
    try:
        order, children = topological_order("", [""] * (count + n), unit[sources[away]], unit[targets[away]])
    except ValueError:
        return float("inf")
    work = np.bincount(unit, np.where(blocks == CPU, workload.cpu_seconds, workload.accelerator_seconds), count + n)
    taken = np.unique(np.stack([sources, unit[targets]])[:, away & (blocks[targets] != CPU)], axis=1)
    np.add.at(work, taken[1], workload.transfer_seconds[taken[0]])
    handed = np.unique(sources[away & (blocks[sources] != CPU)])
    np.add.at(work, unit[handed], workload.transfer_seconds[handed])
    parents = children.reversed()
    ends = np.zeros(count + n)
    for i, which in enumerate(order.tolist()):
        before = ends[parents.targets[parents.offsets[i] : parents.offsets[i + 1]]]
        ends[i] = before.max(initial=0.0) + work[which]
    return float(ends.max(initial=0.0))
