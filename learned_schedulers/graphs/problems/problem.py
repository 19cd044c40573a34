"""A graph to be scheduled: run times of its operations, dependencies between them, and the number of devices."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
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
    Links do not queue: transfers overlap with each other and with computation. Both are numbers where all links are
    equal, otherwise arrays (m, m), from the device of a row to that of a column; their diagonals do not count.
    """

    slope: float | np.ndarray = 0.0  # seconds per byte
    delay: float | np.ndarray = 0.0  # seconds

    def between(self, senders: np.ndarray, receivers: np.ndarray) -> tuple[float | np.ndarray, float | np.ndarray]:
        """Slope and delay from K devices to K others, (K,) each; numbers where all links are equal."""
        slope, delay = (
            part[senders, receivers] if isinstance(part, np.ndarray) else part for part in (self.slope, self.delay)
        )
        return slope, delay

    @property
    def mean(self) -> tuple[float, float]:
        """Slope and delay, the means over all pairs of devices; 0 where there is no pair."""
        slope, delay = (
            float(_means(part[~np.eye(len(part), dtype=bool)][None])[0]) if isinstance(part, np.ndarray) else part
            for part in (self.slope, self.delay)
        )
        return slope, delay


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
    seconds: np.ndarray  # (k, n) run times on each kind of device
    delays: np.ndarray  # (l, n) seconds until a result has passed each kind of link
    read_offsets: np.ndarray  # (n + 1,) int32, of each operation's reads of shared weights
    read_firsts: np.ndarray  # (K,) int32 operation on whose device the weight lies
    read_delays: np.ndarray  # (l, K) seconds until the weight has passed each kind of link
    kinds: np.ndarray  # (m,) int32 kind of each device: k = 1 where devices are equal, else k = m
    links: np.ndarray  # (m, m) int32 kind of the link from a device to another; (1, 1) where all are equal: `link`


