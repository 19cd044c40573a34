"""The use of the devices' memory by a schedule that grows, operation by operation: who finds room, and from when on.

A result occupies its device, and every device that it is sent to, until its last reader is known and has ended; so the
room that is found is exact as far as the schedule is known, and never too large. Weights occupy their device from the
start on. Memory that is freed at a time is available at this time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from learned_schedulers.graphs.problems.problem import GraphArrays, Problem, link
from learned_schedulers.kernel_arrays import read_only


class Needs(NamedTuple):
    """What operations need of a device: R parts of results with their readers, and K reads of shared weights."""

    memory: np.ndarray  # (m,) bytes of each device
    weights: np.ndarray  # (n,) bytes
    parts: np.ndarray  # (n + 1,) int64: the result of operation i has the parts parts[i]:parts[i + 1]
    sizes: np.ndarray  # (R,) bytes
    lasting: np.ndarray  # (R,) bool
    readers: np.ndarray  # (R,) int64 number of readers
    owners: np.ndarray  # (R,) int64
    offsets: np.ndarray  # (n + 1,) int64: operation i reads the parts read[offsets[i]:offsets[i + 1]]
    read: np.ndarray  # int64
    shared: np.ndarray  # (K,) int64 weight of each read; the reads of an operation stand in `GraphArrays.read_offsets`
    shared_sizes: np.ndarray  # (K,) bytes

    @staticmethod
    def of(problem: Problem) -> Needs:
        """The needs of a problem's operations."""
        numbers, parts, shared = np.arange(len(problem) + 1), problem.parts, problem.shared
        by_reader = np.argsort(parts.readers.targets, kind="stable")
        return read_only(
            Needs(
                problem.memories,
                np.asarray(problem.weights, float),
                np.searchsorted(parts.owners, numbers).astype(np.int64),
                np.asarray(parts.sizes, float),
                parts.lasting,
                np.diff(parts.readers.offsets).astype(np.int64),
                np.asarray(parts.owners, np.int64),
                np.searchsorted(parts.readers.targets[by_reader], numbers).astype(np.int64),
                parts.readers.sources[by_reader].astype(np.int64),
                shared.weights,
                shared.sizes,
            )
        )


class Use(NamedTuple):
    """What m devices hold: of each a list of changes by time, and the bytes after each."""

    times: np.ndarray  # (m, 2 R) seconds
    used: np.ndarray  # (m, 2 R) bytes without weights
    counts: np.ndarray  # (m,) int64 number of changes
    most: np.ndarray  # (m,) at least the most bytes so far
    weights: np.ndarray  # (m,) bytes
    present: np.ndarray  # (R, m) bool: parts of results
    until: np.ndarray  # (R, m) seconds: the end of the last known reader on a device, or of the last transfer from it
    left: np.ndarray  # (R,) int64 number of readers that are not known
    sent: np.ndarray  # (weights, m) bool: shared weights that are not on the device of their first reader
    remaining: np.ndarray  # (1,) bytes of the weights of all other operations


@njit(cache=True, nogil=True)
def empty(needs: Needs, n_devices: int) -> Use:
    """No operation is placed."""
    n_parts = len(needs.sizes) if needs.memory.min() < np.inf else 0
    return Use(
        np.empty((n_devices, 2 * n_parts)),
        np.empty((n_devices, 2 * n_parts)),
        np.zeros(n_devices, np.int64),
        np.zeros(n_devices),
        np.zeros(n_devices),
        np.zeros((n_parts, n_devices), np.bool_),
        np.zeros((n_parts, n_devices)),
        needs.readers.copy(),
        np.zeros((1 + (needs.shared.max() if len(needs.shared) else 0), n_devices), np.bool_),
        np.array([needs.weights.sum()]),
    )


