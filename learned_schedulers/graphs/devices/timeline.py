"""All times of a schedule: of operations on devices, of results on their way between devices and in memory."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from learned_schedulers.graphs.devices.simulator import residencies, starts
from learned_schedulers.graphs.problems.problem import Problem


@dataclass(frozen=True)
class Timeline:
    """n operations and K transfers, in seconds from the start of the schedule."""

    devices: int
    placement: np.ndarray  # (n,) device of each operation
    begins: np.ndarray  # (n,)
    ends: np.ndarray  # (n,)
    results: np.ndarray  # (K,) operation whose result is sent
    receivers: np.ndarray  # (K,) device that receives it, once for all readers on this device
    arrivals: np.ndarray  # (K,); a result departs when its operation ends
    names: tuple[str, ...]  # m, of the devices: their numbers where they have no others

    @property
    def senders(self) -> np.ndarray:
        """(K,) device that sends each result."""
        return self.placement[self.results]

    @property
    def departures(self) -> np.ndarray:
        """(K,) seconds at which each result departs."""
        return self.ends[self.results]

    @property
    def makespan(self) -> float:
        return float(self.ends.max(initial=0.0))


def timeline(problem: Problem, order: np.ndarray, placement: np.ndarray) -> Timeline:
    """The times of one schedule; order and placement: (n,). Transfers are sorted by operation, then by receiver.

    Raises ValueError as `simulator.makespans`.
    """
    begins = starts(problem, order, placement)
    ends = begins + problem.seconds_on(placement)
    sources, targets = problem.children.sources, problem.children.targets
    away = placement[sources] != placement[targets]
    pairs = np.unique(sources[away].astype(np.int64) * problem.devices + placement[targets[away]])
    results, receivers = pairs // problem.devices, pairs % problem.devices
    slope, delay = problem.transfers.between(placement[results], receivers)
    arrivals = ends[results] + slope * problem.sizes[results] + delay
    names = problem.device_names or tuple(map(str, range(problem.devices)))
    return Timeline(problem.devices, placement, begins, ends, results, receivers, arrivals, names)


def usage(problem: Problem, order: np.ndarray, placement: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Memory use: for each device the seconds at which it changes, ascending, and the bytes from then on.

    The first time is second 0, when the weights of the device's operations are in its memory. Times are as simulated:
    where rounding puts an end behind the begin that waits for it, both count between the two (`peaks` does not).
    """
    results = residencies(problem, order, placement)
    weights = np.bincount(placement, problem.weights, problem.devices)
    curves = []
    for device in range(problem.devices):
        inside = results.devices == device
        times = np.r_[0.0, results.begins[inside], results.ends[inside]]
        changes = np.r_[weights[device], results.sizes[inside], -results.sizes[inside]]
        seconds, step = np.unique(times, return_inverse=True)
        curves.append((seconds, np.cumsum(np.bincount(step, changes, len(seconds)))))
    return curves
