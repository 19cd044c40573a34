"""A computation graph with the costs of its operations: a row of table `graphs`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from learned_schedulers.files import printable
from learned_schedulers.graphs.problems.problem import Edges
from learned_schedulers.graphs.read.topology import topological_order


@dataclass(frozen=True)
class Graph:
    """n operations in a topological order; table `graphs` (pipeline/graph_sets/tables.py) says what each cost means.

    Raises ValueError that names the graph and the operation if a kind is empty, a cost is negative or not finite, or
    an edge does not go to a higher number. `graph` makes a Graph of operations in any order.
    """

    name: str
    family: str
    variant: str
    kinds: tuple[str, ...]  # n
    flops: np.ndarray  # (n,) float64
    bytes_read: np.ndarray  # (n,) int64
    bytes_written: np.ndarray  # (n,) int64
    bytes_kept: np.ndarray  # (n,) int64
    layers: tuple[str, ...]  # n
    seconds: np.ndarray  # (n,) float64, or (0,) if the run times follow from a device's roofline
    children: Edges

    def __post_init__(self) -> None:
        n = len(self.kinds)
        for name in ("flops", "bytes_read", "bytes_written", "bytes_kept", "layers", "seconds"):
            length = len(getattr(self, name))
            if length != n and not (name == "seconds" and length == 0):
                raise ValueError(f"graph {self.name}: {n} operations, but {length} {name}")
        _check_costs(self.name, [str(i) for i in range(n)], self.kinds, self.costs)
        offsets, targets = self.children.offsets, self.children.targets
        if len(offsets) != n + 1 or offsets[0] != 0 or offsets[-1] != len(targets) or (np.diff(offsets) < 0).any():
            raise ValueError(f"graph {self.name}: the offsets do not cut {len(targets)} edges into {n} parts")
        sources = self.children.sources
        if len(wrong := np.flatnonzero((targets <= sources) | (targets >= n))):
            edge = wrong[0]
            raise ValueError(
                f"graph {self.name}: edge {sources[edge]} -> {targets[edge]} does not go to a higher number below {n}"
            )
        same = sources[1:] == sources[:-1]
        if len(wrong := np.flatnonzero(same & (targets[1:] <= targets[:-1]))):
            raise ValueError(f"graph {self.name}: the edges of operation {sources[wrong[0]]} are not sorted")

    def __len__(self) -> int:
        return len(self.kinds)

    @property
    def costs(self) -> dict[str, np.ndarray]:
        """Every array of costs by its name."""
        return {
            "flops": self.flops,
            "bytes_read": self.bytes_read,
            "bytes_written": self.bytes_written,
            "bytes_kept": self.bytes_kept,
            "seconds": self.seconds,
        }

    @cached_property
    def graph_id(self) -> str:
        """SHA-256 of all arrays, little-endian: equal graphs with different names have the same id."""
        digest = hashlib.sha256()
        for words in (self.kinds, self.layers):
            digest.update(json.dumps(list(words)).encode())
        for values, kind in (
            (self.flops + 0.0, "<f8"),  # no negative zeros
            (self.bytes_read, "<i8"),
            (self.bytes_written, "<i8"),
            (self.bytes_kept, "<i8"),
            (self.seconds + 0.0, "<f8"),
            (self.children.offsets, "<i4"),
            (self.children.targets, "<i4"),
        ):
            digest.update(f"{len(values)};".encode())
            digest.update(np.ascontiguousarray(values, kind).tobytes())
        return digest.hexdigest()

    def to_row(self) -> dict[str, Any]:
        """The row of table `graphs`."""
        return {
            "graph_id": self.graph_id,
            "name": self.name,
            "family": self.family,
            "variant": self.variant,
            "kinds": list(self.kinds),
            **self.costs,
            "layers": list(self.layers),
            "offsets": self.children.offsets,
            "children": self.children.targets,
        }

    @classmethod
    def from_row(cls, row: Mapping[Any, Any]) -> Graph:
        """The graph of a row. Raises ValueError as the class does, and if `graph_id` does not match the arrays."""
        graph = cls(
            name=row["name"],
            family=row["family"],
            variant=row["variant"],
            kinds=tuple(row["kinds"]),
            flops=np.asarray(row["flops"], np.float64),
            bytes_read=np.asarray(row["bytes_read"], np.int64),
            bytes_written=np.asarray(row["bytes_written"], np.int64),
            bytes_kept=np.asarray(row["bytes_kept"], np.int64),
            layers=tuple(row["layers"]),
            seconds=np.asarray(row["seconds"], np.float64),
            children=Edges(np.asarray(row["offsets"], np.int32), np.asarray(row["children"], np.int32)),
        )
        if graph.graph_id != row["graph_id"]:
            raise ValueError(f"graph {graph.name}: its arrays do not match its graph_id; make the table anew")
        return graph


class Passes(NamedTuple):
    """The two passes of a training step of n operations."""

    backward: np.ndarray  # (n,) bool: the operation computes gradients
    classes: np.ndarray  # (n,) int64: operations of the same class share a device


@dataclass(frozen=True)
class Operations:
    """n operations in any order, as a source of graphs lists them."""

    kinds: Sequence[str]
    flops: np.ndarray
    bytes_read: np.ndarray
    bytes_written: np.ndarray
    bytes_kept: np.ndarray
    layers: Sequence[str] = ()  # empty: unknown
    seconds: np.ndarray | None = None  # None: they follow from a device's roofline
    labels: Sequence[str] = ()  # names of the operations in messages; empty: their numbers


def graph(
    name: str, family: str, variant: str, operations: Operations, sources: np.ndarray, targets: np.ndarray
) -> tuple[Graph, np.ndarray]:
    """The graph of these operations and edges, and (n,) the index in `operations` of each of the graph's operations.

    The order is topological; of the ready operations the one with the smallest number comes first. Duplicate edges
    count once. Raises ValueError that names graph and operation for: an empty kind, a cost that is negative or not
    finite, an edge to or from an operation that does not exist, a cycle.
    """
    n = len(operations.kinds)
    labels = [printable(str(label)) for label in (operations.labels if len(operations.labels) else range(n))]
    seconds = np.zeros(0) if operations.seconds is None else np.asarray(operations.seconds, np.float64)
    costs = {
        "flops": np.asarray(operations.flops, np.float64),
        "bytes_read": np.asarray(operations.bytes_read),
        "bytes_written": np.asarray(operations.bytes_written),
        "bytes_kept": np.asarray(operations.bytes_kept),
        "seconds": seconds,
    }
    _check_costs(name, labels, operations.kinds, costs)
    order, children = topological_order(name, labels, np.asarray(sources, np.int64), np.asarray(targets, np.int64))
    layers = operations.layers if len(operations.layers) else [""] * n
    return (
        Graph(
            name=name,
            family=family,
            variant=variant,
            kinds=tuple(str(operations.kinds[i]) for i in order),
            flops=costs["flops"][order],
            bytes_read=costs["bytes_read"][order].astype(np.int64),
            bytes_written=costs["bytes_written"][order].astype(np.int64),
            bytes_kept=costs["bytes_kept"][order].astype(np.int64),
            layers=tuple(str(layers[i]) for i in order),
            seconds=seconds[order] if len(seconds) else seconds,
            children=children,
        ),
        order,
    )


def _check_costs(name: str, labels: Sequence[str], kinds: Sequence[str], costs: Mapping[str, np.ndarray]) -> None:
    for label, kind in zip(labels, kinds, strict=True):
        if not kind:
            raise ValueError(f"graph {name}: operation {label} has no kind; say what it computes")
    for cost, values in costs.items():
        # Bytes are stored as 64-bit integers, so every cost has to be below 2**63.
        if len(wrong := np.flatnonzero(~(np.isfinite(values) & (values >= 0) & (values < 2.0**63)))):
            i = wrong[0]
            raise ValueError(
                f"graph {name}: operation {labels[i]} has {values[i]} {cost}; it must be at least 0 and less than 2**63"
            )
