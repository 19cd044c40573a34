"""An order proven optimal on the in-order model of the request's machine, by branch and bound, where time allows.

The start is stochastic search (schedulers/search.py). `schedulers.<name>.states` bounds the beginnings of orders that
are looked at for each block, so the result does not depend on the speed of the computer. `optima` says what is proven.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from pipeline.blocks.latency.in_order import Costs
from pipeline.blocks.problems.problems import Problems
from pipeline.blocks.schedulers import Optima, Request, needed_in_order_machine
from pipeline.blocks.schedulers.on_machine import branching
from pipeline.blocks.schedulers.on_machine.graph import block_of, graph
from pipeline.blocks.schedulers.search import METHODS, searched

STATES = 100_000  # unless the settings say otherwise
EVALUATIONS = 300


class BranchAndBound:
    def __init__(self, request: Request) -> None:
        self._machine = needed_in_order_machine(request, "branch_and_bound")
        self._evaluations = request.settings.evaluations or EVALUATIONS
        self._known = branching.seen(request.settings.states or STATES)
        self._states = request.settings.states or STATES

    def schedule(self, problems: Problems, rng: np.random.Generator) -> dict[str, np.ndarray]:
        return {"none": self.optima(problems, rng).order}

    def optima(self, problems: Problems, rng: np.random.Generator) -> Optima:
        """Orders, their cycles, and lower bounds on those of any order."""
        n = problems.latencies.shape[1]
        if n > branching.LARGEST:
            raise ValueError(f"branch_and_bound takes blocks of at most {branching.LARGEST} instructions, not of {n}")
        costs = self._machine.costs(problems.instructions)
        order = searched(problems, costs, METHODS.index("annealing"), self._evaluations, rng)
        cycles, bound = np.empty(len(order), np.int32), np.empty(len(order), np.int32)
        _solve(costs, np.ascontiguousarray(problems.precedes), order, self._states, self._known, cycles, bound)
        return Optima(order, cycles, bound)


@njit(cache=True, nogil=True)
def _solve(
    costs: Costs,
    precedes: np.ndarray,
    order: np.ndarray,
    states: int,
    known: branching.Seen,
    cycles: np.ndarray,
    bound: np.ndarray,
) -> None:
    for b in range(len(order)):
        block = block_of(costs, b)
        found = branching.branch_and_bound(block, graph(block, precedes[b]), order[b], states, known)
        cycles[b], bound[b] = found[0], found[1]


make = BranchAndBound
