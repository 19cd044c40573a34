"""Of the many schedules of equal makespan one that can be learned: as near to list scheduling as the makespan allows.

A solver ends at any of them, by chance; a network that learns what it cannot foresee learns their mixture.
"""

from __future__ import annotations

import numpy as np

from pipeline.graphs.devices.simulator import makespans
from pipeline.graphs.problems.problem import Problem
from pipeline.graphs.schedulers.rules.listing import listed

_ROUNDING = 1e-12  # of a makespan


def settled(problem: Problem, order: np.ndarray) -> np.ndarray:
    """A legal order, (n,) int32, whose list schedule takes no longer than that of `order` and of list scheduling.

    order: (n,), legal. Where list scheduling is as short, its priorities are the answer. Else slot by slot the ready
    operation of the longest path moves to the front that lengthens nothing; O(n^2) schedules.
    """
    ranked, limit = by_tails(problem), makespan(problem, order)
    if makespan(problem, ranked) <= limit * (1 + _ROUNDING):
        return ranked
    for slot in range(len(order) - 1):
        candidates = _ready(problem, order, slot)
        moved = np.stack([_moved(order, source, slot) for source in candidates])
        short = _makespans(problem, moved) <= limit * (1 + _ROUNDING)
        order = moved[short.argmax()]  # the last candidate stands there already
    return order


def by_tails(problem: Problem) -> np.ndarray:
    """List scheduling's priorities as a legal order, (n,) int32: the longest path first, of equals the lowest number.

    Legal as no path is longer than one that it is the end of, and operations are numbered in a topological order.
    """
    return np.argsort(-problem.tails, kind="stable").astype(np.int32)


def makespan(problem: Problem, order: np.ndarray) -> float:
    """Seconds of the list schedule whose priorities fall along the order, (n,)."""
    return float(_makespans(problem, order[None])[0])


def _makespans(problem: Problem, orders: np.ndarray) -> np.ndarray:
    priorities = -np.argsort(orders, 1).astype(np.float64)
    return makespans(problem, *listed(problem, priorities, np.full(len(orders), problem.devices)))


def _ready(problem: Problem, order: np.ndarray, slot: int) -> np.ndarray:
    """Slots, from `slot` on, of operations without a parent there and with a longer path than the one in `slot`.

    The longest path first, `slot` itself last.
    """
    n, rest = len(order), order[slot:]
    waits = np.zeros(n, bool)
    left = np.zeros(n, bool)
    left[rest] = True
    edges = left[problem.children.sources]
    waits[problem.children.targets[edges]] = True
    tails = problem.tails[rest]
    chosen = np.flatnonzero(~waits[rest] & (tails > tails[0]))
    by_path = chosen[np.argsort(-tails[chosen], kind="stable")]
    return slot + np.r_[by_path, 0]


def _moved(order: np.ndarray, source: int, slot: int) -> np.ndarray:
    """The operation in slot `source` moves to the front, to `slot`."""
    return np.r_[order[:slot], order[source], order[slot:source], order[source + 1 :]]
