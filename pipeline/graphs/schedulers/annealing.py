"""Simulated annealing from list scheduling's schedule; it may see the target (setting `sees`).

A move takes one operation, and gives it another device, or another slot between its last parent and its first child.
Worse schedules are accepted with probability exp(-loss / temperature), which falls geometrically (Kirkpatrick et al.
1983). The proposals are the best of all that were evaluated, its start among them.
"""

from __future__ import annotations

import time

import numpy as np
from numba import njit

from pipeline.config.graph_methods.annealing import Settings
from pipeline.graphs.devices.simulator import run
from pipeline.graphs.devices.targets import Target
from pipeline.graphs.problems.problem import Problem
from pipeline.graphs.schedulers import Budget, Proposals
from pipeline.graphs.schedulers.rules.curve import curve
from pipeline.graphs.schedulers.rules.listing import by_critical_path


class Annealing:
    def __init__(self, settings: Settings, target: Target | None = None) -> None:
        self._settings, self._target = settings, target

    def propose(self, problem: Problem, rng: np.random.Generator, budget: Budget) -> Proposals:
        began = time.perf_counter()
        seen = self._target or Target((problem,))
        order, placement = by_critical_path(problem)
        moves = budget.evaluations - 1 if len(problem) else 0
        start = float(seen.seconds(order[None], placement[None])[0])
        temperatures = start * np.geomspace(self._settings.hot, self._settings.cold, moves)
        costs, orders, placements = annealed(seen, order, placement, start, temperatures, rng, budget.proposals)
        return Proposals(orders, placements, stats=curve(costs, time.perf_counter() - began))


def annealed(
    seen: Target,
    order: np.ndarray,
    placement: np.ndarray,
    start: float,
    temperatures: np.ndarray,
    rng: np.random.Generator,
    count: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Costs of all evaluated schedules, (E,), and the best `count` of these as orders and placements, (S, n).

    seen: what costs are of; order, placement: (n,), the schedule to start from, and its cost `start`; temperatures: of
    each move, (moves,).
    """
    problem = seen.draws[0]
    transfers, moves = problem.transfers, len(temperatures)
    costs = np.empty(moves + 1)
    costs[0] = start
    best = np.empty((2, min(count, moves + 1), len(order)), np.int32)
    best[:, 0] = order, placement
    _anneal(
        problem.parents.offsets,
        problem.parents.targets,
        problem.children.offsets,
        problem.children.targets,
        np.stack([draw.seconds for draw in seen.draws]),
        transfers.slope * problem.sizes + transfers.delay,
        problem.devices,
        order[None].copy(),  # the walk changes them
        placement[None].copy(),
        temperatures,
        rng.random((moves, 4)),
        costs,
        best,
    )
    return costs, best[0], best[1]


@njit(cache=True, nogil=True)
def _anneal(
    parent_offsets: np.ndarray,
    parents: np.ndarray,
    child_offsets: np.ndarray,
    children: np.ndarray,
    seconds: np.ndarray,
    delays: np.ndarray,
    n_devices: int,
    order: np.ndarray,
    placement: np.ndarray,
    temperatures: np.ndarray,
    uniforms: np.ndarray,
    costs: np.ndarray,
    best: np.ndarray,
) -> None:
    """Fill costs, (moves + 1,), and best, (2, S, n): orders and placements; the first of each is the start.

    seconds: (D, n), of each draw; order, placement: (1, n), changed in place; uniforms: (moves, 4), in [0, 1).
    """
    n = order.shape[1]
    slots, ends = np.empty(n, np.int64), np.empty((1, n))
    for t in range(n):
        slots[order[0, t]] = t
    kept = np.full(best.shape[1], np.inf)  # costs of the best ones
    kept[0] = current = costs[0]
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
            _shift(order[0], slots, before, first + int(uniforms[move, 2] * (last - first + 1)))
        cost = 0.0
        for draw in range(len(seconds)):
            ends[:] = np.nan
            run(parent_offsets, parents, seconds[draw], delays, n_devices, order, placement, ends)
            cost += ends.max() / len(seconds)
        costs[move + 1] = cost
        if filled < len(kept) or cost < kept[worst]:
            place = filled if filled < len(kept) else worst
            filled = max(filled, place + 1)
            kept[place], best[0, place], best[1, place] = cost, order[0], placement[0]
            worst = int(kept[:filled].argmax())
        if cost <= current or uniforms[move, 3] < np.exp((current - cost) / temperatures[move]):
            current = cost
        else:
            placement[0, i] = device
            _shift(order[0], slots, slots[i], before)


@njit(cache=True)
def _shift(order: np.ndarray, slots: np.ndarray, here: int, there: int) -> None:
    """The operation in slot `here` goes to slot `there`; those between move up by one."""
    i, step = order[here], 1 if there > here else -1
    for t in range(here, there, step):
        order[t] = order[t + step]
        slots[order[t]] = t
    order[there], slots[i] = i, there


make = Annealing
