"""OR-Tools CP-SAT on the in-order model of the request's machine: an optimum, or a proven lower bound.

The start is stochastic search (schedulers/search.py). Where that is not optimal by its lower bound already, CP-SAT
looks for an order of fewer cycles (on_machine/constraints.py), for `schedulers.<name>.seconds` of its deterministic
time for each block. The order that it finds is timed by the in-order model and improved by search. `optima` says what
is proven: where units are taken in turn no order may reach CP-SAT's bound, and the question stays open
(branch_and_bound answers it).
"""

from __future__ import annotations

import numpy as np

from pipeline.blocks.latency.in_order import Costs, idle, makespan_of
from pipeline.blocks.problems.problems import Problems
from pipeline.blocks.schedulers import Optima, Request, needed_in_order_machine
from pipeline.blocks.schedulers.on_machine import constraints
from pipeline.blocks.schedulers.on_machine.annealing import search
from pipeline.blocks.schedulers.on_machine.bounds import root_bound
from pipeline.blocks.schedulers.on_machine.graph import block_of, graph
from pipeline.blocks.schedulers.search import METHODS, searched

SECONDS = 1.0  # unless the settings say otherwise
EVALUATIONS = 300


class CpSat:
    def __init__(self, request: Request) -> None:
        self._machine = needed_in_order_machine(request, "cp_sat")
        self._evaluations = request.settings.evaluations or EVALUATIONS
        self._seconds = request.settings.seconds or SECONDS

    def schedule(self, problems: Problems, rng: np.random.Generator) -> dict[str, np.ndarray]:
        return {"none": self.optima(problems, rng).order}

    def optima(self, problems: Problems, rng: np.random.Generator) -> Optima:
        """Orders, their cycles, and lower bounds on those of any order."""
        costs = self._machine.costs(problems.instructions)
        order = searched(problems, costs, METHODS.index("annealing"), self._evaluations, rng)
        proven = [self._solve(costs, b, problems.precedes[b], order[b], rng) for b in range(len(order))]
        cycles, bound = np.array(proven, np.int32).reshape(-1, 2).T
        return Optima(order, cycles, bound)

    def _solve(
        self, costs: Costs, b: int, precedes: np.ndarray, order: np.ndarray, rng: np.random.Generator
    ) -> tuple[int, int]:
        """Improve one order in place; its cycles and their lower bound."""
        block = block_of(costs, b)
        known = graph(block, precedes)
        pipeline = idle(costs.held.shape[2], len(costs.groups), len(order))
        cycles, bound = makespan_of(block, order, pipeline), root_bound(block, known)
        if cycles > bound:
            seed = int(rng.integers(2**31))
            found = constraints.solve(block, known, bound, cycles, self._seconds, seed)
            bound = found.bound
            if found.order is not None:
                annealing = METHODS.index("annealing")
                new = search(block, known.reach, found.order, bound, annealing, self._evaluations, rng, pipeline)
                if new < cycles:
                    order[:], cycles = found.order, new
        return cycles, min(cycles, bound)


make = CpSat
