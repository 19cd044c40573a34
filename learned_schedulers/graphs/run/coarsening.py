"""Merges small operations until each takes a minimum time; the graph stays a DAG.

Merging two operations makes a cycle if a second path joins them. Take any topological order. No second path joins an
operation and the last of its parents in this order, because it would enter through a later parent. The merged operation
takes that parent's position, and the order stays topological. In the same way an operation merges with the first of its
children and takes its position. So each merge is safe without a search: O((n + E) log n).
"""

from __future__ import annotations

import heapq

import numpy as np

from learned_schedulers.graphs.problems.problem import Edges


def groups(seconds: np.ndarray, children: Edges, least: float) -> np.ndarray:
    """Group of each operation, (n,) int64; groups are numbered in a topological order of the merged graph.

    Every group takes at least `least` seconds; if the whole graph takes less, there is one group. The lightest group is
    merged first, with the neighbour that loses the least parallelism (`_partner`).
    seconds: (n,) run time of each operation; children: edges to higher numbers.
    """
    n = len(seconds)
    parents = children.reversed()
    above = [set(row.tolist()) for row in np.split(parents.targets, parents.offsets[1:-1])] if n else []
    below = [set(row.tolist()) for row in np.split(children.targets, children.offsets[1:-1])] if n else []
    members = [[i] for i in range(n)]
    position = list(range(n))  # in the topological order
    weight = seconds.tolist()
    alive = set(range(n))
    light = [(weight[i], i) for i in range(n)]
    heapq.heapify(light)
    while len(alive) > 1:
        seconds_of, i = heapq.heappop(light)
        if i not in alive or seconds_of != weight[i]:
            continue  # the group was merged after this entry was added
        if seconds_of >= least:
            break
        partner = _partner(above[i], below[i], position, weight, above, below)
        while partner is None:  # without neighbours, the group merges with the lightest of all remaining groups
            candidate_weight, candidate = heapq.heappop(light)
            if candidate != i and candidate in alive and candidate_weight == weight[candidate]:
                partner = candidate
        merged_position = position[partner]
        # The group with more neighbours absorbs the other one, so that each edge moves at most log n times.
        absorbed, merged = sorted((partner, i), key=lambda j: (len(above[j]) + len(below[j]), j))
        _join(above, below, merged, absorbed)
        members[merged] += members[absorbed]
        position[merged] = merged_position
        weight[merged] += weight[absorbed]
        alive.remove(absorbed)
        heapq.heappush(light, (weight[merged], merged))
    group = np.empty(n, np.int64)
    for number, i in enumerate(sorted(alive, key=lambda i: position[i])):
        group[members[i]] = number
    return group


def _partner(
    parents: set[int],
    children: set[int],
    position: list[int],
    weight: list[float],
    above: list[set[int]],
    below: list[set[int]],
) -> int | None:
    """The neighbour that a group merges with: its last parent or its first child; None without neighbours.

    Merged with its only parent, the group delays the parent's remaining children by its own few seconds. Merged with
    its only child, it starts later by the time of the child's remaining parents. A merge within a chain loses nothing,
    so such a neighbour comes first; of two equal candidates the lighter one.
    """
    last = max(parents, key=lambda j: position[j], default=None)
    first = min(children, key=lambda j: position[j], default=None)
    candidates = []
    if last is not None:
        candidates.append((len(parents) > 1, len(below[last]) > 1, weight[last], last))
    if first is not None:
        candidates.append((len(children) > 1, len(above[first]) > 1, weight[first], first))
    return min(candidates)[-1] if candidates else None


def _join(above: list[set[int]], below: list[set[int]], merged: int, absorbed: int) -> None:
    """Make all edges of `absorbed` edges of `merged`, and remove those between the two."""
    for neighbours, reverse in ((above, below), (below, above)):
        for neighbour in neighbours[absorbed]:
            reverse[neighbour].discard(absorbed)
            if neighbour != merged:
                reverse[neighbour].add(merged)
                neighbours[merged].add(neighbour)
        neighbours[absorbed] = set()
