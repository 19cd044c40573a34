"""DAGs of blocks of n instructions as matrices: closure, reduction, critical path, and checks of orders.

A relation on the instructions of B blocks is (B, n, n) bool; [b, i, k] is true if i must come before k.
"""

from __future__ import annotations

import numpy as np


def closure(precedes: np.ndarray) -> np.ndarray:
    """Transitive closure, (B, n, n) -> (B, n, n): row i holds the descendants of i, column i its ancestors."""
    reach = precedes.copy()
    for middle in range(precedes.shape[1]):  # Warshall 1962
        reach |= reach[:, :, middle, None] & reach[:, None, middle, :]
    return reach


def reduction(precedes: np.ndarray) -> np.ndarray:
    """Transitive reduction, the fewest edges with the same closure, (B, n, n) -> (B, n, n).

    Raises ValueError if a DAG has a cycle.
    """
    reach = closure(precedes)
    if reach.diagonal(axis1=1, axis2=2).any():
        raise ValueError("a dependency graph has a cycle: it has no unique transitive reduction")
    implied = np.zeros_like(reach)
    for middle in range(precedes.shape[1]):
        implied |= reach[:, :, middle, None] & reach[:, None, middle, :]
    return reach & ~implied


def heights(precedes: np.ndarray, latencies: np.ndarray) -> np.ndarray:
    """Longest latency-weighted path from each instruction to the end, itself included; the largest: critical path.

    precedes (B, n, n), latencies (B, n) cycles -> (B, n) int64 cycles.
    """
    height = latencies.astype(np.int64)
    for _ in range(precedes.shape[1] - 1):  # a path has at most n - 1 edges
        after = np.where(precedes, height[:, None, :], 0).max(2)
        height = latencies + after
    return height


def slots_of(order: np.ndarray) -> np.ndarray:
    """Inverse permutations: slot[b, i] of instruction i from order[b, t]. (B, n) -> (B, n)."""
    return np.argsort(order, axis=-1).astype(np.int16)


def count_violations(precedes: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Number of violated dependencies: pairs of `precedes` (B, n, n) that `order` (B, n) reverses."""
    slot = slots_of(order)
    reversed_pairs = slot[:, :, None] > slot[:, None, :]
    return (precedes & reversed_pairs).sum((1, 2))


def adjacency(
    n: int, before: list[np.ndarray], after: list[np.ndarray], kinds: list[np.ndarray] | None = None
) -> np.ndarray:
    """Edge lists of blocks of n instructions as (B, n, n): [b, i, k] is true if i must come before k.

    bool, or with `kinds` the uint16 kinds of the edges, 0 for pairs without an edge.
    """
    precedes = np.zeros((len(before), n, n), bool if kinds is None else np.uint16)
    rows = np.repeat(np.arange(len(before)), [len(edges) for edges in before])
    if len(rows):
        values = True if kinds is None else np.concatenate(kinds)
        precedes[rows, np.concatenate(before), np.concatenate(after)] = values
    return precedes
