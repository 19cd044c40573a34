"""The dynamic programme of Tarnawski et al. 2020 (section 5.1): the exact solver for contiguous splits.

It visits all ideals of units, and removes the last device's part from each. It is exact for the largest load. For the
latency it finds the best split into blocks that run one after the other, and counts operations on CPUs as if they ran
one by one: if blocks can run at the same time, a better split may exist.

Ours visits ideals in the order of their work. A part of more work than the best split so far costs is in no better
split, so few earlier ideals are looked at for each.

With copies (their extension by replication) a part may have several accelerators, which take turns with the samples:
its load is that of one, divided by their number.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numba import njit

from learned_schedulers.graphs.plans.splits.ideals import MOST, ideals, prefixes
from learned_schedulers.graphs.plans.splits.judging_splits import NO_BACKWARD, Objective, cost, loads
from learned_schedulers.graphs.plans.splits.units import Units, units_of
from learned_schedulers.graphs.read.workloads import Workload

_ROUNDING = 1e-12
_UNITS_OF_WORK = 2**40  # all work of a graph, in integers: sums of sets are exact
_SLICE = 200_000_000  # pairs of ideals between two looks at the clock
_ON_ACCELERATOR, _ON_CPU, _BYTES, _UNSUPPORTED = range(4)  # sums over a set: seconds, seconds, bytes, number of units


@dataclass(frozen=True)
class Programmed:
    """A split by dynamic programming."""

    devices: np.ndarray | None  # (n,) int32; None if no split of these sets respects the rules
    seconds: float  # by the objective; infinite without a split
    sets: int  # number of ideals that were visited
    exact: bool  # whether no contiguous split costs less
    complete: bool = True  # whether all ideals were visited
    copies: np.ndarray | None = None  # (A + C,) accelerators, from each device on, that have its part; None: no split


Progress = Callable[[int, int], object]  # called with the ideals that were visited, and all of them


def least(
    workload: Workload,
    objective: Objective,
    most: int = MOST,
    seconds: float = math.inf,
    start: np.ndarray | None = None,
    progress: Progress = lambda visited, size: None,
    copies: bool = False,
) -> Programmed:
    """The best contiguous split.

    start: (n,), a split that respects the rules; the better it is, the fewer ideals are visited. With more than `most`
    ideals, or if it takes more than so many seconds, the answer is the better one of `start` and of the best split
    along a topological order (neither complete nor exact). copies: of a load, whether parts may have several
    accelerators.

    O(ideals^2 x (results + devices)). Raises ValueError for a latency with a backward pass.
    """
    until = time.monotonic() + seconds
    linear, units = along(workload, objective, copies), units_of(workload)
    if start is not None and (started := cost(workload, start, objective)) < linear.seconds:
        linear = Programmed(start, started, linear.sets, False)
    all_ideals = ideals(units.children, most, until)
    best = None
    if all_ideals is not None:
        best = _solved(workload, units, all_ideals, objective, linear.seconds, until, progress, copies)
    if best is None:
        return replace(linear, complete=False)
    if best.seconds > linear.seconds:  # of a latency, whose operations on CPUs it counts one by one
        best = replace(linear, sets=best.sets)
    # Backward operations that share a class with no forward operation might be better off elsewhere than mirrored.
    exact = objective == "load" and not workload.backward[workload.colors < 0].any()
    return replace(best, exact=exact)


def bound(workload: Workload, objective: Objective) -> float:
    """Seconds that no split is below: of all work on equally busy devices, or of its longest chain."""
    if objective == "load":
        units = units_of(workload)
        work = _work(units, workload)
        devices = workload.accelerators + workload.cpus * _speed_of_cpus(units, work)
        return max(float(work.sum()) / devices if devices else 0.0, float(work.max(initial=0.0)))
    work, edges = _work(workload, workload), workload.graph.children
    ends = work.copy()
    for source, target in zip(edges.sources.tolist(), edges.targets.tolist(), strict=True):
        ends[target] = max(ends[target], ends[source] + work[target])
    return float(ends.max(initial=0.0))


def _work(timed: Units | Workload, workload: Workload) -> np.ndarray:
    """Seconds of each unit, or of each operation, on the device that is fastest for it."""
    fast = np.where(timed.supported, timed.accelerator_seconds, np.inf) if workload.accelerators else np.inf
    slow = timed.cpu_seconds if workload.cpus else np.inf
    return np.broadcast_to(np.minimum(fast, slow), len(timed))


def along(workload: Workload, objective: Objective, copies: bool = False, cuts: np.ndarray | None = None) -> Programmed:
    """The best split into consecutive parts of one topological order of the units, that of their numbers.

    copies: as of `least`; cuts: (u + 1,) bool, the numbers of units before which a part may begin or end; None: all.
    Raises ValueError for a latency with a backward pass.
    """
    if objective == "latency" and workload.backward.any():
        raise ValueError(f"{workload.graph.name}: {NO_BACKWARD}")
    units = units_of(workload)
    sets = prefixes(len(units)) if cuts is None else prefixes(len(units))[cuts]
    solved = _solved(workload, units, sets, objective, math.inf, math.inf, lambda visited, size: None, copies)
    assert solved is not None
    return solved


def _solved(
    workload: Workload,
    units: Units,
    sets: np.ndarray,
    objective: Objective,
    limit: float,
    until: float,
    progress: Progress,
    copies: bool = False,
) -> Programmed | None:
    """The best split whose parts are differences of these sets, (K, u); None if `time.monotonic()` passes `until`.

    limit: seconds that it must not exceed. For the largest load, sets whose work does not fit on so many devices in
    this time, before or behind, are left out.
    """
    accelerators = workload.accelerators
    cpus = workload.cpus if objective == "load" else min(workload.cpus, 1)
    limit = limit * (1 + _ROUNDING)
    work = _work(units, workload)
    work = np.where(np.isfinite(work), work, 0.0)
    scale = _UNITS_OF_WORK / (float(work.sum()) or 1.0)
    amounts = sets @ np.rint(work * scale).astype(np.int64)
    order = np.lexsort((sets.sum(1), amounts))
    sets, amounts = sets[order], amounts[order]
    if objective == "load" and np.isfinite(limit):
        speed = _speed_of_cpus(units, work)
        useful = _useful(amounts, float(len(units)), limit * scale, accelerators, cpus, speed)
        sets, amounts = sets[useful], amounts[useful]
    most_copies = max(accelerators, 1) if copies else 1
    part_limit = limit * most_copies * scale
    most_work = int(min(part_limit, _UNITS_OF_WORK)) + len(units)  # each is rounded
    earliest = np.searchsorted(amounts, amounts - most_work)
    facts = [units.accelerator_seconds, units.cpu_seconds, units.weight_bytes, (~units.supported).astype(float)]
    sums = np.ascontiguousarray((sets.astype(np.float64) @ np.stack(facts, 1)).T)
    packed, members = _packed(sets), _packed(units.members)
    best = np.full((len(sets), cpus + 1, accelerators + 1), np.inf)
    before = np.zeros((len(sets), cpus + 1, accelerators + 1, 3), np.int32)
    best[0] = 0.0
    pairs = np.cumsum(np.arange(len(sets)) - earliest)
    begin = 1
    while begin < len(sets):
        end = max(begin + 1, int(np.searchsorted(pairs, pairs[begin] + _SLICE)))
        _programme(
            begin=begin,
            end=end,
            earliest=earliest,
            best=best,
            before=before,
            sets=packed,
            members=members,
            transfers=units.transfer_seconds,
            sums=sums,
            memory=workload.memory,
            latency=objective == "latency",
            limit=limit,
            most_copies=most_copies,
        )
        begin = end
        progress(begin, len(sets))
        if begin < len(sets) and time.monotonic() > until:
            return None
    if not np.isfinite(best[-1, -1, -1]):
        return Programmed(None, np.inf, len(sets), False)
    unit_devices, of_part = _split(sets, before, units, accelerators)
    devices = unit_devices[units.labels]
    if copies:
        seconds = float((loads(workload, devices) / of_part).max(initial=0.0))
    else:
        seconds = cost(workload, devices, objective)
    return Programmed(devices, seconds, len(sets), False, copies=of_part)


def _split(sets: np.ndarray, before: np.ndarray, units: Units, accelerators: int) -> tuple[np.ndarray, np.ndarray]:
    """Device of each unit, (u,) int32, the first of its copies, and the copies of the part of each device, (A + C,).

    Accelerators and CPUs are numbered along the graph.
    """
    devices = np.empty(len(units), np.int32)
    copies = np.ones(before.shape[1] + before.shape[2] - 2, np.int64)
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
            devices[part], copies[accelerator] = accelerator, end_accelerators - begin_accelerators
            accelerator += end_accelerators - begin_accelerators
        else:  # for the latency, one CPU serves any number of parts
            devices[part], cpu = cpu, cpu + (begin_cpus < end_cpus)
    return devices, copies


def _packed(sets: np.ndarray) -> np.ndarray:
    """(k, u) bool, packed into (k, words) uint64."""
    k, u = sets.shape
    padded = np.zeros((k, -(-max(u, 1) // 64) * 64), bool)
    padded[:, :u] = sets
    return np.packbits(padded, axis=1, bitorder="little").view(np.uint64)


def _speed_of_cpus(units: Units, work: np.ndarray) -> float:
    """The most work that a CPU does in the time in which an accelerator does 1."""
    slow = units.cpu_seconds
    return float(np.divide(work, slow, out=np.zeros(len(units)), where=slow > 0).max(initial=0.0))


def _useful(amounts: np.ndarray, unit: float, limit: float, accelerators: int, cpus: int, speed: float) -> np.ndarray:
    """Whether some devices can do the work of an ideal, and the others the rest, none beyond the limit; (K,) bool.

    amounts: (K,) work of each ideal, the last one's is all; unit: the least work that counts; speed: of CPUs.
    """
    useful = np.zeros(len(amounts), bool)
    for fast in range(accelerators + 1):
        for slow in range(cpus + 1):
            before, behind = fast + slow * speed, accelerators - fast + (cpus - slow) * speed
            useful |= (amounts <= limit * before + unit) & (amounts >= amounts[-1] - limit * behind - unit)
    return useful


@njit(cache=True)
def _programme(
    begin: int,
    end: int,
    earliest: np.ndarray,
    best: np.ndarray,
    before: np.ndarray,
    sets: np.ndarray,
    members: np.ndarray,
    transfers: np.ndarray,
    sums: np.ndarray,
    memory: float,
    latency: bool,
    limit: float,
    most_copies: int,
) -> None:
    """Fill in, for sets `begin` to `end`, the least seconds with at most c CPUs and a accelerators, and predecessors.

    best: (K, C + 1, A + 1); before: (.., 3), a predecessor is (set, CPUs, accelerators). sets: (K, words), each after
    its subsets, of which those before `earliest`, (K,), have too much less work; members: (r, words); sums: (4, K),
    rows _ON_ACCELERATOR, _ON_CPU, _BYTES and _UNSUPPORTED. latency: seconds add up, and parts on the CPU have a single
    unit and do not use up the CPU. most_copies: accelerators that a part may have.
    """
    words = sets.shape[1]
    cpus, accelerators = best.shape[1] - 1, best.shape[2] - 1
    part = np.empty(words, np.uint64)
    for k in range(begin, end):
        for sub in range(earliest[k], k):
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
            if on_accelerator > limit * most_copies or too_large or unsupported or accelerators == 0:
                on_accelerator = np.inf
            if on_accelerator < np.inf:
                for r in range(len(members)):
                    has_inside, has_outside = False, False
                    for w in range(words):
                        has_inside |= (members[r, w] & part[w]) != 0
                        has_outside |= (members[r, w] & ~part[w]) != 0
                    if has_inside and has_outside:
                        on_accelerator += transfers[r]
                        if on_accelerator > limit * most_copies:
                            break
            if min(on_accelerator / most_copies, on_cpu) > limit:
                continue
            for c in range(cpus + 1):
                for a in range(accelerators + 1):
                    for copies in range(1, min(a, most_copies) + 1):
                        earlier = best[sub, c, a - copies]
                        seconds = earlier + on_accelerator if latency else max(earlier, on_accelerator / copies)
                        if seconds < best[k, c, a]:
                            best[k, c, a] = seconds
                            before[k, c, a] = sub, c, a - copies
                    if c > 0:
                        earlier_cpus = c if latency else c - 1
                        earlier = best[sub, earlier_cpus, a]
                        seconds = earlier + on_cpu if latency else max(earlier, on_cpu)
                        if seconds < best[k, c, a]:
                            best[k, c, a] = seconds
                            before[k, c, a] = sub, earlier_cpus, a
