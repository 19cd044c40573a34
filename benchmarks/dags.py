"""Random DAGs with as many dependencies as real blocks have."""

from __future__ import annotations

import numpy as np

# Mean number of dependencies (transitive reduction) of real blocks of n instructions.
EDGES = {5: 4, 10: 11, 20: 30, 40: 76, 64: 128}


def random_dags(size: int, n: int, rng: np.random.Generator) -> np.ndarray:
    """(size, n, n) bool: transitive reductions of random DAGs with about EDGES[n], else 2 n, edges."""
    return np.stack([_random_dag(n, EDGES.get(n, 2 * n), rng) for _ in range(size)])


def _random_dag(n: int, edges: int, rng: np.random.Generator) -> np.ndarray:
    candidates = [
        _reduction(np.triu(rng.random((n, n)) < factor * edges / max(1, n * (n - 1)), 1))
        for factor in (2, 2.6, 3.2, 3.8, 4.4)
    ]
    chosen = min(candidates, key=lambda found: abs(int(found.sum()) - edges))
    names = rng.permutation(n)
    return chosen[names][:, names]


def _reduction(relation: np.ndarray) -> np.ndarray:
    closure = relation.copy()
    for middle in range(len(relation)):
        closure |= closure[:, middle : middle + 1] & closure[middle : middle + 1]
    return closure & ~((closure.astype(np.int32) @ closure) > 0)
