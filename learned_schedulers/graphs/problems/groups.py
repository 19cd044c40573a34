"""Random connected groups of operations, for moves that change all operations of a group at once.

Each edge between two operations of the same class (the same device, for instance) joins them with some probability; a
group is a connected component of the joined operations (as the clusters of Swendsen & Wang 1987). With probability 0
every operation is a group of its own. With higher probabilities chains, branches and whole layers move as one; a
sequence of single moves reaches the same state only through worse states.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from learned_schedulers.graphs.problems.problem import Edges
from learned_schedulers.kernel_arrays import read_only


def drawn_groups(
    edges: Edges, classes: np.ndarray, chances: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Group of each operation, (S, n) int64 from 0 on, and the number of groups, (S,).

    classes: (n,) int; an edge joins only operations of the same class. chances: (S,), the probability that an edge
    joins its two operations.
    """
    n = len(classes)
    labels, counts = np.empty((len(chances), n), np.int64), np.empty(len(chances), np.int64)
    uniforms = rng.random((len(chances), len(edges.targets)), np.float32)
    _join(*read_only((edges.offsets, edges.targets, classes)), chances, uniforms, labels, counts)
    return labels, counts


@njit(cache=True, nogil=True)
def _join(
    offsets: np.ndarray,
    targets: np.ndarray,
    classes: np.ndarray,
    chances: np.ndarray,
    uniforms: np.ndarray,
    labels: np.ndarray,
    counts: np.ndarray,
) -> None:
    """Fill labels, (S, n), and counts, (S,), by union-find; the root of a group is its lowest number."""
    n = labels.shape[1]
    for s in range(len(labels)):
        roots = np.arange(n)
        for i in range(n):
            for edge in range(offsets[i], offsets[i + 1]):
                j = targets[edge]
                if classes[i] == classes[j] and uniforms[s, edge] < chances[s]:
                    root_i, root_j = _root(roots, i), _root(roots, j)
                    roots[max(root_i, root_j)] = min(root_i, root_j)
        counts[s] = 0
        for i in range(n):
            root = _root(roots, i)
            if root == i:
                labels[s, i] = counts[s]
                counts[s] += 1
            else:
                labels[s, i] = labels[s, root]


@njit(cache=True)
def _root(roots: np.ndarray, i: int) -> int:
    while roots[i] != i:
        roots[i] = roots[roots[i]]
        i = roots[i]
    return i
