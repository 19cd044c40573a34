"""Stochastic search on the model of a machine, in order or out of order.

The setting `walk` is restarts, annealing or mcmc (on_machine/annealing.py). The budget's `evaluations` is the number of
orders timed for each block. The search of a block ends early if its order reaches the lower bound. On an in-order
machine it starts with list scheduling. On an out-of-order machine it starts with the best of four orders in the model:
list scheduling with two priorities, as if the machine issued in order; list scheduling without a machine; and the order
in which the block is shown.
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numba import njit

from learned_schedulers.blocks.dag.topology import count_violations
from learned_schedulers.blocks.method_settings import Search as Settings
from learned_schedulers.blocks.methods import Budget, Solution
from learned_schedulers.blocks.methods.list_scheduling import list_schedule
from learned_schedulers.blocks.methods.on_machine.annealing import search
from learned_schedulers.blocks.methods.on_machine.either import Costs, Memory, bound_of, graph_of, memory, row_of
from learned_schedulers.blocks.methods.on_machine.supported import solve_supported
from learned_schedulers.blocks.problems.problems import Problems
from learned_schedulers.blocks.processors import in_order, model
from learned_schedulers.blocks.processors.costs import Processor

Walk = Literal["restarts", "annealing", "mcmc"]


WALKS = get_args(Walk)  # numbered as in on_machine/annealing.py


class Search:
    def __init__(self, settings: Settings, machine: Processor) -> None:
        self._machine, self._walk = machine, WALKS.index(settings.walk)

    def solve(self, problems: Problems, rng: np.random.Generator, budget: Budget) -> Solution:
        return solve_supported(self._machine, problems, lambda part: self._solve(part, rng, budget))

    def _solve(self, problems: Problems, rng: np.random.Generator, budget: Budget) -> Solution:
        costs = model.costs(self._machine, problems.instructions)
        order = starting_orders(problems, costs, self._machine.costs(problems.instructions))
        cycles, bound = improve(problems, costs, order, self._walk, budget.evaluations, rng)
        return Solution.of({"none": order}, cycles=cycles, bound=bound)


def search_in_order(
    problems: Problems, costs: in_order.Costs, walk: int, evaluations: int, rng: np.random.Generator
) -> np.ndarray:
    """The best orders that search finds on an in-order machine, (B, n) int16. walk: index into WALKS."""
    order = starting_orders(problems, costs, costs)
    improve(problems, costs, order, walk, evaluations, rng)
    return order


def starting_orders(problems: Problems, costs: Costs, as_if_in_order: in_order.Costs) -> np.ndarray:
    """Legal orders with which the search starts, (B, n) int16."""
    listed = list_schedule(problems, "critical_path", as_if_in_order)
    if isinstance(costs, in_order.Costs):
        return listed
    size, n = listed.shape
    shown = np.tile(np.arange(n, dtype=np.int16), (size, 1))
    shown = np.where(count_violations(problems.precedes, shown)[:, None] > 0, listed, shown)
    weighted = list_schedule(problems, "weighted_height", as_if_in_order)
    starts = np.stack([weighted, listed, list_schedule(problems, "critical_path", None), shown], axis=1)
    return starts[np.arange(size), model.makespans(costs, starts).argmin(1)]


def improve(
    problems: Problems, costs: Costs, order: np.ndarray, walk: int, evaluations: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Improve legal orders (B, n) in place; returns their cycles and the lower bounds of any order, (B,) int32."""
    cycles, bound = np.empty(len(order), np.int32), np.empty(len(order), np.int32)
    precedes = np.ascontiguousarray(problems.precedes)
    _improve(costs, precedes, order, walk, evaluations, rng, memory(costs), cycles, bound)
    return cycles, bound


@njit(cache=True, nogil=True)
def _improve(
    costs: Costs,
    precedes: np.ndarray,
    order: np.ndarray,
    walk: int,
    evaluations: int,
    rng: np.random.Generator,
    memory: Memory,
    cycles: np.ndarray,
    bound: np.ndarray,
) -> None:
    for b in range(len(order)):
        block = row_of(costs, b)
        relations = graph_of(block, precedes[b])
        bound[b] = bound_of(block, relations)
        cycles[b] = search(block, relations.reach, order[b], bound[b], walk, evaluations, rng, memory)


make = Search
