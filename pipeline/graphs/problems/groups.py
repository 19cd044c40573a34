"""Random groups of operations that hang together: what is decided for all of them at once.

Each edge between two operations that are kept together joins them with some probability; a group is what is joined
(as the clusters of Swendsen & Wang 1987). With probability 0 every operation is a group of its own; with higher ones
chains, branches and whole layers move as one, which no sequence of single moves does without making things worse first.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from pipeline.graphs.problems.problem import Edges


def drawn_groups(
    edges: Edges, together: np.ndarray, chances: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Group of each operation, (S, n) int64 from 0 on, and how many groups there are, (S,).

    together: (n,) int, an edge joins only operations of the same number; chances: (S,), that an edge joins.
    """
    n = len(together)
    labels, counts = np.empty((len(chances), n), np.int64), np.empty(len(chances), np.int64)
    uniforms = rng.random((len(chances), len(edges.targets)), np.float32)
    _join(edges.offsets, edges.targets, together, chances, uniforms, labels, counts)
    return labels, counts


@njit(cache=True, nogil=True)
def _join(
    offsets: np.ndarray,
    targets: np.ndarray,
    together: np.ndarray,
    chances: np.ndarray,
    uniforms: np.ndarray,
    labels: np.ndarray,
    counts: np.ndarray,
) -> None:
    """Fill labels, (S, n), and counts, (S,): union-find, roots are the lowest numbers."""
    n = labels.shape[1]
    for s in range(len(labels)):
        roots = np.arange(n)
        for i in range(n):
            for edge in range(offsets[i], offsets[i + 1]):
                j = targets[edge]
                if together[i] == together[j] and uniforms[s, edge] < chances[s]:
                    a, b = _root(roots, i), _root(roots, j)
                    roots[max(a, b)] = min(a, b)
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
