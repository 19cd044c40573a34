"""A graph to be scheduled: run times of its operations, dependencies between them, and the number of devices."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numba import njit

from learned_schedulers.kernel_arrays import read_only


@dataclass(frozen=True)
class Edges:
    """Edges in compressed sparse rows, sorted: operation i has edges to targets[offsets[i]:offsets[i + 1]]."""

    offsets: np.ndarray  # (n + 1,) int32
    targets: np.ndarray  # (E,) int32

    @property
    def sources(self) -> np.ndarray:
        """(E,) int32: the operation that each edge starts at."""
        return np.repeat(np.arange(len(self.offsets) - 1, dtype=np.int32), np.diff(self.offsets))

    def reversed(self) -> Edges:
        """The same edges from their targets to their sources."""
        n = len(self.offsets) - 1
        by_target = np.argsort(self.targets, kind="stable")
        counts = np.bincount(self.targets, minlength=n)
        return Edges(np.r_[0, np.cumsum(counts)].astype(np.int32), self.sources[by_target])


@dataclass(frozen=True)
class Transfers:
    """Time for a result to reach another device: slope x bytes + delay; within one device it takes no time.

    The two extremes of Zhang et al. 2023 (section 4.3): bandwidth-bound (delay 0) and latency-bound (slope 0).
    Links do not queue: transfers overlap with each other and with computation.
    """

    slope: float = 0.0  # seconds per byte
    delay: float = 0.0  # seconds


@dataclass(frozen=True)
class SharedWeights:
    """K reads of weights, or of the network's inputs, that another operation has read before.

    A weight lies on the device of its first reader all the time. To each other device whose operations read it, it is
    sent once, from the start on. An input lies there likewise, but nothing sends it: it is ready on every device.
    """

    weights: np.ndarray  # (K,) int64 number of the weight
    readers: np.ndarray  # (K,) int64 operation, ascending
    firsts: np.ndarray  # (K,) int64 operation that reads the weight first
    sizes: np.ndarray  # (K,) float64 bytes of the weight
    sent: np.ndarray  # (K,) bool; False: of an input

    @classmethod
    def of(cls, readers: Iterable[tuple[Sequence[int], int]], sent: bool = True) -> SharedWeights:
        """Of each weight: the operations that read it, ascending and each once, and its bytes. sent: not of inputs."""
        rows = [
            (number, later, operations[0], size)
            for number, (operations, size) in enumerate(readers)
            for later in operations[1:]
        ]
        table = np.array(sorted(rows, key=lambda row: row[1]), np.int64).reshape(-1, 4)
        return cls(table[:, 0], table[:, 1], table[:, 2], table[:, 3].astype(float), np.full(len(table), sent))

    def and_those_of(self, other: SharedWeights) -> SharedWeights:
        """The reads of both."""
        weights = np.r_[self.weights, other.weights + self.weights.max(initial=-1) + 1]
        readers = np.r_[self.readers, other.readers]
        columns = (
            weights,
            readers,
            np.r_[self.firsts, other.firsts],
            np.r_[self.sizes, other.sizes],
            np.r_[self.sent, other.sent],
        )
        by_reader = np.argsort(readers, kind="stable")
        return SharedWeights(*(column[by_reader] for column in columns))


NO_SHARED = SharedWeights.of([])


class Inputs(NamedTuple):
    """The inputs of a network of n operations: its caller keeps them, and they are ready on every device."""

    kept_bytes: np.ndarray  # (n,) int64 bytes, at the first operation that reads each
    shared: SharedWeights  # their other readers

    @classmethod
    def of(cls, readers: Sequence[tuple[Sequence[int], int]], n: int) -> Inputs:
        """Of each input: the operations that read it, ascending and each once, and its bytes."""
        kept_bytes = np.zeros(n, np.int64)
        for operations, size in readers:
            kept_bytes[operations[0]] += size
        return cls(kept_bytes, SharedWeights.of(readers, sent=False))


@dataclass(frozen=True)
class Parts:
    """R parts of the results of n operations. Each occupies memory until its readers have ended."""

    owners: np.ndarray  # (R,) int64 operation whose result it is a part of, ascending
    sizes: np.ndarray  # (R,) float64 bytes
    readers: Edges  # from parts to operations
    lasting: np.ndarray  # (R,) bool: it stays on its device to the end


class GraphArrays(NamedTuple):
    """The arrays of a problem for compiled code: n operations and E edges, in both directions."""

    parent_offsets: np.ndarray  # (n + 1,) int32
    parents: np.ndarray  # (E,) int32
    child_offsets: np.ndarray  # (n + 1,) int32
    children: np.ndarray  # (E,) int32
    seconds: np.ndarray  # (n,) run times
    delays: np.ndarray  # (n,) seconds until a result is on another device
    read_offsets: np.ndarray  # (n + 1,) int32, of each operation's reads of shared weights
    read_firsts: np.ndarray  # (K,) int32 operation on whose device the weight lies
    read_delays: np.ndarray  # (K,) seconds until the weight is on another device


@dataclass(frozen=True)
class Problem:
    """n operations on m identical devices, each of which runs one operation at a time, without interruption.

    Raises ValueError that names an argument of another type or shape, or the first faulty operation: an edge that does
    not go to a higher number, or a time or a size that is negative or not finite.
    """

    seconds: np.ndarray  # (n,) float64: run time of each operation, on any device
    sizes: np.ndarray  # (n,) float64: bytes of its result; every child needs the whole result
    children: Edges
    devices: int
    transfers: Transfers = Transfers()
    weight_bytes: np.ndarray | None = None  # (n,) float64: weights and inputs occupy its device always; None: none
    memory: float = np.inf  # bytes of each device
    shared: SharedWeights = NO_SHARED  # weights count on the device of their first reader; here are the other readers
    results: Parts | None = None  # what is freed one by one; None: each result as a whole, and none lasts
    kinds: tuple[str, ...] = ()  # n, what the operations compute; empty: unknown. No cost depends on them

    def __post_init__(self) -> None:
        self._check_types()
        n = len(self.seconds)
        if self.devices < 1:
            raise ValueError(f"{self.devices} devices; there must be at least one")
        for name, values in (("seconds", self.seconds), ("bytes", self.sizes), ("bytes of weights", self.weights)):
            if len(wrong := np.flatnonzero(~(np.isfinite(values) & (values >= 0)))):
                raise ValueError(f"operation {wrong[0]} has {values[wrong[0]]} {name}; it must be 0 or more")
        targets, sources = self.children.targets, self.children.sources
        if len(self.children.offsets) != n + 1 or len(sources) != len(targets):
            raise ValueError(f"{n} operations, but edges of {len(self.children.offsets) - 1} operations")
        if len(wrong := np.flatnonzero((targets <= sources) | (targets >= n))):
            edge = wrong[0]
            raise ValueError(
                f"edge {sources[edge]} -> {targets[edge]} does not go to a higher number below {n}: "
                "the graph is cyclic, or its operations are not in a topological order"
            )

    def _check_types(self) -> None:
        weights = self.seconds if self.weight_bytes is None else self.weight_bytes
        for name, values in (("seconds", self.seconds), ("sizes", self.sizes), ("weight_bytes", weights)):
            if not isinstance(values, np.ndarray) or values.shape != np.shape(self.seconds) or values.ndim != 1:
                form = f"an array {values.shape}" if isinstance(values, np.ndarray) else f"a {type(values).__name__}"
                raise ValueError(f"{name} is {form}; it must be a NumPy array with one number for each operation")
        if not isinstance(self.children, Edges):
            kind = type(self.children).__name__
            raise ValueError(f"children is a {kind}; it must be Edges; graph_from_pairs makes a graph of pairs")
        if not isinstance(self.devices, int | np.integer):
            raise ValueError(f"devices is {self.devices!r}; it must be a whole number")

    def __len__(self) -> int:
        return len(self.seconds)

    @property
    def weights(self) -> np.ndarray:
        """(n,) bytes of weights of each operation, and of the network's inputs that it is the first to read."""
        return np.zeros(len(self.seconds)) if self.weight_bytes is None else self.weight_bytes

    @cached_property
    def parts(self) -> Parts:
        """The parts of all results."""
        if self.results is not None:
            return self.results
        return Parts(np.arange(len(self)), self.sizes, self.children, np.zeros(len(self), bool))

    @cached_property
    def parents(self) -> Edges:
        return self.children.reversed()

    @property
    def delays(self) -> np.ndarray:
        """(n,) seconds until the result of each operation is on another device."""
        return self.transfers.slope * self.sizes + self.transfers.delay

    @cached_property
    def arrays(self) -> GraphArrays:
        """The operations and edges for compiled code."""
        parents, children, shared = self.parents, self.children, self.shared
        return read_only(
            GraphArrays(
                parents.offsets,
                parents.targets,
                children.offsets,
                children.targets,
                self.seconds,
                self.delays,
                np.searchsorted(shared.readers, np.arange(len(self) + 1)).astype(np.int32),
                shared.firsts.astype(np.int32),
                np.where(shared.sent, self.transfers.slope * shared.sizes + self.transfers.delay, 0.0),
            )
        )

    @cached_property
    def tails(self) -> np.ndarray:
        """(n,) seconds from an operation's start to the end of the longest path that starts with it."""
        return _tails(*read_only((self.children.offsets, self.children.targets, self.seconds)))

    @cached_property
    def heads(self) -> np.ndarray:
        """(n,) seconds of the longest path before an operation: no schedule starts it earlier."""
        return _heads(*read_only((self.parents.offsets, self.parents.targets, self.seconds)))

    @property
    def critical_path(self) -> float:
        """Seconds of the longest path: no schedule is shorter on any number of devices."""
        return float(self.tails.max(initial=0.0))

    @property
    def bound(self) -> float:
        """A lower bound of every makespan: the longest path, or all work spread evenly over the devices."""
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
