"""The dynamic programme of Tarnawski et al. 2020 (section 5.1): the exact peer for contiguous splits.

It goes through all sets of units that hold what they need (ideals), and takes the last device's part away from each.
Exact for the largest load. For the latency it finds the best split into blocks that run one after the other, and counts
CPUs' operations as if they ran one by one: where blocks can run beside each other a better split may exist.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from pipeline.graphs.corpus.workloads import Workload
from pipeline.graphs.plans.splits.ideals import MOST, ideals, prefixes
from pipeline.graphs.plans.splits.judging_splits import NO_BACKWARD, Objective, cost
from pipeline.graphs.plans.splits.units import Units, units_of

_ROUNDING = 1e-12


@dataclass(frozen=True)
class Programmed:
    """A split by dynamic programming."""

    devices: np.ndarray | None  # (n,) int32; None where no split of these sets holds the rules
    seconds: float  # by the objective; infinite without a split
    sets: int  # ideals that were looked at
    exact: bool  # no contiguous split costs less


def least(workload: Workload, objective: Objective, most: int = MOST) -> Programmed:
    """The best contiguous split; with more than `most` ideals, of those of one topological order (never exact).

    O(ideals^2 x (results + devices)). Raises ValueError for a latency with a backward pass.
    """
    linear, units = along(workload, objective), units_of(workload)
    every = ideals(units.children, most)
    if every is None:
        return linear
    found = _solved(workload, units, every, objective, linear.seconds)
    # Backward operations whose place no forward operation tells could lie elsewhere than their mirror image.
    exact = objective == "load" and not workload.backward[workload.colors < 0].any()
    return Programmed(found.devices, found.seconds, found.sets, exact)


def along(workload: Workload, objective: Objective) -> Programmed:
    """The best split into parts of one topological order of the units, that of their numbers.

    Raises ValueError for a latency with a backward pass.
    """
    if objective == "latency" and workload.backward.any():
        raise ValueError(f"{workload.graph.name}: {NO_BACKWARD}")
    units = units_of(workload)
    return _solved(workload, units, prefixes(len(units)), objective, np.inf)


def _solved(workload: Workload, units: Units, sets: np.ndarray, objective: Objective, limit: float) -> Programmed:
    """limit: seconds that a split must not exceed."""
    accelerators = workload.accelerators
    sums = sets.astype(np.float64) @ np.stack(
        [units.accelerator_seconds, units.cpu_seconds, units.kept, (~units.supported).astype(float)], 1
    )
    cpus = workload.cpus if objective == "load" else min(workload.cpus, 1)
    best, before = _programme(
        _packed(sets),
        _packed(units.members),
        units.transfer_seconds,
        np.ascontiguousarray(sums.T),
        workload.memory,
        accelerators,
        cpus,
        objective == "latency",
        limit * (1 + _ROUNDING) if np.isfinite(limit) else np.inf,
    )
    if not np.isfinite(best[-1, -1, -1]):
        return Programmed(None, np.inf, len(sets), False)
    devices = _split(sets, before, units, accelerators)[units.labels]
    return Programmed(devices, cost(workload, devices, objective), len(sets), False)


def _split(sets: np.ndarray, before: np.ndarray, units: Units, accelerators: int) -> np.ndarray:
    """Device of each unit, (u,) int32: accelerators and CPUs are numbered along the graph."""
    devices = np.empty(len(units), np.int32)
    at, ends = (len(sets) - 1, before.shape[1] - 1, before.shape[2] - 1), []
    while at[0]:
        ends.append(at)
        at = tuple(before[at].tolist())
    accelerator, cpu = 0, accelerators
    for end in reversed(ends):
        begin, cpus_left, accelerators_left = before[end].tolist()
        part = sets[end[0]] & ~sets[begin]
        if accelerators_left < end[2]:
            devices[part], accelerator = accelerator, accelerator + 1
        else:  # the latency's one CPU is never used up
            devices[part], cpu = cpu, cpu + (cpus_left < end[1])
    return devices


def _packed(sets: np.ndarray) -> np.ndarray:
    """(k, words) uint64 of (k, u) bool."""
    k, u = sets.shape
    padded = np.zeros((k, -(-max(u, 1) // 64) * 64), bool)
    padded[:, :u] = sets
    return np.packbits(padded, axis=1, bitorder="little").view(np.uint64)


@njit(cache=True)
def _programme(
    sets: np.ndarray,
    members: np.ndarray,
    transfers: np.ndarray,
    sums: np.ndarray,
    memory: float,
    accelerators: int,
    cpus: int,
    latency: bool,
    limit: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Least seconds of set k with at most c CPUs and a accelerators, (K, C + 1, A + 1), and what is before, (.., 3).

    sets, (K, words), smaller ones first; members, (r, words); sums, (4, K): seconds on an accelerator and on CPUs,
    bytes, unsupported units. latency: seconds add up, and a CPU's unit, one at a time, uses nothing up.
    """
    count, words = sets.shape
    best = np.full((count, cpus + 1, accelerators + 1), np.inf)
    before = np.zeros((count, cpus + 1, accelerators + 1, 3), np.int32)
    best[0] = 0.0
    part = np.empty(words, np.uint64)
    for k in range(1, count):
        for sub in range(k):
            inside, size = True, 0
            for w in range(words):
                if sets[sub, w] & ~sets[k, w]:
                    inside = False
                    break
                part[w] = sets[k, w] & ~sets[sub, w]
                if part[w]:
                    size += 1 if part[w] & (part[w] - np.uint64(1)) == 0 else 2
            if not inside:
                continue
            on_cpu = sums[1, k] - sums[1, sub]
            if cpus == 0 or on_cpu > limit or (latency and size != 1):
                on_cpu = np.inf
            fast = sums[0, k] - sums[0, sub]
            if fast > limit or sums[2, k] - sums[2, sub] > memory or sums[3, k] > sums[3, sub] or accelerators == 0:
                fast = np.inf
            if fast < np.inf:
                for r in range(len(members)):
                    holds, lacks = False, False
                    for w in range(words):
                        holds |= (members[r, w] & part[w]) != 0
                        lacks |= (members[r, w] & ~part[w]) != 0
                    if holds and lacks:
                        fast += transfers[r]
                        if fast > limit:
                            break
            if min(fast, on_cpu) > limit:
                continue
            for c in range(cpus + 1):
                for a in range(accelerators + 1):
                    if a > 0:
                        old = best[sub, c, a - 1]
                        seconds = old + fast if latency else max(old, fast)
                        if seconds < best[k, c, a]:
                            best[k, c, a] = seconds
                            before[k, c, a] = sub, c, a - 1
                    if c > 0:
                        left = c if latency else c - 1
                        old = best[sub, left, a]
                        seconds = old + on_cpu if latency else max(old, on_cpu)
                        if seconds < best[k, c, a]:
                            best[k, c, a] = seconds
                            before[k, c, a] = sub, left, a
    return best, before
