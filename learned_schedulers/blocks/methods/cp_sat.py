"""OR-Tools CP-SAT on the in-order model of a machine: an optimum, or a proven lower bound.

It starts with stochastic search (search.py). If the lower bound does not prove that order optimal, CP-SAT
searches for an order of fewer cycles (on_machine/constraints.py), for the budget's `seconds` of its deterministic time
for each block. The in-order model times the order that it finds, and search improves it. An order is proven optimal if
the solution's `cycles` equal its `bound`. Because the machine chooses units in turn, it is possible that no order
reaches CP-SAT's bound; then the question remains open.
"""

from __future__ import annotations

import numpy as np

from learned_schedulers.blocks.method_settings import CpSat as Settings
from learned_schedulers.blocks.methods import Budget, Solution
from learned_schedulers.blocks.methods.on_machine import constraints
from learned_schedulers.blocks.methods.on_machine.annealing import ANNEALING, search
from learned_schedulers.blocks.methods.on_machine.bounds import root_bound
from learned_schedulers.blocks.methods.on_machine.graph import graph
from learned_schedulers.blocks.methods.on_machine.supported import in_order, solve_supported
from learned_schedulers.blocks.methods.search import search_in_order
from learned_schedulers.blocks.problems.problems import Problems
from learned_schedulers.blocks.processors.costs import Processor
from learned_schedulers.blocks.processors.in_order import Costs, block_of, makespan_of, new_pipeline


class CpSat:
    def __init__(self, settings: Settings, machine: Processor) -> None:
        self._machine = in_order(machine, "cp_sat")

    def solve(self, problems: Problems, rng: np.random.Generator, budget: Budget) -> Solution:
        return solve_supported(self._machine, problems, lambda part: self._solve(part, rng, budget))

    def _solve(self, problems: Problems, rng: np.random.Generator, budget: Budget) -> Solution:
        costs = self._machine.costs(problems.instructions)
        order = search_in_order(problems, costs, ANNEALING, budget.evaluations, rng)
        proven = [_improve(costs, b, problems.precedes[b], order[b], rng, budget) for b in range(len(order))]
        cycles, bound = np.array(proven, np.int32).reshape(-1, 2).T
        return Solution.of({"none": order}, cycles=cycles, bound=bound)


def _improve(
    costs: Costs, b: int, precedes: np.ndarray, order: np.ndarray, rng: np.random.Generator, budget: Budget
) -> tuple[int, int]:
    """Improve one order in place; returns its cycles and a lower bound on those of any order."""
    block = block_of(costs, b)
    relations = graph(block, precedes)
    pipeline = new_pipeline(costs.unit_cycles.shape[2], len(costs.groups), len(order))
    cycles, bound = makespan_of(block, order, pipeline), root_bound(block, relations)
    if cycles > bound and budget.seconds > 0:
        seed = int(rng.integers(2**31))
        answer = constraints.solve(block, relations, bound, cycles, budget.seconds, seed)
        bound = answer.bound
        if answer.order is not None:
            new_cycles = search(
                block, relations.reach, answer.order, bound, ANNEALING, budget.evaluations, rng, pipeline
            )
            if new_cycles < cycles:
                order[:], cycles = answer.order, new_cycles
    return cycles, min(cycles, bound)


make = CpSat
