"""Of the many schedules of equal makespan, one that can be learned: as near to list scheduling as the makespan allows.

A solver returns any of them, by chance; a network that learns from unpredictable examples learns their mixture.
"""

from __future__ import annotations

import numpy as np

from pipeline.graphs.devices.simulator import makespans
from pipeline.graphs.problems.problem import Problem
from pipeline.graphs.schedulers.rules.listing import listed

_ROUNDING = 1e-12  # of a makespan


def settled(problem: Problem, order: np.ndarray) -> np.ndarray:
    """A legal order, (n,) int32, whose list schedule takes no longer than that of `order` and of list scheduling.

    order: (n,), legal. If list scheduling is as short, its priorities are the answer. Otherwise, slot by slot, the
    ready operation of the longest path that makes the schedule no longer moves to the front; this simulates O(n^2)
    schedules.
    """
    ranked, limit = by_tails(problem), makespan(problem, order)
    if makespan(problem, ranked) <= limit * (1 + _ROUNDING):
        return ranked
    for slot in range(len(order) - 1):
        candidates = _ready(problem, order, slot)
        moved = np.stack([_moved(order, source, slot) for source in candidates])
        short = _makespans(problem, moved) <= limit * (1 + _ROUNDING)
        order = moved[short.argmax()]  # the last candidate is already in the slot
    return order


def by_tails(problem: Problem) -> np.ndarray:
    """List scheduling's priorities as a legal order, (n,) int32: the longest path first, equal ones by number.

    It is legal because no path is longer than one that it ends, and operations are numbered in a topological order.
    """
    return np.argsort(-problem.tails, kind="stable").astype(np.int32)


def makespan(problem: Problem, order: np.ndarray) -> float:
    """Seconds of the list schedule whose priorities decrease along the order, (n,)."""
    return float(_makespans(problem, order[None])[0])


def _makespans(problem: Problem, orders: np.ndarray) -> np.ndarray:
    priorities = -np.argsort(orders, 1).astype(np.float64)
    return makespans(problem, *listed(problem, priorities, np.full(len(orders), problem.devices)))


def _ready(problem: Problem, order: np.ndarray, slot: int) -> np.ndarray:
    """Slots from `slot` on, of operations that wait for no operation there and have a longer path than that in `slot`.

    The longest path comes first, `slot` itself last.
    """
    n, rest = len(order), order[slot:]
    waits = np.zeros(n, bool)
    remaining = np.zeros(n, bool)
    remaining[rest] = True
    edges = remaining[problem.children.sources]
    waits[problem.children.targets[edges]] = True
    tails = problem.tails[rest]
    chosen = np.flatnonzero(~waits[rest] & (tails > tails[0]))
    by_path = chosen[np.argsort(-tails[chosen], kind="stable")]
    return slot + np.r_[by_path, 0]


def _moved(order: np.ndarray, source: int, slot: int) -> np.ndarray:
    """The order after the operation in slot `source` has moved to the front, to `slot`."""
    return np.r_[order[:slot], order[source], order[slot:source], order[source + 1 :]]
