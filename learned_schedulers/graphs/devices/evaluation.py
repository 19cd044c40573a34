"""Makespan and memory of many schedules at a time, for methods that search under a memory limit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import njit

from learned_schedulers.graphs.devices.simulator import released, run
from learned_schedulers.graphs.problems.problem import GraphArrays, Problem, link
from learned_schedulers.kernel_arrays import read_only


@dataclass(frozen=True)
class Evaluated:
    """S schedules of a problem and their costs."""

    orders: np.ndarray  # (S, n) int32
    placements: np.ndarray  # (S, n) int32
    seconds: np.ndarray  # (S,) makespan, even if the schedule does not fit the memory
    ends: np.ndarray  # (S, n) seconds at which operations end
    peaks: np.ndarray  # (S, m) most bytes that each device holds at a time
    memory: float | np.ndarray  # bytes of each device, a number or (m,)

    def __getitem__(self, chosen: slice | list[int] | np.ndarray) -> Evaluated:
        """The chosen schedules."""
        seconds, ends, peaks = self.seconds[chosen], self.ends[chosen], self.peaks[chosen]
        return Evaluated(self.orders[chosen], self.placements[chosen], seconds, ends, peaks, self.memory)

    @property
    def fits(self) -> np.ndarray:
        """(S,) bool: no device ever holds more than its memory."""
        return np.all(self.peaks <= self.memory, axis=1)

    @property
    def costs(self) -> np.ndarray:
        """(S,) seconds; infinite if the schedule does not fit the memory."""
        return np.where(self.fits, self.seconds, np.inf)

    @property
    def excess(self) -> np.ndarray:
        """(S,) sum over the devices of what they hold above their memory, as a share of it; 0 if the schedule fits."""
        return np.maximum(self.peaks / self.memory - 1, 0.0).sum(1)


def evaluated(problem: Problem, orders: np.ndarray, placements: np.ndarray) -> Evaluated:
    """Simulate S schedules; orders, placements: (S, n). Equal to `simulator.makespans` and `simulator.peaks`.

    Raises ValueError that names the first invalid schedule.
    """
    orders, placements = (np.ascontiguousarray(values, np.int32) for values in (orders, placements))
    graph = problem.arrays
    ends = np.full(placements.shape, np.nan)
    fault = run(graph, graph.seconds, problem.devices, *read_only((orders, placements)), ends)
    if fault >= 0:
        raise ValueError(f"schedule {fault // len(problem)} is not valid: the fault is in slot {fault % len(problem)}")
    readers = problem.parts.readers
    parts = _Parts(problem.parts.owners, problem.parts.sizes, readers.offsets, readers.targets, problem.parts.lasting)
    needs = read_only((parts, problem.weights, (problem.shared.weights, problem.shared.sizes)))
    peaks = np.zeros((len(placements), problem.devices))
    _peaks(graph, *needs, placements, ends, peaks)
    return Evaluated(orders, placements, ends.max(1, initial=0.0), ends, peaks, problem.memory)


class _Parts(NamedTuple):
    """The arrays of `problem.Parts` for compiled code."""

    owners: np.ndarray
    sizes: np.ndarray
    offsets: np.ndarray
    readers: np.ndarray
    lasting: np.ndarray


@njit(cache=True, nogil=True)
def _peaks(
    graph: GraphArrays,
    parts: _Parts,
    weights: np.ndarray,
    shared: tuple[np.ndarray, np.ndarray],
    placements: np.ndarray,
    ends: np.ndarray,
    peaks: np.ndarray,
) -> None:
    """Fill peaks, (S, m). Results occupy memory by the rules of `simulator.residencies`.

    shared: (K,) numbers and (K,) bytes of the weights, as in SharedWeights.
    """
    owners, sizes, offsets, readers, lasting = parts
    seconds, delays = graph.seconds, graph.delays
    n_devices, n = peaks.shape[1], seconds.shape[1]
    numbers, weight_sizes = shared
    # Parts of results and their copies on other devices, and copies of weights.
    most = len(owners) + min(len(readers), len(owners) * (n_devices - 1)) + len(numbers)
    sent = np.zeros((numbers.max() + 1 if len(numbers) else 0, n_devices))  # end of the last reader of a weight's copy
    times, changes, devices = np.empty(2 * most), np.empty(2 * most), np.empty(2 * most, np.int32)
    begins = np.empty(most)
    last = np.empty(n_devices)  # end of a result's last reader on each device
    for s in range(len(placements)):
        placement, end = placements[s], ends[s]
        count = 0
        makespan = 0.0 if n == 0 else end.max()
        sent[:] = -1.0
        for i in range(n):
            for read in range(graph.read_offsets[i], graph.read_offsets[i + 1]):
                if placement[i] != placement[graph.read_firsts[read]]:
                    sent[numbers[read], placement[i]] = max(sent[numbers[read], placement[i]], end[i])
        for read in range(len(numbers)):
            for device in range(n_devices):
                if sent[numbers[read], device] >= 0.0:
                    begins[count], times[count] = 0.0, sent[numbers[read], device]
                    changes[count], devices[count] = -weight_sizes[read], device
                    sent[numbers[read], device] = -1.0
                    count += 1
        for part in range(len(owners)):
            i = owners[part]
            last[:] = -1.0
            for edge in range(offsets[part], offsets[part + 1]):
                device = placement[readers[edge]]
                last[device] = max(last[device], end[readers[edge]])
            release = max(end[i], last[placement[i]])  # of the result on the device that computes it
            for device in range(n_devices):
                if device != placement[i] and last[device] >= 0.0:
                    release = max(release, end[i] + delays[link(graph, placement[i], device), i])
                    begins[count], times[count] = end[i], last[device]
                    changes[count], devices[count] = -sizes[part], device
                    count += 1
            if lasting[part]:
                release = makespan
            begins[count], times[count] = end[i] - seconds[graph.kinds[placement[i]], i], release
            changes[count], devices[count] = -sizes[part], placement[i]
            count += 1
        # Memory freed at a time is available at that time: ends come before begins, and the sort is stable.
        times[:count] = released(begins[:count], times[:count])
        times[count : 2 * count] = begins[:count]
        changes[count : 2 * count] = -changes[:count]
        devices[count : 2 * count] = devices[:count]
        in_use = np.zeros(n_devices)
        for i in range(n):
            in_use[placement[i]] += weights[i]
        peaks[s] = in_use
        device_weights = in_use.copy()
        in_use[:] = 0.0
        for event in np.argsort(times[: 2 * count], kind="mergesort"):
            device = devices[event]
            in_use[device] += changes[event]
            peaks[s, device] = max(peaks[s, device], device_weights[device] + in_use[device])
