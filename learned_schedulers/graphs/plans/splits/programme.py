"""The dynamic programme of Tarnawski et al. 2020 (section 5.1): the exact solver for contiguous splits.

It visits all ideals of units, and removes the last device's part from each. It is exact for the largest load. For the
latency it finds the best split into blocks that run one after the other, and counts operations on CPUs as if they ran
one by one: if blocks can run at the same time, a better split may exist.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from learned_schedulers.graphs.plans.splits.ideals import MOST, ideals, prefixes
from learned_schedulers.graphs.plans.splits.judging_splits import NO_BACKWARD, Objective, cost
from learned_schedulers.graphs.plans.splits.units import Units, units_of
from learned_schedulers.graphs.read.workloads import Workload

_ROUNDING = 1e-12
_ON_ACCELERATOR, _ON_CPU, _BYTES, _UNSUPPORTED = range(4)  # sums over a set: seconds, seconds, bytes, number of units


@dataclass(frozen=True)
class Programmed:
    """A split by dynamic programming."""

    devices: np.ndarray | None  # (n,) int32; None if no split of these sets respects the rules
    seconds: float  # by the objective; infinite without a split
    sets: int  # number of ideals that were visited
    exact: bool  # whether no contiguous split costs less


def least(workload: Workload, objective: Objective, most: int = MOST) -> Programmed:
    """The best contiguous split. With more than `most` ideals, the best one along a topological order (never exact).

    O(ideals^2 x (results + devices)). Raises ValueError for a latency with a backward pass.
    """
    linear, units = along(workload, objective), units_of(workload)
    all_ideals = ideals(units.children, most)
    if all_ideals is None:
        return linear
    best = _solved(workload, units, all_ideals, objective, linear.seconds)
    # Backward operations that share a class with no forward operation might be better off elsewhere than mirrored.
    exact = objective == "load" and not workload.backward[workload.colors < 0].any()
    return Programmed(best.devices, best.seconds, best.sets, exact)


def along(workload: Workload, objective: Objective) -> Programmed:
    """The best split into consecutive parts of one topological order of the units, that of their numbers.

    Raises ValueError for a latency with a backward pass.
    """
    if objective == "latency" and workload.backward.any():
        raise ValueError(f"{workload.graph.name}: {NO_BACKWARD}")
    units = units_of(workload)
    return _solved(workload, units, prefixes(len(units)), objective, np.inf)


def _solved(workload: Workload, units: Units, sets: np.ndarray, objective: Objective, limit: float) -> Programmed:
    """The best split whose parts are differences of these sets, (K, u). limit: seconds that it must not exceed."""
    accelerators = workload.accelerators
    sums = sets.astype(np.float64) @ np.stack(
        [units.accelerator_seconds, units.cpu_seconds, units.weight_bytes, (~units.supported).astype(float)], 1
    )
    cpus = workload.cpus if objective == "load" else min(workload.cpus, 1)
    best, before = _programme(
        sets=_packed(sets),
        members=_packed(units.members),
        transfers=units.transfer_seconds,
        sums=np.ascontiguousarray(sums.T),
        memory=workload.memory,
        accelerators=accelerators,
        cpus=cpus,
        latency=objective == "latency",
        limit=limit * (1 + _ROUNDING) if np.isfinite(limit) else np.inf,
    )
    if not np.isfinite(best[-1, -1, -1]):
        return Programmed(None, np.inf, len(sets), False)
    devices = _split(sets, before, units, accelerators)[units.labels]
    return Programmed(devices, cost(workload, devices, objective), len(sets), False)


def _split(sets: np.ndarray, before: np.ndarray, units: Units, accelerators: int) -> np.ndarray:
    """Device of each unit, (u,) int32; accelerators and CPUs are numbered along the graph."""
    devices = np.empty(len(units), np.int32)
    state, ends = (len(sets) - 1, before.shape[1] - 1, before.shape[2] - 1), []  # (set, CPUs, accelerators)
    while state[0]:
        ends.append(state)
        state = tuple(before[state].tolist())
    accelerator, cpu = 0, accelerators
    for end in reversed(ends):
        end_set, end_cpus, end_accelerators = end
        begin_set, begin_cpus, begin_accelerators = before[end].tolist()
        part = sets[end_set] & ~sets[begin_set]
        if begin_accelerators < end_accelerators:
            devices[part], accelerator = accelerator, accelerator + 1
        else:  # for the latency, one CPU serves any number of parts
            devices[part], cpu = cpu, cpu + (begin_cpus < end_cpus)
    return devices


def _packed(sets: np.ndarray) -> np.ndarray:
    """(k, u) bool, packed into (k, words) uint64."""
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
    """Least seconds of set k with at most c CPUs and a accelerators, (K, C + 1, A + 1), and predecessors, (.., 3).

    A predecessor is (set, CPUs, accelerators). sets: (K, words), smaller sets first; members: (r, words); sums: (4, K),
    rows _ON_ACCELERATOR, _ON_CPU, _BYTES and _UNSUPPORTED. latency: seconds add up, and parts on the CPU have a single
    unit and do not use up the CPU.
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
            on_cpu = sums[_ON_CPU, k] - sums[_ON_CPU, sub]
            if cpus == 0 or on_cpu > limit or (latency and size != 1):
                on_cpu = np.inf
            on_accelerator = sums[_ON_ACCELERATOR, k] - sums[_ON_ACCELERATOR, sub]
            too_large = sums[_BYTES, k] - sums[_BYTES, sub] > memory
            unsupported = sums[_UNSUPPORTED, k] > sums[_UNSUPPORTED, sub]
            if on_accelerator > limit or too_large or unsupported or accelerators == 0:
                on_accelerator = np.inf
            if on_accelerator < np.inf:
                for r in range(len(members)):
                    has_inside, has_outside = False, False
                    for w in range(words):
                        has_inside |= (members[r, w] & part[w]) != 0
                        has_outside |= (members[r, w] & ~part[w]) != 0
                    if has_inside and has_outside:
                        on_accelerator += transfers[r]
                        if on_accelerator > limit:
                            break
            if min(on_accelerator, on_cpu) > limit:
                continue
            for c in range(cpus + 1):
                for a in range(accelerators + 1):
                    if a > 0:
                        earlier = best[sub, c, a - 1]
                        seconds = earlier + on_accelerator if latency else max(earlier, on_accelerator)
                        if seconds < best[k, c, a]:
                            best[k, c, a] = seconds
                            before[k, c, a] = sub, c, a - 1
                    if c > 0:
                        earlier_cpus = c if latency else c - 1
                        earlier = best[sub, earlier_cpus, a]
                        seconds = earlier + on_cpu if latency else max(earlier, on_cpu)
                        if seconds < best[k, c, a]:
                            best[k, c, a] = seconds
                            before[k, c, a] = sub, earlier_cpus, a
    return best, before
