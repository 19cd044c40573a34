"""Each operation on the device where it ends first, the most urgent ones first; then again with noise on the urgency.

An operation is urgent if the longest path behind it is long, transfers included (the upward rank of HEFT, Topcuoglu,
Hariri & Wu 2002). Noise is laid on the urgencies of the best schedule so far, so the tries are a search.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import ClassVar

import numpy as np

from learned_schedulers.graphs.devices.targets import Target
from learned_schedulers.graphs.methods import Budget, Proposals
from learned_schedulers.graphs.problems.problem import Edges, Problem
from learned_schedulers.method_settings import MethodSettings


class EarliestFinish:
    class Settings(MethodSettings):
        needs: ClassVar[frozenset[str]] = frozenset({"target"})  # it asks for the transfers; without this line, none
        tries: int = 50  # schedules that it builds, one evaluation each
        noise: float = 0.1  # standard deviation of the logarithm of an urgency

    def __init__(self, settings: Settings, target: Target) -> None:
        self._settings, self._problem = settings, target.mean

    def propose(self, problem: Problem, rng: np.random.Generator, budget: Budget) -> Proposals:
        """`problem` is the graph without transfers; `target.mean` is the same graph with them."""
        best, least, schedules = _urgency(self._problem), np.inf, []
        for number in range(min(self._settings.tries, budget.proposals, budget.evaluations)):
            noise = np.exp(self._settings.noise * rng.standard_normal(len(problem)) * (number > 0))
            order, placement, seconds = _schedule(self._problem, best * noise)
            schedules.append((order, placement))
            if seconds < least:
                best, least = best * noise, seconds
        orders, placements = np.array(schedules, np.int32).reshape(len(schedules), 2, len(problem)).transpose(1, 0, 2)
        return Proposals(orders, placements)


def _urgency(problem: Problem) -> np.ndarray:
    """(n,) seconds of the longest path that begins with each operation, with a transfer on each edge."""
    children, urgency = problem.children, np.zeros(len(problem))
    for i in reversed(range(len(problem))):  # children have higher numbers
        behind = urgency[children.targets[children.offsets[i] : children.offsets[i + 1]]]
        urgency[i] = problem.seconds[i] + (behind.max() + problem.delays[i] if len(behind) else 0.0)
    return urgency


def _schedule(problem: Problem, urgency: np.ndarray) -> tuple[list[int], list[int], float]:
    """Order of the operations, the device of each, and the seconds until all have ended."""
    n, devices = len(problem), range(problem.devices)
    seconds, delays, urgent = problem.seconds.tolist(), problem.delays.tolist(), urgency.tolist()
    parents, children = _neighbours(problem.parents), _neighbours(problem.children)
    waiting = [len(before) for before in parents]
    ready = [(-urgent[i], i) for i in range(n) if not waiting[i]]
    ready.sort()
    free, end, device, order = [0.0] * problem.devices, [0.0] * n, [0] * n, []
    while ready:
        _, i = heappop(ready)
        start = [
            max(free[d], max((end[p] + (delays[p] if device[p] != d else 0.0) for p in parents[i]), default=0.0))
            for d in devices
        ]
        device[i] = min(devices, key=lambda d: start[d])
        end[i] = free[device[i]] = start[device[i]] + seconds[i]
        order.append(i)
        for child in children[i]:
            waiting[child] -= 1
            if not waiting[child]:
                heappush(ready, (-urgent[child], child))
    return order, device, max(end, default=0.0)


def _neighbours(edges: Edges) -> list[list[int]]:
    """Of each operation, the operations that its edges lead to."""
    return [part.tolist() for part in np.split(edges.targets, edges.offsets[1:-1])]
