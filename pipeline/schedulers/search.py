"""Stochastic search on the in-order model of the request's machine, from list scheduling on.

`schedulers.<name>.search`: restarts, annealing or mcmc (on_machine/annealing.py); `schedulers.<name>.evaluations`:
orders timed for each block. A block whose order reaches its lower bound is left early.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from pipeline.latency.in_order import Costs, idle
from pipeline.models.problems import Problems
from pipeline.schedulers import Request, needed_machine
from pipeline.schedulers.list_scheduling import list_schedule
from pipeline.schedulers.on_machine.annealing import search
from pipeline.schedulers.on_machine.bounds import root_bound
from pipeline.schedulers.on_machine.graph import block_of, graph

METHODS = ("restarts", "annealing", "mcmc")  # numbered as in on_machine/annealing.py
EVALUATIONS = 1000  # unless the settings say otherwise


class Search:
    def __init__(self, request: Request) -> None:
        self._machine = needed_machine(request, "search")
        self._method = METHODS.index(request.settings.search or "annealing")
        self._evaluations = request.settings.evaluations or EVALUATIONS

    def schedule(self, problems: Problems, rng: np.random.Generator) -> dict[str, np.ndarray]:
        costs = self._machine.costs(problems.instructions)
        return {"none": searched(problems, costs, self._method, self._evaluations, rng)}


def searched(problems: Problems, costs: Costs, method: int, evaluations: int, rng: np.random.Generator) -> np.ndarray:
    """The best orders found, (B, n) int16. method: index into METHODS."""
    order = list_schedule(problems, "critical_path", costs)
    _search(costs, np.ascontiguousarray(problems.precedes), order, method, evaluations, rng)
    return order


@njit(cache=True, nogil=True)
def _search(
    costs: Costs,
    precedes: np.ndarray,
    order: np.ndarray,
    method: int,
    evaluations: int,
    rng: np.random.Generator,
) -> None:
    size, n = order.shape
    pipeline = idle(costs.held.shape[2], len(costs.groups), n)
    for b in range(size):
        block = block_of(costs, b)
        known = graph(block, precedes[b])
        search(block, known.reach, order[b], root_bound(block, known), method, evaluations, rng, pipeline)


make = Search
