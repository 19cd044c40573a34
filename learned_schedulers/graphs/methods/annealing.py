"""Simulated annealing from list scheduling's schedule; it may see the target (setting `sees`).

A move gives one operation another device, or another slot between its last parent and its first child. Worse schedules
are accepted with probability exp(-loss / temperature), where the temperature falls geometrically (Kirkpatrick et al.
1983). The proposals are the best of all evaluated schedules, the start included.
"""

from __future__ import annotations

import time
from typing import Annotated, NamedTuple

import numpy as np
from numba import njit
from pydantic import Field

from learned_schedulers.graphs.devices.simulator import run
from learned_schedulers.graphs.devices.targets import Target
from learned_schedulers.graphs.method_settings import Annealing as Settings
from learned_schedulers.graphs.methods import Budget, Proposals
from learned_schedulers.graphs.methods.rules.listing import by_critical_path
from learned_schedulers.graphs.methods.rules.proposing import curve
from learned_schedulers.graphs.methods.rules.walking import shift
from learned_schedulers.graphs.problems.problem import GraphArrays, Problem

Share = Annotated[float, Field(gt=0)]


class Annealing:
    unequal = True

    def __init__(self, settings: Settings, target: Target | None = None) -> None:
        self._settings, self._target = settings, target

    def propose(self, problem: Problem, rng: np.random.Generator, budget: Budget) -> Proposals:
        began = time.perf_counter()
        visible_target = self._target or Target((problem,))
        order, placement = by_critical_path(problem)
        moves = budget.evaluations - 1 if len(problem) else 0
        start = float(visible_target.seconds(order[None], placement[None])[0])
        temperatures = start * np.geomspace(self._settings.hot, self._settings.cold, moves)
        costs, orders, placements = annealed(
            visible_target, order, placement, start, temperatures, rng, budget.proposals
        )
        return Proposals(orders, placements, stats=curve(costs, time.perf_counter() - began))


def annealed(
    visible_target: Target,
    order: np.ndarray,
    placement: np.ndarray,
    start: float,
    temperatures: np.ndarray,
    rng: np.random.Generator,
    count: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Costs of all evaluated schedules, (E,), and the best `count` of them as orders and placements, (S, n).

    visible_target: its costs are used; order, placement: (n,), the schedule to start from, and its cost `start`;
    temperatures: (moves,), of each move.
    """
    problem = visible_target.draws[0]
    moves = len(temperatures)
    shape = (min(count, moves + 1), len(order))
    results = _Results(np.empty(moves + 1), np.empty(shape, np.int32), np.empty(shape, np.int32))
    results.costs[0], results.orders[0], results.placements[0] = start, order, placement
    graph = problem.arrays._replace(seconds=np.stack([draw.arrays.seconds for draw in visible_target.draws]))
    uniforms = rng.random((moves, 4))
    _anneal(graph, problem.devices, order[None].copy(), placement[None].copy(), temperatures, uniforms, results)
    return results.costs, results.orders, results.placements


class _Results(NamedTuple):
    """The evaluated schedules; the start is the first of each."""

    costs: np.ndarray  # (moves + 1,) seconds of all schedules
    orders: np.ndarray  # (S, n) int32, of the best ones
    placements: np.ndarray  # (S, n) int32, of the best ones


@njit(cache=True, nogil=True)
def _anneal(
    graph: GraphArrays,
    n_devices: int,
    order: np.ndarray,
    placement: np.ndarray,
    temperatures: np.ndarray,
    uniforms: np.ndarray,
    results: _Results,
) -> None:
    """Fill `results`, whose first row is the start.

    graph: its seconds are (D, k, n), of each draw; order, placement: (1, n), changed in place; uniforms: (moves, 4)
    numbers in [0, 1).
    """
    parents, parent_offsets = graph.parents, graph.parent_offsets
    children, child_offsets = graph.children, graph.child_offsets
    seconds, costs = graph.seconds, results.costs
    n = order.shape[1]
    slots, ends = np.empty(n, np.int64), np.empty((1, n))
    for t in range(n):
        slots[order[0, t]] = t
    best_costs = np.full(len(results.orders), np.inf)
    best_costs[0] = current = costs[0]
    filled, worst = 1, 0
    for move in range(len(temperatures)):
        i = int(uniforms[move, 0] * n)
        before, device = slots[i], placement[0, i]
        if uniforms[move, 1] < 0.5 and n_devices > 1:
            placement[0, i] = (device + 1 + int(uniforms[move, 2] * (n_devices - 1))) % n_devices
        else:
            first, last = 0, n - 1
            for edge in range(parent_offsets[i], parent_offsets[i + 1]):
                first = max(first, slots[parents[edge]] + 1)
            for edge in range(child_offsets[i], child_offsets[i + 1]):
                last = min(last, slots[children[edge]] - 1)
            shift(order[0], slots, before, first + int(uniforms[move, 2] * (last - first + 1)))
        cost = 0.0
        for draw in range(len(seconds)):
            ends[:] = np.nan
            run(graph, seconds[draw], n_devices, order, placement, ends)
            cost += ends.max() / len(seconds)
        costs[move + 1] = cost
        if filled < len(best_costs) or cost < best_costs[worst]:
            place = filled if filled < len(best_costs) else worst
            filled = max(filled, place + 1)
            best_costs[place], results.orders[place], results.placements[place] = cost, order[0], placement[0]
            worst = int(best_costs[:filled].argmax())
        if cost <= current or uniforms[move, 3] < np.exp((current - cost) / temperatures[move]):
            current = cost
        else:
            placement[0, i] = device
            shift(order[0], slots, slots[i], before)


make = Annealing
