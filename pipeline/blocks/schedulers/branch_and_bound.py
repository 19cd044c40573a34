"""An order proven optimal on the in-order model of the request's machine, by branch and bound, where time allows.

The start is stochastic search (schedulers/search.py). The budget's `states` bounds the beginnings of orders that are
looked at for each block, so the result does not depend on the speed of the computer. An order is proven optimal where
the solution's `cycles` equal its `bound`.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from pipeline.blocks.latency.costs import Processor
from pipeline.blocks.latency.in_order import Costs
from pipeline.blocks.problems.problems import Problems
from pipeline.blocks.schedulers import Budget, Solution
from pipeline.blocks.schedulers.on_machine import branching
from pipeline.blocks.schedulers.on_machine.annealing import ANNEALING
from pipeline.blocks.schedulers.on_machine.graph import block_of, graph
from pipeline.blocks.schedulers.on_machine.supported import in_order, where_known
from pipeline.blocks.schedulers.search import searched
from pipeline.config.methods.branch_and_bound import Settings


class BranchAndBound:
    def __init__(self, settings: Settings, machine: Processor) -> None:
        self._machine = in_order(machine, "branch_and_bound")
        self._seen: tuple[int, branching.Seen] | None = None  # for so many states

    def solve(self, problems: Problems, rng: np.random.Generator, budget: Budget) -> Solution:
        n = problems.latencies.shape[1]
        if n > branching.LARGEST:
            message = f"branch_and_bound takes blocks of at most {branching.LARGEST} instructions, not of {n}"
            return Solution.unsupported(problems, [message] * len(problems))
        return where_known(self._machine, problems, lambda part: self._solve(part, rng, budget))

    def _solve(self, problems: Problems, rng: np.random.Generator, budget: Budget) -> Solution:
        costs = self._machine.costs(problems.instructions)
        order = searched(problems, costs, ANNEALING, budget.evaluations, rng)
        if self._seen is None or self._seen[0] != budget.states:
            self._seen = budget.states, branching.seen(budget.states)
        cycles, bound = np.empty(len(order), np.int32), np.empty(len(order), np.int32)
        _solve(costs, np.ascontiguousarray(problems.precedes), order, budget.states, self._seen[1], cycles, bound)
        return Solution.of({"none": order}, cycles=cycles, bound=bound)


@njit(cache=True, nogil=True)
def _solve(
    costs: Costs,
    precedes: np.ndarray,
    order: np.ndarray,
    states: int,
    seen: branching.Seen,
    cycles: np.ndarray,
    bound: np.ndarray,
) -> None:
    for b in range(len(order)):
        block = block_of(costs, b)
        cycles[b], bound[b], _ = branching.branch_and_bound(block, graph(block, precedes[b]), order[b], states, seen)


make = BranchAndBound
