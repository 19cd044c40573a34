"""OR-Tools CP-SAT on the in-order model of a machine: an optimum, or a proven lower bound.

The start is stochastic search (schedulers/search.py). Where that is not optimal by its lower bound already, CP-SAT
looks for an order of fewer cycles (on_machine/constraints.py), for the budget's `seconds` of its deterministic time for
each block. The order that it finds is timed by the in-order model and improved by search. It is proven optimal where
the solution's `cycles` equal its `bound`; where units are taken in turn no order may reach CP-SAT's bound, and the
question stays open (branch_and_bound answers it).
"""

from __future__ import annotations

import numpy as np

from pipeline.blocks.latency.costs import Processor
from pipeline.blocks.latency.in_order import Costs, idle, makespan_of
from pipeline.blocks.problems.problems import Problems
from pipeline.blocks.schedulers import Budget, Solution
from pipeline.blocks.schedulers.on_machine import constraints
from pipeline.blocks.schedulers.on_machine.annealing import ANNEALING, search
from pipeline.blocks.schedulers.on_machine.bounds import root_bound
from pipeline.blocks.schedulers.on_machine.graph import block_of, graph
from pipeline.blocks.schedulers.on_machine.supported import in_order, where_known
from pipeline.blocks.schedulers.search import searched
from pipeline.config.methods.cp_sat import Settings


class CpSat:
    def __init__(self, settings: Settings, machine: Processor) -> None:
        self._machine = in_order(machine, "cp_sat")

    def solve(self, problems: Problems, rng: np.random.Generator, budget: Budget) -> Solution:
        return where_known(self._machine, problems, lambda part: self._solve(part, rng, budget))

    def _solve(self, problems: Problems, rng: np.random.Generator, budget: Budget) -> Solution:
        costs = self._machine.costs(problems.instructions)
        order = searched(problems, costs, ANNEALING, budget.evaluations, rng)
        proven = [_improve(costs, b, problems.precedes[b], order[b], rng, budget) for b in range(len(order))]
        cycles, bound = np.array(proven, np.int32).reshape(-1, 2).T
        return Solution.of({"none": order}, cycles=cycles, bound=bound)


def _improve(
    costs: Costs, b: int, precedes: np.ndarray, order: np.ndarray, rng: np.random.Generator, budget: Budget
) -> tuple[int, int]:
    """Improve one order in place; its cycles and their lower bound."""
    block = block_of(costs, b)
    relations = graph(block, precedes)
    pipeline = idle(costs.held.shape[2], len(costs.groups), len(order))
    cycles, bound = makespan_of(block, order, pipeline), root_bound(block, relations)
    if cycles > bound and budget.seconds > 0:
        seed = int(rng.integers(2**31))
        answer = constraints.solve(block, relations, bound, cycles, budget.seconds, seed)
        bound = answer.bound
        if answer.order is not None:
            new = search(block, relations.reach, answer.order, bound, ANNEALING, budget.evaluations, rng, pipeline)
            if new < cycles:
                order[:], cycles = answer.order, new
    return cycles, min(cycles, bound)


make = CpSat
