"""Small operations are merged until each takes at least some time, and the graph stays a DAG.

Merging two operations makes a cycle where another path joins them. Take any topological order. An operation and the
last of its parents in this order have no other path: it would come in by a later parent. The merged operation takes
that parent's place, and the order stays topological. In the same way an operation merges with the first of its
children, whose place it takes. So each merge is safe and none needs a search: O((n + E) log n).
"""

from __future__ import annotations

import heapq

import numpy as np

from pipeline.graphs.problems.problem import Edges


def groups(seconds: np.ndarray, children: Edges, least: float) -> np.ndarray:
    """Which group each operation belongs to, (n,) int64; groups are numbered in a topological order of the quotient.

    Every group takes at least `least` seconds, unless the whole graph takes less: then there is one group. The
    lightest group goes first; it merges where the least parallelism is lost (`_partner`).
    seconds: (n,) of each operation; children: edges to higher numbers.
    """
    n = len(seconds)
    parents = children.reversed()
    above = [set(row.tolist()) for row in np.split(parents.targets, parents.offsets[1:-1])] if n else []
    below = [set(row.tolist()) for row in np.split(children.targets, children.offsets[1:-1])] if n else []
    members = [[i] for i in range(n)]
    place = list(range(n))  # in the topological order
    weight = seconds.tolist()
    alive = set(range(n))
    light = [(weight[i], i) for i in range(n)]
    heapq.heapify(light)
    while len(alive) > 1:
        seconds_of, i = heapq.heappop(light)
        if i not in alive or seconds_of != weight[i]:
            continue  # merged meanwhile
        if seconds_of >= least:
            break
        partner = _partner(above[i], below[i], place, weight, above, below)
        while partner is None:  # it has no neighbour: the lightest other group will do
            other_weight, other = heapq.heappop(light)
            if other != i and other in alive and other_weight == weight[other]:
                partner = other
        at = place[partner]
        # The group with more neighbours keeps its number, so that each edge moves log n times at most.
        gone, kept = sorted((partner, i), key=lambda j: (len(above[j]) + len(below[j]), j))
        _join(above, below, kept, gone)
        members[kept] += members[gone]
        place[kept] = at
        weight[kept] += weight[gone]
        alive.remove(gone)
        heapq.heappush(light, (weight[kept], kept))
    chosen = np.empty(n, np.int64)
    for number, i in enumerate(sorted(alive, key=lambda i: place[i])):
        chosen[members[i]] = number
    return chosen


def _partner(
    parents: set[int],
    children: set[int],
    place: list[int],
    weight: list[float],
    above: list[set[int]],
    below: list[set[int]],
) -> int | None:
    """What a group merges with: its last parent or its first child.

    With its only parent it delays the parent's other children by its own few seconds; with its only child it starts
    later by what the child's other parents take. Where it is one of a chain nothing is lost. Such a neighbour comes
    first, of two the lighter one.
    """
    last = max(parents, key=lambda j: place[j], default=None)
    first = min(children, key=lambda j: place[j], default=None)
    candidates = []
    if last is not None:
        candidates.append((len(parents) > 1, len(below[last]) > 1, weight[last], last))
    if first is not None:
        candidates.append((len(children) > 1, len(above[first]) > 1, weight[first], first))
    return min(candidates)[-1] if candidates else None


def _join(above: list[set[int]], below: list[set[int]], kept: int, gone: int) -> None:
    """All edges of `gone` become edges of `kept`, and those between the two vanish."""
    for here, there in ((above, below), (below, above)):
        for neighbour in here[gone]:
            there[neighbour].discard(gone)
            if neighbour != kept:
                there[neighbour].add(kept)
                here[kept].add(neighbour)
        here[gone] = set()
