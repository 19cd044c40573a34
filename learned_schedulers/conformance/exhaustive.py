"""The shortest makespan by trying every topological order with every placement: for problems of a few operations."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from learned_schedulers.graphs.devices.simulator import makespans
from learned_schedulers.graphs.problems.problem import Problem


def shortest(problem: Problem) -> float:
    """Seconds of the best schedule."""
    n = len(problem)
    orders = np.array(list(_orders(problem, [])), np.int32).reshape(-1, n)
    placements = np.array(list(product(range(problem.devices), repeat=n)), np.int32).reshape(-1, n)
    pairs = np.repeat(orders, len(placements), 0), np.tile(placements, (len(orders), 1))
    return float(makespans(problem, *pairs).min())


def _orders(problem: Problem, begun: list[int]) -> Iterator[list[int]]:
    if len(begun) == len(problem):
        yield begun
    for i in set(range(len(problem))) - set(begun):
        if set(problem.parents.targets[problem.parents.offsets[i] : problem.parents.offsets[i + 1]]) <= set(begun):
            yield from _orders(problem, [*begun, i])