@dataclass(frozen=True)
class Problem:
    """n operations on m devices, each of which runs one operation at a time, without interruption.

    Devices are equal, unless `seconds` are (n, m), `memory` is (m,) or `transfers` are (m, m): what differs, alone.
    Raises ValueError that names an argument of another type or shape, or the first faulty operation or device: an edge
    that does not go to a higher number, or a time or a size that is negative or not finite.
    """

    seconds: np.ndarray  # (n,) float64: run time of each operation, on any device; or (n, m), on each
    sizes: np.ndarray  # (n,) float64: bytes of its result; every child needs the whole result
    children: Edges
    devices: int
    transfers: Transfers = Transfers()
    weight_bytes: np.ndarray | None = None  # (n,) float64: weights and inputs occupy its device always; None: none
    memory: float | np.ndarray = np.inf  # bytes of each device, a number or (m,)
    shared: SharedWeights = NO_SHARED  # weights count on the device of their first reader; here are the other readers
    results: Parts | None = None  # what is freed one by one; None: each result as a whole, and none lasts
    kinds: tuple[str, ...] = ()  # n, what the operations compute; empty: unknown. No cost depends on them
    device_names: tuple[str, ...] = ()  # m; empty: devices are called by their numbers

    def __post_init__(self) -> None:
        self._check_types()
        n = len(self.seconds)
        if self.devices < 1:
            raise ValueError(f"{self.devices} devices; there must be at least one")
        self._check_devices()
        for name, values in (("seconds", self.seconds), ("bytes", self.sizes), ("bytes of weights", self.weights)):
            if len(faults := np.argwhere(~(np.isfinite(values) & (values >= 0)))):
                i, *device = faults[0].tolist()
                place = f" on device {device[0]}" if device else ""
                raise ValueError(f"operation {i} has {values[tuple(faults[0])]} {name}{place}; it must be 0 or more")
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
        if not isinstance(self.devices, int | np.integer):
            raise ValueError(f"devices is {self.devices!r}; it must be a whole number")
        n = np.shape(self.seconds)[:1]
        on_each = isinstance(self.seconds, np.ndarray) and self.seconds.shape == (*n, max(self.devices, 1))
        run_times = self.seconds[:, 0] if on_each else self.seconds
        weights = run_times if self.weight_bytes is None else self.weight_bytes
        for name, values in (("seconds", run_times), ("sizes", self.sizes), ("weight_bytes", weights)):
            if not isinstance(values, np.ndarray) or values.shape != n or values.ndim != 1:
                form = f"an array {values.shape}" if isinstance(values, np.ndarray) else f"a {type(values).__name__}"
                raise ValueError(f"{name} is {form}; it must be a NumPy array with one number for each operation")
        if not isinstance(self.children, Edges):
            kind = type(self.children).__name__
            raise ValueError(f"children is a {kind}; it must be Edges; graph_from_pairs makes a graph of pairs")

    def _check_devices(self) -> None:
        m, links = self.devices, self.transfers
        if self.device_names and len(self.device_names) != m:
            raise ValueError(f"{len(self.device_names)} device_names of {m} devices; give each a name, or none")
        for name, part, shape in (
            ("memory", self.memory, (m,)),
            ("transfers.slope", links.slope, (m, m)),
            ("transfers.delay", links.delay, (m, m)),
        ):
            if not isinstance(part, np.ndarray):
                continue
            if part.shape != shape:
                raise ValueError(f"{name} is an array {part.shape}; of {m} devices it must be {shape}, or a number")
            if len(faults := np.argwhere(~(np.isfinite(part) & (part >= 0)))):
                place = " to ".join(map(str, faults[0]))
                raise ValueError(f"{name} of device {place} is {part[tuple(faults[0])]}; it must be finite, 0 or more")

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
    def equal(self) -> bool:
        """Whether all devices are equal, and all links between them."""
        links = self.transfers.slope, self.transfers.delay
        return self.seconds.ndim == 1 and not any(isinstance(part, np.ndarray) for part in (self.memory, *links))

    @property
    def mean_seconds(self) -> np.ndarray:
        """(n,) run time of each operation, the mean over the devices."""
        return self.seconds if self.seconds.ndim == 1 else _means(self.seconds)

    @property
    def totals(self) -> np.ndarray:
        """(m,) seconds of all operations on each device alone."""
        totals: np.ndarray = np.broadcast_to(self.seconds.sum(0), self.devices)
        return totals

    def seconds_on(self, placement: np.ndarray) -> np.ndarray:
        """(n,) run time of each operation on its device; placement: (n,)."""
        return self.seconds if self.seconds.ndim == 1 else self.seconds[np.arange(len(self)), placement]

    @property
    def delays(self) -> np.ndarray:
        """(n,) seconds until the result of each operation is on another device, the mean over all pairs of devices."""
        slope, delay = self.transfers.mean
        return slope * self.sizes + delay

    @property
    def limited(self) -> bool:
        """Whether the memory of devices has a limit."""
        return bool(np.isfinite(self.memory).any())

    @property
    def memories(self) -> np.ndarray:
        """(m,) bytes of each device."""
        memories: np.ndarray = np.broadcast_to(np.asarray(self.memory, float), self.devices)
        return memories

    @property
    def total_memory(self) -> float:
        """Bytes of all devices together."""
        return float(self.memory.sum() if isinstance(self.memory, np.ndarray) else self.devices * self.memory)

    def filling(self, in_use: np.ndarray) -> np.ndarray:
        """(m,) bytes in use, and those that a device lacks beside the largest one: the highest has the least room."""
        return in_use + (self.memory.max() - self.memory) if isinstance(self.memory, np.ndarray) else in_use

    def only(self, devices: Sequence[int]) -> Problem:
        """The same operations on some of the devices, by their numbers."""
        pairs = np.ix_(devices, devices)
        slope, delay = (
            part[pairs] if isinstance(part, np.ndarray) else part
            for part in (self.transfers.slope, self.transfers.delay)
        )
        return replace(
            self,
            seconds=self.seconds if self.seconds.ndim == 1 else self.seconds[:, list(devices)],
            devices=len(devices),
            transfers=Transfers(slope, delay),
            memory=self.memory[list(devices)] if isinstance(self.memory, np.ndarray) else self.memory,
            device_names=tuple(self.device_names[device] for device in devices) if self.device_names else (),
        )

    @cached_property
    def arrays(self) -> GraphArrays:
        """The operations and edges for compiled code."""
        parents, children, shared = self.parents, self.children, self.shared
        of_pairs = np.stack(np.broadcast_arrays(self.transfers.slope, self.transfers.delay), -1)
        lines, links = np.unique(of_pairs.reshape(-1, 2), axis=0, return_inverse=True)
        slopes, delays = lines[:, :1], lines[:, 1:]
        one_kind = self.seconds.ndim == 1
        return read_only(
            GraphArrays(
                parents.offsets,
                parents.targets,
                children.offsets,
                children.targets,
                self.seconds[None] if one_kind else self.seconds.T,
                slopes * self.sizes + delays,
                np.searchsorted(shared.readers, np.arange(len(self) + 1)).astype(np.int32),
                shared.firsts.astype(np.int32),
                np.where(shared.sent, slopes * shared.sizes + delays, 0.0),
                (np.zeros if one_kind else np.arange)(self.devices, dtype=np.int32),
                links.reshape(of_pairs.shape[:-1] or (1, 1)).astype(np.int32),
            )
        )

    @cached_property
    def tails(self) -> np.ndarray:
        """(n,) seconds from an operation's start to the end of the longest path that starts with it, by mean times."""
        return _tails(*read_only((self.children.offsets, self.children.targets, self.mean_seconds)))

    @cached_property
    def heads(self) -> np.ndarray:
        """(n,) seconds of the longest path before an operation: no schedule starts it earlier."""
        return _heads(*read_only((self.parents.offsets, self.parents.targets, self._least_seconds)))

    @property
    def _least_seconds(self) -> np.ndarray:
        """(n,) run time of each operation on its fastest device."""
        return self.seconds if self.seconds.ndim == 1 else self.seconds.min(1)

    @property
    def critical_path(self) -> float:
        """Seconds of the longest path: no schedule is shorter on any number of devices."""
        if self.seconds.ndim == 1:
            return float(self.tails.max(initial=0.0))
        return float((self.heads + self._least_seconds).max(initial=0.0))

    @property
    def bound(self) -> float:
        """A lower bound of every makespan: the longest path, or all work spread over the devices.

        A makespan is at least the mean busy time of the devices under any weights that sum to 1, and so at least the
        sum of each operation's least weighted time. Here a device has the more weight, the less time all take on it.
        """
        if self.seconds.ndim == 1:
            return max(self.critical_path, float(self.seconds.sum()) / self.devices)
        speeds = 1 / np.maximum(self.totals, np.finfo(float).tiny)
        return max(self.critical_path, float((self.seconds * (speeds / speeds.sum())).min(1).sum()))


def _means(rows: np.ndarray) -> np.ndarray:
    """The mean of each row, and of equal numbers exactly this number; 0 of no numbers."""
    least = rows.min(1) if rows.shape[1] else np.zeros(len(rows))
    return least + (rows - least[:, None]).sum(1) / max(rows.shape[1], 1)


@njit(cache=True)
def link(graph: GraphArrays, sender: int, receiver: int) -> int:
    """Kind of the link from a device to another: a row of `delays` and of `read_delays`."""
    return graph.links[sender, receiver] if len(graph.delays) > 1 else 0


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