@njit(cache=True, nogil=True)
def room(
    needs: Needs, use: Use, ends: np.ndarray, i: int, device: int, new_weights: float, ready: float
) -> tuple[float, float]:
    """When operation i may start on a device, from `ready` on, and by how many bytes it then exceeds the memory.

    ends: (n,) of the operations that are placed; new_weights: bytes of i's weights that are not on the device. Where
    the weights of the operations to come would not find room on any devices, that excess counts, too.
    """
    produced, copies, first = 0.0, 0.0, np.inf
    for part in range(needs.parts[i], needs.parts[i + 1]):
        produced += needs.sizes[part]
    for k in range(needs.offsets[i], needs.offsets[i + 1]):
        part = needs.read[k]
        if not use.present[part, device]:
            copies += needs.sizes[part]
            first = min(first, ends[needs.owners[part]])
    free, start, excess = needs.memory[device] - use.weights[device] - new_weights, ready, 0.0
    count = use.counts[device]
    if use.most[device] + copies + produced > free:
        if new_weights > 0:  # they are there from the start
            use.most[device] = use.used[device, :count].max() if count else 0.0
            excess = use.most[device] - free
        start, later = _wait(use.times[device], use.used[device], count, ready, first, copies, produced, free)
        excess = max(excess, later)
    lacking = use.remaining[0] - needs.weights[i] + new_weights
    for other in range(len(use.counts)):
        most = use.most[other]
        if other == device:
            most = max(most, (use.used[other, count - 1] if count else 0.0) + copies + produced)
        lacking -= needs.memory[other] - use.weights[other] - most
    return start, max(excess, lacking, 0.0)


@njit(cache=True, nogil=True)
def _wait(
    times: np.ndarray,
    used: np.ndarray,
    count: int,
    ready: float,
    first: float,
    copies: float,
    produced: float,
    free: float,
) -> tuple[float, float]:
    """When an operation may start, from `ready` on, and the bytes that it then exceeds the free ones by.

    first: when the first copy of what it reads arrives (a transfer does not wait); copies, produced: bytes of the
    copies, and of its results.
    """
    if not count:
        return ready, max(copies + produced - free, 0.0)
    begin, until, excess, start = min(first, ready), np.inf, 0.0, -1.0
    for k in range(count - 1, -1, -1):
        if until <= begin:
            break
        if until > times[k]:
            if until > first:
                excess = max(excess, used[k] + copies - free)
            if start < 0 and until > ready and used[k] + copies + produced > free:
                start = until
                if until == np.inf:
                    start, excess = ready, max(excess, used[k] + copies + produced - free)
        until = times[k]
    return max(start, ready), excess


@njit(cache=True, nogil=True)
def occupy(
    needs: Needs,
    use: Use,
    graph: GraphArrays,
    i: int,
    device: int,
    new_weights: float,
    placement: np.ndarray,
    starts: np.ndarray,
    ends: np.ndarray,
) -> None:
    """Add what operation i holds; its place and times are in placement, starts and ends, (n,)."""
    use.weights[device] += new_weights
    use.remaining[0] -= needs.weights[i]
    for part in range(needs.parts[i], needs.parts[i + 1]):
        use.present[part, device], use.until[part, device] = True, ends[i]
        _change(use, device, starts[i], needs.sizes[part])
        if use.left[part] == 0 and not needs.lasting[part]:
            _change(use, device, ends[i], -needs.sizes[part])
    for k in range(needs.offsets[i], needs.offsets[i + 1]):
        part = needs.read[k]
        owner = needs.owners[part]
        home = placement[owner]
        if not use.present[part, device]:
            use.present[part, device] = True
            _change(use, device, ends[owner], needs.sizes[part])
            arrival = ends[owner] + graph.delays[link(graph, home, device), owner]
            use.until[part, home] = max(use.until[part, home], arrival)
        use.until[part, device] = max(use.until[part, device], ends[i])
        use.left[part] -= 1
        if use.left[part] == 0:
            for other in range(len(use.counts)):
                if use.present[part, other] and not (needs.lasting[part] and other == home):
                    _change(use, other, use.until[part, other], -needs.sizes[part])


@njit(cache=True, nogil=True)
def _change(use: Use, device: int, time: float, size: float) -> None:
    """Add `size` bytes from `time` on. Most changes are among the last ones, so the place is looked for from there."""
    times, used, k = use.times[device], use.used[device], use.counts[device]
    most = use.most[device]
    while k > 0 and (times[k - 1] > time or (size < 0 and times[k - 1] == time)):
        times[k], used[k] = times[k - 1], used[k - 1] + size
        most = max(most, used[k])
        k -= 1
    times[k], used[k] = time, (used[k - 1] if k > 0 else 0.0) + size
    use.most[device] = max(most, used[k])
    use.counts[device] += 1
