"""Random valid schedules: each step takes one of the ready operations, on one of the devices, all equally likely.

This control shows how much of a method's quality comes from taking the best of 1,000 alone.
"""

from __future__ import annotations

import time

import numpy as np
from numba import njit

from learned_schedulers.graphs.devices.targets import Target
from learned_schedulers.graphs.methods import Budget, Proposals
from learned_schedulers.graphs.methods.rules.proposing import proposed
from learned_schedulers.graphs.problems.problem import Problem
from learned_schedulers.method_settings import MethodSettings


class RandomValid:
    unequal = True

    def __init__(self, settings: MethodSettings) -> None:
        pass

    def propose(self, problem: Problem, rng: np.random.Generator, budget: Budget) -> Proposals:
        began = time.perf_counter()
        shape = (budget.proposals, len(problem))
        orders = np.empty(shape, np.int32)
        graph, waiting = problem.arrays, np.diff(problem.parents.offsets)
        for order in orders:  # numbers for one schedule at a time: they take more memory than its order
            _draw(graph.child_offsets, graph.children, waiting, rng.random(len(problem)), order)
        placements = rng.integers(0, problem.devices, shape, np.int32)
        return proposed(Target((problem,)), orders, placements, began)


@njit(cache=True)
def _draw(
    offsets: np.ndarray, children: np.ndarray, parent_counts: np.ndarray, uniforms: np.ndarray, order: np.ndarray
) -> None:
    """Fill `order`, (n,), by one uniform number in [0, 1) for each slot."""
    waiting, ready, n_ready = parent_counts.copy(), np.empty(len(order), np.int32), 0
    for i in range(len(order)):
        if waiting[i] == 0:
            ready[n_ready] = i
            n_ready += 1
    for t in range(len(order)):
        chosen = int(uniforms[t] * n_ready)
        order[t] = i = ready[chosen]
        n_ready -= 1
        ready[chosen] = ready[n_ready]
        for edge in range(offsets[i], offsets[i + 1]):
            waiting[children[edge]] -= 1
            if waiting[children[edge]] == 0:
                ready[n_ready] = children[edge]
                n_ready += 1


make = RandomValid
