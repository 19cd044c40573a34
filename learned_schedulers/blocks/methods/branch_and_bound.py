"""Branch and bound on the in-order model of the machine: orders that are proven optimal if the budget suffices.

It starts with stochastic search (search.py). The budget's `states` limits the beginnings of orders that it
visits for each block, so the result does not depend on the speed of the computer. An order is proven optimal if the
solution's `cycles` equal its `bound`.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numba import njit

from learned_schedulers.blocks.method_settings import MethodSettings, asks
from learned_schedulers.blocks.methods import Budget, Solution
from learned_schedulers.blocks.methods.on_machine import branching
from learned_schedulers.blocks.methods.on_machine.annealing import ANNEALING
from learned_schedulers.blocks.methods.on_machine.graph import graph
from learned_schedulers.blocks.methods.on_machine.supported import in_order, solve_supported
from learned_schedulers.blocks.methods.search import search_in_order
from learned_schedulers.blocks.problems.problems import Problems
from learned_schedulers.blocks.processors.costs import Processor
from learned_schedulers.blocks.processors.in_order import Costs, block_of
from learned_schedulers.section import Positive


class Settings(MethodSettings):
    needs: ClassVar = asks("machine")

    evaluations: Positive = 300  # orders of each block that the initial search times
    states: Positive = 100_000  # beginnings of orders of each block that it visits


class BranchAndBound:
    def __init__(self, settings: Settings, machine: Processor) -> None:
        self._machine = in_order(machine, "branch_and_bound")
        self._visited: tuple[int, branching.VisitedStates] | None = None  # for this number of states

    def solve(self, problems: Problems, rng: np.random.Generator, budget: Budget) -> Solution:
        n = problems.latencies.shape[1]
        if n > branching.LARGEST:
            message = f"branch_and_bound takes blocks of at most {branching.LARGEST} instructions, not of {n}"
            return Solution.unsupported(problems, [message] * len(problems))
        return solve_supported(self._machine, problems, lambda part: self._solve(part, rng, budget))

    def _solve(self, problems: Problems, rng: np.random.Generator, budget: Budget) -> Solution:
        costs = self._machine.costs(problems.instructions)
        order = search_in_order(problems, costs, ANNEALING, budget.evaluations, rng)
        if self._visited is None or self._visited[0] != budget.states:
            self._visited = budget.states, branching.visited_states(budget.states)
        cycles, bound = np.empty(len(order), np.int32), np.empty(len(order), np.int32)
        _solve_each(
            costs, np.ascontiguousarray(problems.precedes), order, budget.states, self._visited[1], cycles, bound
        )
        return Solution.of({"none": order}, cycles=cycles, bound=bound)


@njit(cache=True, nogil=True)
def _solve_each(
    costs: Costs,
    precedes: np.ndarray,
    order: np.ndarray,
    states: int,
    visited: branching.VisitedStates,
    cycles: np.ndarray,
    bound: np.ndarray,
) -> None:
    for b in range(len(order)):
        block = block_of(costs, b)
        cycles[b], bound[b], _ = branching.branch_and_bound(block, graph(block, precedes[b]), order[b], states, visited)


make = BranchAndBound
