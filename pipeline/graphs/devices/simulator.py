"""How long schedules take, and how much memory they need: events in the sequence in which operations start.

A schedule is a topological order of all operations and a device for each. A device runs its operations in this order,
each as soon as the device is free and all results that it needs have arrived. So every pair of an order on each device
that does not wait in a circle is one such schedule, and the makespan is that of the longest path over the graph's edges
and those between neighbours on a device (Zhang et al. 2023, equation 1, with transfers of section 4.3).
"""

from __future__ import annotations

import numpy as np
from numba import njit

from pipeline.graphs.problems.problem import Problem


def makespans(problem: Problem, orders: np.ndarray, placements: np.ndarray) -> np.ndarray:
    """Seconds of S schedules, (S,).

    orders: (S, n), orders[s, t] = operation in slot t of schedule s; placements: (S, n), device of each operation.
    Raises ValueError naming schedule, slot and operation where one is no schedule.
    """
    return _simulated(problem, orders, placements).max(1, initial=0.0)


def starts(problem: Problem, order: np.ndarray, placement: np.ndarray) -> np.ndarray:
    """When each operation starts in one schedule, (n,) seconds. Raises ValueError as `makespans`."""
    return _simulated(problem, order[None], placement[None])[0] - problem.seconds


def _simulated(problem: Problem, orders: np.ndarray, placements: np.ndarray) -> np.ndarray:
    """When each operation ends, (S, n)."""
    shape = (len(orders), len(problem))
    if orders.shape != shape or placements.shape != shape:
        raise ValueError(f"orders {orders.shape} and placements {placements.shape} of {shape[1]} operations")
    parents, transfers = problem.parents, problem.transfers
    ends = np.full(shape, np.nan)
    wrong = run(
        parents.offsets,
        parents.targets,
        problem.seconds,
        transfers.slope * problem.sizes + transfers.delay,
        problem.devices,
        np.ascontiguousarray(orders, np.int32),
        np.ascontiguousarray(placements, np.int32),
        ends,
    )
    if wrong >= 0:
        raise ValueError(_reason(problem, *divmod(wrong, shape[1]), orders, placements))
    return ends


@njit(cache=True, nogil=True)
def run(
    offsets: np.ndarray,
    parents: np.ndarray,
    seconds: np.ndarray,
    delays: np.ndarray,
    n_devices: int,
    orders: np.ndarray,
    placements: np.ndarray,
    ends: np.ndarray,
) -> int:
    """Fill `ends`, all NaN before; schedule * n + slot of the first fault, -1 without one."""
    n = len(seconds)
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
                arrives = end[parent]
                if np.isnan(arrives):
                    return s * n + t
                if placement[parent] != device:
                    arrives += delays[parent]
                start = max(start, arrives)
            end[i] = free[device] = start + seconds[i]
    return -1


def _reason(problem: Problem, schedule: int, slot: int, orders: np.ndarray, placements: np.ndarray) -> str:
    i = int(orders[schedule, slot])
    where = f"schedule {schedule}, slot {slot}"
    if not 0 <= i < len(problem):
        return f"{where}: there is no operation {i}; there are {len(problem)}"
    if i in orders[schedule, :slot]:
        return f"{where}: operation {i} is there for the second time"
    device = int(placements[schedule, i])
    if not 0 <= device < problem.devices:
        return f"{where}: operation {i} is on device {device}; there are {problem.devices}"
    before = problem.parents.targets[problem.parents.offsets[i] : problem.parents.offsets[i + 1]]
    missing = min(set(before.tolist()) - set(orders[schedule, :slot].tolist()))
    return f"{where}: operation {i} comes before operation {missing}, whose result it needs"


def peaks(problem: Problem, order: np.ndarray, placement: np.ndarray) -> np.ndarray:
    """The most bytes that each device holds at a time, (m,): its weights, and the results of `held`."""
    most = _most(*held(problem, order, placement), problem.devices)
    return most + np.bincount(placement, problem.weights, problem.devices)


def held(
    problem: Problem, order: np.ndarray, placement: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Every result wherever it is held: from and until which second, its bytes, the device; (R,) each.

    A result is held where it was computed from the start of its operation until all its readers there have ended and
    it has arrived everywhere else; on another device from when it is sent, once for all readers there, until the last
    of them has ended. Weights, which are there all the time, are not among them.
    """
    begins = starts(problem, order, placement)
    ends = begins + problem.seconds
    sources, targets = problem.children.sources, problem.children.targets
    arrivals = ends + problem.transfers.slope * problem.sizes + problem.transfers.delay
    m = problem.devices
    own = np.maximum(ends, 0.0)
    away = placement[sources] != placement[targets]
    np.maximum.at(own, sources[~away], ends[targets[~away]])
    np.maximum.at(own, sources[away], arrivals[sources[away]])
    copies, readers = np.unique(sources[away].astype(np.int64) * m + placement[targets[away]], return_inverse=True)
    last = np.zeros(len(copies))
    np.maximum.at(last, readers, ends[targets[away]])
    copied = copies // m
    device = np.r_[placement, copies % m].astype(np.int64)
    size = np.r_[problem.sizes, problem.sizes[copied]]
    return np.r_[begins, ends[copied]], np.r_[own, last], size, device


def _most(begins: np.ndarray, ends: np.ndarray, sizes: np.ndarray, devices: np.ndarray, m: int) -> np.ndarray:
    """The largest sum of sizes held at a time on each device, (m,). What is freed at a time is free at that time."""
    times, changes = np.r_[ends, begins], np.r_[-sizes, sizes]  # lexsort is stable: what is freed comes first
    where = np.r_[devices, devices]
    by_time = np.lexsort((times, where))
    most = np.zeros(m)
    for device in range(m):
        chosen = by_time[where[by_time] == device]
        most[device] = np.cumsum(changes[chosen]).max(initial=0.0)
    return most
