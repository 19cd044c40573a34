"""The DAGs on which all peers are measured."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pipeline.operator.stages.residuals import drawn

SEED = 20190623
_EDGES = 2  # dependencies for each instruction of a random DAG


def corpus_dags(table: Path, n: int, batch: int) -> np.ndarray:
    """(batch, n, n) bool: dependencies of blocks of the corpus with n instructions, drawn by seed.

    If the corpus has fewer such blocks than `batch`, they are repeated from the first.
    Raises FileNotFoundError if the table is missing, and ValueError if it has no such block.
    """
    if not table.exists():
        raise FileNotFoundError(f"{table} is missing: run `make reproduce` first; it builds the corpus and its DAGs")
    dags = drawn(table, n, batch, SEED)
    if not len(dags):
        raise ValueError(f"{table}: no block of {n} instructions has a dependency; choose other --sizes")
    return dags[np.arange(batch) % len(dags)]


def random_dags(size: int, n: int, rng: np.random.Generator) -> np.ndarray:
    """(size, n, n) bool: transitive reductions of random DAGs, each with about 2 n dependencies."""
    return np.stack([_random_dag(n, rng) for _ in range(size)])


def _random_dag(n: int, rng: np.random.Generator) -> np.ndarray:
    density = 2 * _EDGES / max(1, n - 1)  # of all pairs; some of them the reduction drops again
    candidates = [_reduction(np.triu(rng.random((n, n)) < factor * density, 1)) for factor in (1.0, 1.3, 1.6, 1.9, 2.2)]
    chosen = min(candidates, key=lambda candidate: abs(int(candidate.sum()) - _EDGES * n))
    names = rng.permutation(n)
    return chosen[names][:, names]


def _reduction(relation: np.ndarray) -> np.ndarray:
    """Transitive reduction of a strictly upper triangular relation."""
    closure = relation.copy()
    for middle in range(len(relation)):
        closure |= closure[:, middle : middle + 1] & closure[middle : middle + 1]
    return closure & ~((closure.astype(np.float32) @ closure.astype(np.float32)) > 0)
