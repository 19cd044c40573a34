"""Keys of activities -> schedules, by the two schedule generation schemes of project scheduling.

The parallel scheme goes through time: at each end of an activity it starts those that are ready and for which there is
enough of every resource, in the order of their keys. In a job-shop this is dispatching: the schedule is non-delay, no
machine idles while a job waits for it. The serial scheme goes through the activities: of those whose predecessors are
placed it takes the one with the smallest key, and places it as early as its resources allow, also into gaps. In a
job-shop the schedule is active. (Kolisch 1996: Serial and parallel resource-constrained project scheduling methods
revisited.)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from learned_schedulers.kernel_arrays import read_only
from learned_schedulers.projects.method_settings import Scheme
from learned_schedulers.projects.methods.rules.priorities import Keys
from learned_schedulers.projects.problem import Project


class _Arrays(NamedTuple):
    """A project for compiled code; activity i needs amounts[k] of resources[k], needs[i] <= k < needs[i + 1]."""

    durations: np.ndarray  # (n,) int64
    offsets: np.ndarray  # (n + 1,) int32
    targets: np.ndarray  # (E,) int32
    needs: np.ndarray  # (n + 1,) int64
    resources: np.ndarray  # (K,) int64
    amounts: np.ndarray  # (K,) int64
    capacities: np.ndarray  # (R,) int64


def generated(project: Project, keys: Keys, scheme: Scheme) -> np.ndarray:
    """(S, n) int64: the starts of all activities in the S schedules of these keys."""
    users, resources = np.nonzero(project.demands)
    arrays = read_only(
        _Arrays(
            project.durations,
            project.offsets,
            project.targets,
            np.searchsorted(users, np.arange(len(project) + 1)),
            resources,
            project.demands[users, resources],
            project.capacities,
        )
    )
    most_users = int(np.bincount(resources, minlength=1).max(initial=0))
    starts = np.empty((len(keys.keys), len(project)), np.int64)
    for row, of_schedule in zip(starts, keys.keys, strict=True):
        if scheme == "parallel":
            _parallel(arrays, of_schedule, keys.by_readiness, row)
        else:
            _serial(arrays, of_schedule, keys.by_readiness, most_users, row)
    return starts


@njit(cache=True)
def _insert(keys: np.ndarray, items: np.ndarray, count: int, key: float, item: int) -> int:
    """Put an item among the first `count`, which are sorted so that the smallest key, then item, is the last."""
    low, high = 0, count
    while low < high:
        middle = (low + high) // 2
        if keys[middle] > key or (keys[middle] == key and items[middle] > item):
            low = middle + 1
        else:
            high = middle
    for place in range(count, low, -1):
        keys[place], items[place] = keys[place - 1], items[place - 1]
    keys[low], items[low] = key, item
    return count + 1


@njit(cache=True)
def _waits(arrays: _Arrays) -> np.ndarray:
    """(n,) the number of precedences that end at each activity."""
    waits = np.zeros(len(arrays.durations), np.int64)
    for target in arrays.targets:
        waits[target] += 1
    return waits


@njit(cache=True)
def _parallel(arrays: _Arrays, keys: np.ndarray, by_readiness: bool, starts: np.ndarray) -> None:
    n = len(keys)
    waits, free = _waits(arrays), arrays.capacities.copy()
    ready_keys, ready = np.empty(n), np.empty(n, np.int64)
    ends, running = np.empty(n), np.empty(n, np.int64)
    n_ready = n_running = 0
    for i in range(n):
        if waits[i] == 0:
            n_ready = _insert(ready_keys, ready, n_ready, keys[i], i)
    time = 0
    while n_ready + n_running > 0:
        left = n_ready
        for place in range(n_ready - 1, -1, -1):  # the smallest key is the last
            i = ready[place]
            fits = True
            for k in range(arrays.needs[i], arrays.needs[i + 1]):
                fits = fits and (arrays.amounts[k] <= free[arrays.resources[k]] or arrays.durations[i] == 0)
            if fits:
                starts[i] = time
                ready[place] = -1
                left -= 1
                n_running = _insert(ends, running, n_running, time + arrays.durations[i], i)
                if arrays.durations[i] > 0:
                    for k in range(arrays.needs[i], arrays.needs[i + 1]):
                        free[arrays.resources[k]] -= arrays.amounts[k]
        kept_until = 0
        for place in range(n_ready):
            if ready[place] >= 0:
                ready_keys[kept_until], ready[kept_until] = ready_keys[place], ready[place]
                kept_until += 1
        n_ready = left
        time = int(ends[n_running - 1])
        while n_running > 0 and ends[n_running - 1] == time:
            n_running -= 1
            i = running[n_running]
            if arrays.durations[i] > 0:
                for k in range(arrays.needs[i], arrays.needs[i + 1]):
                    free[arrays.resources[k]] += arrays.amounts[k]
            for edge in range(arrays.offsets[i], arrays.offsets[i + 1]):
                child = arrays.targets[edge]
                waits[child] -= 1
                if waits[child] == 0:
                    key = keys[child] * (time + 1) if by_readiness else keys[child]
                    n_ready = _insert(ready_keys, ready, n_ready, key, child)


@njit(cache=True)
def _serial(arrays: _Arrays, keys: np.ndarray, by_readiness: bool, most_users: int, starts: np.ndarray) -> None:
    n = len(keys)
    waits, earliest = _waits(arrays), np.zeros(n, np.int64)
    ready_keys, ready = np.empty(n), np.empty(n, np.int64)
    n_ready = 0
    for i in range(n):
        if waits[i] == 0:
            n_ready = _insert(ready_keys, ready, n_ready, keys[i], i)
    # Of each resource: `used` of it from `times` on, up to the next of the times.
    times = np.zeros((len(arrays.capacities), 2 * most_users + 2), np.int64)
    used = np.zeros_like(times)
    counts = np.ones(len(arrays.capacities), np.int64)
    while n_ready > 0:
        n_ready -= 1
        i = ready[n_ready]
        duration, start = arrays.durations[i], earliest[i]
        moved = duration > 0
        while moved:  # until the start suits all resources
            moved = False
            for k in range(arrays.needs[i], arrays.needs[i + 1]):
                r = arrays.resources[k]
                room = arrays.capacities[r] - arrays.amounts[k]
                later = _first_start(times[r], used[r], counts[r], start, duration, room)
                moved = moved or later > start
                start = later
        starts[i] = start
        if duration > 0:
            for k in range(arrays.needs[i], arrays.needs[i + 1]):
                r = arrays.resources[k]
                counts[r] = _use(times[r], used[r], counts[r], start, start + duration, arrays.amounts[k])
        for edge in range(arrays.offsets[i], arrays.offsets[i + 1]):
            child = arrays.targets[edge]
            earliest[child] = max(earliest[child], start + duration)
            waits[child] -= 1
            if waits[child] == 0:
                key = keys[child] * (earliest[child] + 1) if by_readiness else keys[child]
                n_ready = _insert(ready_keys, ready, n_ready, key, child)


@njit(cache=True)
def _segment(times: np.ndarray, count: int, time: int) -> int:
    """The last of the first `count` times that is not after `time`."""
    return int(np.searchsorted(times[:count], time, side="right")) - 1


@njit(cache=True)
def _first_start(times: np.ndarray, used: np.ndarray, count: int, start: int, duration: int, room: int) -> int:
    """The first start, not before `start`, from which on for this duration at most `room` is used."""
    k = _segment(times, count, start)
    while k < count and times[k] < start + duration:
        if used[k] > room:
            start = times[k + 1]  # the last segment is unused
        k += 1
    return start


@njit(cache=True)
def _use(times: np.ndarray, used: np.ndarray, count: int, start: int, end: int, amount: int) -> int:
    """Use an amount from start to end; the new number of times."""
    for time in (start, end):
        k = _segment(times, count, time)
        if times[k] < time:
            for place in range(count, k + 1, -1):
                times[place], used[place] = times[place - 1], used[place - 1]
            times[k + 1], used[k + 1] = time, used[k]
            count += 1
    for k in range(_segment(times, count, start), _segment(times, count, end)):
        used[k] += amount
    return count
