"""A graph to be scheduled: how long its operations take, what they need of each other, on how many devices."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numba import njit


@dataclass(frozen=True)
class Edges:
    """Edges in compressed sparse rows, sorted: of i to targets[offsets[i]:offsets[i + 1]]."""

    offsets: np.ndarray  # (n + 1,) int32
    targets: np.ndarray  # (E,) int32

    @property
    def sources(self) -> np.ndarray:
        """(E,) int32: the operation that each edge comes from."""
        return np.repeat(np.arange(len(self.offsets) - 1, dtype=np.int32), np.diff(self.offsets))

    def reversed(self) -> Edges:
        """The same edges from their targets to their sources."""
        n = len(self.offsets) - 1
        by_target = np.argsort(self.targets, kind="stable")
        counts = np.bincount(self.targets, minlength=n)
        return Edges(np.r_[0, np.cumsum(counts)].astype(np.int32), self.sources[by_target])


@dataclass(frozen=True)
class Transfers:
    """Time for a result to reach another device: slope x bytes + delay; none between operations of one device.

    The two extremes of Zhang et al. 2023 (section 4.3): bandwidth-bound (delay 0) and latency-bound (slope 0).
    Links do not queue: results travel at the same time, and beside computation.
    """

    slope: float = 0.0  # seconds per byte
    delay: float = 0.0  # seconds


@dataclass(frozen=True)
class Problem:
    """n operations on m identical devices, each of which runs one operation at a time, to its end.

    Raises ValueError naming the first operation that a schedule could not respect: an edge that does not go to a higher
    number, a time or a size that is negative or no number.
    """

    seconds: np.ndarray  # (n,) float64: run time of each operation, on any device
    sizes: np.ndarray  # (n,) float64: bytes of its result, which every child needs whole
    children: Edges
    devices: int
    transfers: Transfers = Transfers()
    kept: np.ndarray | None = None  # (n,) float64: bytes of weights where it is placed, all the time; None: nothing
    memory: float = np.inf  # bytes of each device

    def __post_init__(self) -> None:
        n = len(self.seconds)
        if self.devices < 1:
            raise ValueError(f"{self.devices} devices; there must be one at least")
        for name, values in (("seconds", self.seconds), ("bytes", self.sizes), ("bytes kept", self.weights)):
            if len(wrong := np.flatnonzero(~(np.isfinite(values) & (values >= 0)))):
                raise ValueError(f"operation {wrong[0]} has {values[wrong[0]]} {name}; it must be 0 or more")
        targets, sources = self.children.targets, self.children.sources
        if len(self.children.offsets) != n + 1 or len(sources) != len(targets):
            raise ValueError(f"{n} operations, edges of {len(self.children.offsets) - 1}")
        if len(wrong := np.flatnonzero((targets <= sources) | (targets >= n))):
            edge = wrong[0]
            raise ValueError(
                f"edge {sources[edge]} -> {targets[edge]} does not go to a higher number below {n}: "
                "the graph is cyclic, or its operations are not in a topological order"
            )

    def __len__(self) -> int:
        return len(self.seconds)

    @property
    def weights(self) -> np.ndarray:
        """(n,) bytes of weights of each operation."""
        return np.zeros(len(self.seconds)) if self.kept is None else self.kept

    @cached_property
    def parents(self) -> Edges:
        return self.children.reversed()

    @cached_property
    def tails(self) -> np.ndarray:
        """(n,) seconds from an operation's start to the end of the longest path behind it, itself included."""
        return _tails(self.children.offsets, self.children.targets, self.seconds)

    @cached_property
    def heads(self) -> np.ndarray:
        """(n,) seconds of the longest path to an operation's start: no schedule starts it earlier."""
        return _heads(self.parents.offsets, self.parents.targets, self.seconds)

    @property
    def critical_path(self) -> float:
        """Seconds of the longest path: no schedule is shorter, whatever the devices."""
        return float(self.tails.max(initial=0.0))

    @property
    def bound(self) -> float:
        """No schedule's makespan is less: the longest path, and all work spread over all devices."""
        return max(self.critical_path, float(self.seconds.sum()) / self.devices)


@njit(cache=True)
def _tails(offsets: np.ndarray, targets: np.ndarray, seconds: np.ndarray) -> np.ndarray:
    tails = seconds.copy()
    for i in range(len(seconds) - 1, -1, -1):
        longest = 0.0
        for edge in range(offsets[i], offsets[i + 1]):
            longest = max(longest, tails[targets[edge]])
        tails[i] += longest
    return tails


@njit(cache=True)
def _heads(offsets: np.ndarray, parents: np.ndarray, seconds: np.ndarray) -> np.ndarray:
    heads = np.zeros(len(seconds))
    for i in range(len(seconds)):
        for edge in range(offsets[i], offsets[i + 1]):
            heads[i] = max(heads[i], heads[parents[edge]] + seconds[parents[edge]])
    return heads
