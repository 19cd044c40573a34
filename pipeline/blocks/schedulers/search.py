"""Stochastic search on the model of the request's machine, in order or not.

`schedulers.<name>.search`: restarts, annealing or mcmc (on_machine/annealing.py); `schedulers.<name>.evaluations`:
orders timed for each block. A block whose order reaches its lower bound is left early. The start is list scheduling
in order; out of order the best by the model of list scheduling with two priorities, as if the machine issued in order,
list scheduling without a machine, and the order in which the block is shown.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from pipeline.blocks.dag.topology import count_violations
from pipeline.blocks.latency import in_order, model
from pipeline.blocks.problems.problems import Problems
from pipeline.blocks.schedulers import Optima, Request, needed_machine
from pipeline.blocks.schedulers.list_scheduling import list_schedule
from pipeline.blocks.schedulers.on_machine.annealing import search
from pipeline.blocks.schedulers.on_machine.either import Costs, Memory, bound_of, graph_of, memory, row_of

METHODS = ("restarts", "annealing", "mcmc")  # numbered as in on_machine/annealing.py
EVALUATIONS = 1000  # unless the settings say otherwise


class Search:
    def __init__(self, request: Request) -> None:
        self._machine = needed_machine(request, "search")
        self._method = METHODS.index(request.settings.search or "annealing")
        self._evaluations = request.settings.evaluations or EVALUATIONS

    def schedule(self, problems: Problems, rng: np.random.Generator) -> dict[str, np.ndarray]:
        return {"none": self.optima(problems, rng).order}

    def optima(self, problems: Problems, rng: np.random.Generator) -> Optima:
        """Orders, their cycles, and lower bounds on those of any order."""
        costs = model.costs(self._machine, problems.instructions)
        as_if_in_order = self._machine.costs(problems.instructions)
        order = first_orders(problems, costs, as_if_in_order)
        cycles, bound = improve(problems, costs, order, self._method, self._evaluations, rng)
        return Optima(order, cycles, bound)


def searched(
    problems: Problems, costs: in_order.Costs, method: int, evaluations: int, rng: np.random.Generator
) -> np.ndarray:
    """The best orders found on an in-order machine, (B, n) int16. method: index into METHODS."""
    order = first_orders(problems, costs, costs)
    improve(problems, costs, order, method, evaluations, rng)
    return order


def first_orders(problems: Problems, costs: Costs, as_if_in_order: in_order.Costs) -> np.ndarray:
    """Legal orders to begin with, (B, n) int16."""
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
    problems: Problems, costs: Costs, order: np.ndarray, method: int, evaluations: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Improve legal orders (B, n) in place; returns their cycles and the lower bounds of any order, (B,) int32."""
    cycles, bound = np.empty(len(order), np.int32), np.empty(len(order), np.int32)
    precedes = np.ascontiguousarray(problems.precedes)
    _improve(costs, precedes, order, method, evaluations, rng, memory(costs), cycles, bound)
    return cycles, bound


@njit(cache=True, nogil=True)
def _improve(
    costs: Costs,
    precedes: np.ndarray,
    order: np.ndarray,
    method: int,
    evaluations: int,
    rng: np.random.Generator,
    memory: Memory,
    cycles: np.ndarray,
    bound: np.ndarray,
) -> None:
    for b in range(len(order)):
        block = row_of(costs, b)
        known = graph_of(block, precedes[b])
        bound[b] = bound_of(block, known)
        cycles[b] = search(block, known.reach, order[b], bound[b], method, evaluations, rng, memory)


make = Search
