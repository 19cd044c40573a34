"""Chain edges and the differences of schedules, by hand and against sets of pairs."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest

from learned_schedulers.graphs.devices.distances import chains, diversity
from tests.graphs.problems import drawn

ORDERS = np.array([[0, 1, 2, 3], [0, 1, 2, 3], [1, 0, 2, 3]], np.int32)
PLACEMENTS = np.array([[0, 0, 1, 1], [1, 1, 0, 0], [0, 0, 0, 0]], np.int32)


def test_by_hand() -> None:
    """0-1 and 2-3; the same with exchanged devices; 1-0, 0-2 and 2-3."""
    assert chains(ORDERS, PLACEMENTS).tolist() == [[1, -1, 3, -1], [1, -1, 3, -1], [2, 0, 3, -1]]
    assert diversity(ORDERS[:2], PLACEMENTS[:2]) == 0.0
    assert diversity(ORDERS, PLACEMENTS) == pytest.approx(np.mean([0.0, 1 - 2 / 5, 1 - 2 / 5]))
    assert diversity(ORDERS[:1], PLACEMENTS[:1]) == 0.0
    assert diversity(ORDERS[:2, :0], PLACEMENTS[:2, :0]) == 0.0


def test_against_sets_of_pairs() -> None:
    problem = drawn.problem(np.random.default_rng(3), 15)
    orders, placements = drawn.schedules(problem, np.random.default_rng(4), 8)
    edges = []
    for order, placement in zip(orders.tolist(), placements.tolist(), strict=True):
        rows = [[i for i in order if placement[i] == device] for device in range(problem.devices)]
        edges.append({pair for row in rows for pair in pairwise(row)})
    expected = [len(a ^ b) / (len(a) + len(b)) for a, b in combinations(edges, 2)]
    assert diversity(orders, placements) == pytest.approx(np.mean(expected))
