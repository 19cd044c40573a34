"""Random partial orders, and their legal orders by brute force."""

from __future__ import annotations

from itertools import permutations

import numpy as np
from hypothesis import strategies as st


@st.composite
def dags(draw: st.DrawFn, largest: int = 6, smallest: int = 1) -> np.ndarray:
    """(n, n) bool adjacency of a DAG with shuffled numbering."""
    n = draw(st.integers(smallest, largest))
    upper = np.triu(np.array(draw(st.lists(st.booleans(), min_size=n * n, max_size=n * n))).reshape(n, n), 1)
    order = np.array(draw(st.permutations(range(n))))
    return upper[order][:, order]


def legal_orders(precedes: np.ndarray) -> list[tuple[int, ...]]:
    """All legal orders: a test of every permutation."""
    n = len(precedes)
    edges = list(zip(*precedes.nonzero(), strict=True))
    orders = []
    for order in permutations(range(n)):
        slot = np.argsort(order)
        if all(slot[i] < slot[k] for i, k in edges):
            orders.append(order)
    return orders


def ragged(*matrices: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Adjacency matrices of any sizes as the arguments of `count_orders`."""
    edges = [matrix.nonzero() for matrix in matrices]
    offsets = np.cumsum([0, *(len(before) for before, _ in edges)])
    before, after = (np.concatenate([pair[endpoint] for pair in edges]).astype(np.uint8) for endpoint in (0, 1))
    return offsets, before, after, np.array([len(matrix) for matrix in matrices])


def chain(n: int) -> np.ndarray:
    return np.eye(n, k=1, dtype=bool)


def disjoint_union(*parts: np.ndarray) -> np.ndarray:
    """One DAG of independent parts."""
    n = sum(map(len, parts))
    union, begin = np.zeros((n, n), bool), 0
    for part in parts:
        union[begin : begin + len(part), begin : begin + len(part)] = part
        begin += len(part)
    return union


def grid(rows: int, columns: int) -> np.ndarray:
    """The product of two chains: its legal orders are the standard Young tableaux of a rectangle."""
    across, down = np.kron(np.eye(rows), np.eye(columns, k=1)), np.kron(np.eye(rows, k=1), np.eye(columns))
    return (across + down).astype(bool)


def zigzag(n: int) -> np.ndarray:
    """0 < 1 > 2 < 3 > ...: its legal orders are the alternating permutations."""
    precedes = np.zeros((n, n), bool)
    for i in range(n - 1):
        precedes[(i, i + 1) if i % 2 == 0 else (i + 1, i)] = True
    return precedes
