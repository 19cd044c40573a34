"""Makespan and memory of schedules, simulated operation by operation in their order.

A schedule is a topological order of all operations and a device for each of them. A device runs its operations in this
order, each as soon as the device is free and all results that it needs have arrived. So any orders of the operations on
the devices form a schedule if they do not wait for each other in a cycle. The makespan is the longest path over the
graph's edges and the edges between neighbours on a device (Zhang et al. 2023, equation 1, transfers of section 4.3).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from learned_schedulers.graphs.problems.problem import GraphArrays, Problem, link
from learned_schedulers.kernel_arrays import read_only

_SAME_TIME = 1 - 1e-12  # ratio of times that differ by rounding alone


def makespans(problem: Problem, orders: np.ndarray, placements: np.ndarray) -> np.ndarray:
    """Seconds of S schedules, (S,).

    orders: (S, n), orders[s, t] = operation in slot t of schedule s; placements: (S, n), device of each operation.
    Raises ValueError that names schedule, slot and operation if a schedule is not valid.
    """
    return _simulated(problem, orders, placements).max(1, initial=0.0)


def starts(problem: Problem, order: np.ndarray, placement: np.ndarray) -> np.ndarray:
    """Start of each operation in one schedule, (n,) seconds. Raises ValueError as `makespans`."""
    return _simulated(problem, order[None], placement[None])[0] - problem.seconds_on(placement)


def _simulated(problem: Problem, orders: np.ndarray, placements: np.ndarray) -> np.ndarray:
    """End of each operation, (S, n) seconds."""
    shape = (len(orders), len(problem))
    if orders.shape != shape or placements.shape != shape:
        raise ValueError(
            f"orders {orders.shape} and placements {placements.shape} of {shape[1]} operations; both must be {shape}"
        )
    ends = np.full(shape, np.nan)
    graph = problem.arrays
    schedules = read_only((np.asarray(orders, np.int32), np.asarray(placements, np.int32)))
    fault = run(graph, graph.seconds, problem.devices, *schedules, ends)
    if fault >= 0:
        raise ValueError(_reason(problem, *divmod(fault, shape[1]), orders, placements))
    return ends


@njit(cache=True, nogil=True)
def run(
    graph: GraphArrays,
    seconds: np.ndarray,
    n_devices: int,
    orders: np.ndarray,
    placements: np.ndarray,
    ends: np.ndarray,
) -> int:
    """Fill `ends`, (S, n), all NaN at first. Return schedule * n + slot of the first fault, or -1 without a fault.

    seconds: (k, n) run times, which stand for those of `graph`.
    """
    offsets, parents, delays, kinds = graph.parent_offsets, graph.parents, graph.delays, graph.kinds
    n = seconds.shape[1]
    free = np.empty(n_devices)
    for s in range(len(orders)):
        free[:] = 0.0
        end, placement = ends[s], placements[s]
        for t in range(n):
            i = orders[s, t]
            if i < 0 or i >= n or not np.isnan(end[i]):
                return s * n + t
            device = placement[i]
            if device < 0 or device >= n_devices:
                return s * n + t
            start = free[device]
            for edge in range(offsets[i], offsets[i + 1]):
                parent = parents[edge]
                arrival = end[parent]
                if np.isnan(arrival):
                    return s * n + t
                if placement[parent] != device:
                    arrival += delays[link(graph, placement[parent], device), parent]
                start = max(start, arrival)
            for read in range(graph.read_offsets[i], graph.read_offsets[i + 1]):
                home = placement[graph.read_firsts[read]]
                if home != device:
                    start = max(start, graph.read_delays[link(graph, home, device), read])
            end[i] = free[device] = start + seconds[kinds[device], i]
    return -1


def _reason(problem: Problem, schedule: int, slot: int, orders: np.ndarray, placements: np.ndarray) -> str:
    i = int(orders[schedule, slot])
    place = f"schedule {schedule}, slot {slot}"
    if not 0 <= i < len(problem):
        return f"{place}: there is no operation {i}; there are {len(problem)} operations"
    if i in orders[schedule, :slot]:
        return f"{place}: operation {i} appears for the second time"
    device = int(placements[schedule, i])
    if not 0 <= device < problem.devices:
        return f"{place}: operation {i} is on device {device}; there are {problem.devices} devices"
    before = problem.parents.targets[problem.parents.offsets[i] : problem.parents.offsets[i + 1]]
    missing = min(set(before.tolist()) - set(orders[schedule, :slot].tolist()))
    return f"{place}: operation {i} comes before operation {missing}, whose result it needs"


def peaks(problem: Problem, order: np.ndarray, placement: np.ndarray) -> np.ndarray:
    """The most bytes that each device holds at a time, (m,): its weights and the results of `residencies`."""
    most = _most(residencies(problem, order, placement), problem.devices)
    return most + np.bincount(placement, problem.weights, problem.devices)


def sent_weights(problem: Problem, placement: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """W weights on devices that are not those of their first readers: (W,) devices, (W,) bytes. placement: (n,)."""
    shared = problem.shared
    away = placement[shared.readers] != placement[shared.firsts]
    copies = shared.weights[away] * problem.devices + placement[shared.readers[away]]
    copies, first = np.unique(copies, return_index=True)
    return copies % problem.devices, shared.sizes[away][first]


class Residencies(NamedTuple):
    """R stays of a result in the memory of a device."""

    begins: np.ndarray  # (R,) seconds
    ends: np.ndarray  # (R,) seconds
    sizes: np.ndarray  # (R,) bytes
    devices: np.ndarray  # (R,) int64


def residencies(problem: Problem, order: np.ndarray, placement: np.ndarray) -> Residencies:
    """When and where each result occupies memory in one schedule; order, placement: (n,).

    A part of a result occupies the device that computes it from the start of its operation until all its readers on
    this device have ended and it has arrived on all other devices that need it. It occupies another device from the
    time when it is sent (once for all readers there) until the last of these readers has ended. Those that are
    `lasting` stay to the end.
    A shared weight occupies the devices of its other readers from the start until the last reader there has ended.
    Other weights are not included: they occupy their device all the time.
    """
    begins = starts(problem, order, placement)
    ends = begins + problem.seconds_on(placement)
    parts, m = problem.parts, problem.devices
    owners, sources, targets = parts.owners, parts.readers.sources, parts.readers.targets
    last_needed = np.maximum(ends, 0.0)[owners]  # on the device that computes the part
    away = placement[owners[sources]] != placement[targets]
    np.maximum.at(last_needed, sources[~away], ends[targets[~away]])
    sent = owners[sources[away]]
    slope, delay = problem.transfers.between(placement[sent], placement[targets[away]])
    np.maximum.at(last_needed, sources[away], ends[sent] + slope * problem.sizes[sent] + delay)
    copies, readers = np.unique(sources[away].astype(np.int64) * m + placement[targets[away]], return_inverse=True)
    copy_ends = np.zeros(len(copies))
    np.maximum.at(copy_ends, readers, ends[targets[away]])
    copied = copies // m
    last_needed[parts.lasting] = ends.max(initial=0.0)
    shared = problem.shared
    read = placement[shared.readers] != placement[shared.firsts]
    weights, first, number = np.unique(
        shared.weights[read] * m + placement[shared.readers[read]], return_index=True, return_inverse=True
    )
    weight_ends = np.zeros(len(weights))
    np.maximum.at(weight_ends, number, ends[shared.readers[read]])
    return Residencies(
        begins=np.r_[begins[owners], ends[owners[copied]], np.zeros(len(weights))],
        ends=np.r_[last_needed, copy_ends, weight_ends],
        sizes=np.r_[parts.sizes, parts.sizes[copied], shared.sizes[read][first]],
        devices=np.r_[placement[owners], copies % m, weights % m].astype(np.int64),
    )


@njit(cache=True, nogil=True)
def released(begins: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """When R stays end, for the order of events: an end that only rounding puts behind a begin comes before it, (R,).

    Times are sums of the same run times in other sequences, equal up to rounding where they are equal in fact. A stay
    that takes time is there when it begins, however short it is.
    """
    releases = ends.copy()
    for k in range(len(ends)):
        if ends[k] > begins[k]:
            releases[k] = max(ends[k] * _SAME_TIME, np.nextafter(begins[k], np.inf))
    return releases


def _most(results: Residencies, m: int) -> np.ndarray:
    """The largest sum of sizes at a time on each device, (m,). Memory freed at a time is available at that time."""
    releases = released(results.begins, results.ends)
    times = np.r_[releases, results.begins]  # lexsort is stable: of equal times, ends come first
    changes = np.r_[-results.sizes, results.sizes]
    devices = np.r_[results.devices, results.devices]
    by_time = np.lexsort((times, devices))
    most = np.zeros(m)
    for device in range(m):
        events = by_time[devices[by_time] == device]
        most[device] = np.cumsum(changes[events]).max(initial=0.0)
    return most
