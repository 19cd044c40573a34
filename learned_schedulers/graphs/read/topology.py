"""Operations and edges in any order -> one deterministic topological order, and sorted edges."""

from __future__ import annotations

import heapq
from collections.abc import Sequence

import numpy as np

from learned_schedulers.graphs.problems.problem import Edges

_SHOWN = 8  # operations of a cycle that a message names


def topological_order(
    name: str, labels: Sequence[str], sources: np.ndarray, targets: np.ndarray
) -> tuple[np.ndarray, Edges]:
    """The operation in each position, (n,) int64, and the edges between positions.

    Of the ready operations the one with the smallest number comes first, so operations in a topological order keep it.
    Duplicate edges count once. O((n + E) log n). name, labels: names of the graph and of its operations for messages.
    Raises ValueError if an edge names an operation that does not exist, or if edges form a cycle.
    """
    n = len(labels)
    for ends, opposite_ends in ((sources, targets), (targets, sources)):
        if len(wrong := np.flatnonzero((ends < 0) | (ends >= n))):
            edge = wrong[0]
            opposite = opposite_ends[edge]
            label = labels[opposite] if 0 <= opposite < n else opposite
            raise ValueError(
                f"graph {name}: an edge joins operation {label} and operation {ends[edge]}, "
                f"which does not exist; there are {n} operations"
            )
    children = _edges(n, sources, targets)
    order = _ready_first(children)
    if len(order) < n:
        waiting = np.ones(n, bool)
        waiting[order] = False
        cycle = [labels[i] for i in _cycle(children, waiting)]
        raise ValueError(
            f"graph {name}: operation {cycle[0]} needs its own result: "
            + " -> ".join([*cycle[:_SHOWN], "..." if len(cycle) > _SHOWN else cycle[0]])
            + "; remove one of these edges"
        )
    number = np.empty(n, np.int64)
    number[order] = np.arange(n)
    return order, _edges(n, number[children.sources], number[children.targets])


def _edges(n: int, sources: np.ndarray, targets: np.ndarray) -> Edges:
    pairs = np.unique(sources.astype(np.int64) * n + targets)
    offsets = np.r_[0, np.cumsum(np.bincount(pairs // max(n, 1), minlength=n))]
    return Edges(offsets.astype(np.int32), (pairs % max(n, 1)).astype(np.int32))


def _ready_first(children: Edges) -> np.ndarray:
    """A topological order of all operations that do not depend on a cycle."""
    offsets, targets = children.offsets.tolist(), children.targets.tolist()
    waiting = np.bincount(children.targets, minlength=len(offsets) - 1).tolist()
    ready = [i for i, parents in enumerate(waiting) if parents == 0]
    order = []
    while ready:
        i = heapq.heappop(ready)
        order.append(i)
        for child in targets[offsets[i] : offsets[i + 1]]:
            waiting[child] -= 1
            if waiting[child] == 0:
                heapq.heappush(ready, child)
    return np.array(order, np.int64)


def _cycle(children: Edges, waiting: np.ndarray) -> list[int]:
    """A cycle along its edges, from its smallest number on; waiting: (n,), operations that depend on a cycle."""
    parents = children.reversed()
    current = int(np.flatnonzero(waiting)[0])
    path: dict[int, None] = {}
    while current not in path:
        path[current] = None
        before = parents.targets[parents.offsets[current] : parents.offsets[current + 1]]
        current = int(before[waiting[before]][0])
    backwards = list(path)[list(path).index(current) :]
    cycle = backwards[::-1]
    start = cycle.index(min(cycle))
    return cycle[start:] + cycle[:start]
