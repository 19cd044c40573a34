"""Decoders against brute force over all permutations."""

from __future__ import annotations

from itertools import permutations

import numpy as np

from pipeline.dag.topology import count_violations
from pipeline.operators.decoding import hungarian, topological_fill


def test_hungarian_is_the_best_of_all_permutations() -> None:
    matrices = np.random.default_rng(0).normal(size=(50, 4, 4))
    for matrix, order in zip(matrices, hungarian(matrices), strict=True):
        weights = [sum(matrix[i, t] for t, i in enumerate(p)) for p in permutations(range(4))]
        assert sum(matrix[i, t] for t, i in enumerate(order)) == max(weights)


def test_topological_fill_is_legal_where_hungarian_is_not() -> None:
    rng = np.random.default_rng(0)
    precedes = np.triu(rng.random((500, 5, 5)) < 0.3, 1)
    matrices = rng.normal(size=(500, 5, 5))
    assert (count_violations(precedes, topological_fill(matrices, precedes)) == 0).all()
    assert (count_violations(precedes, hungarian(matrices)) > 0).any()


def test_topological_fill_follows_the_matrix_where_it_may() -> None:
    matrix = np.eye(3)[[2, 0, 1]][None]  # instruction 0 in slot 2, 1 in slot 0, 2 in slot 1
    assert topological_fill(matrix, np.zeros((1, 3, 3), bool)).tolist() == [[1, 2, 0]]
    precedes = np.zeros((1, 3, 3), bool)
    precedes[0, 0, 1] = True
    assert topological_fill(matrix, precedes)[0].tolist().index(0) < topological_fill(matrix, precedes)[
        0
    ].tolist().index(1)
