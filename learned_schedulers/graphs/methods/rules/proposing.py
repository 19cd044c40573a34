"""Proposals with their anytime curve, from schedules or from placements alone.

An anytime curve says how good the best schedule was after so many evaluations, and after so much time.
"""

from __future__ import annotations

import time

import numpy as np

from learned_schedulers.graphs.devices.evaluation import Evaluated
from learned_schedulers.graphs.devices.targets import Target
from learned_schedulers.graphs.methods import Proposals
from learned_schedulers.graphs.methods.rules.repair import repaired
from learned_schedulers.graphs.methods.rules.squeeze import squeezed
from learned_schedulers.graphs.problems.problem import Problem


def proposed(visible_target: Target, orders: np.ndarray, placements: np.ndarray, began: float) -> Proposals:
    """Proposals of S schedules, each evaluated once.

    visible_target: its costs make the curve; began: `time.perf_counter()` at the start of the method.
    """
    costs = visible_target.seconds(orders, placements)
    return Proposals(orders, placements, stats=curve(costs, time.perf_counter() - began))


def placed(problem: Problem, placements: np.ndarray, began: float) -> Proposals:
    """Proposals from P placements, (P, n): repaired where they exceed the memory, and ordered by the one rule.

    Placements that cannot be repaired are left out. If none is left, the first one is squeezed (rules/squeeze.py); the
    result is unsupported if this fails too.
    """
    schedules = [schedule for row in placements if (schedule := repaired(problem, row)) is not None]
    if not schedules and (schedule := squeezed(problem, placements[0], np.random.default_rng(0))) is not None:
        schedules = [schedule]
    if not schedules:
        most = problem.memories.max()
        return Proposals.unsupported(
            len(problem), f"the placement needs more than the {most:g} bytes of a device, repaired, squeezed or not"
        )
    orders, fitting = (np.stack(part) for part in zip(*schedules, strict=True))
    return proposed(Target((problem,)), orders, fitting, began)


def of_search(best: Evaluated, costs: np.ndarray, began: float) -> Proposals:
    """The best schedule of a search and its improvements; unsupported if it does not fit, never silently invalid.

    best: S = 1; if nothing fits, the schedule that exceeds the memory least; costs: (E,) of all simulated schedules, in
    their sequence; began: `time.perf_counter()` at the start of the method.
    """
    if best.fits[0]:
        return Proposals(best.orders, best.placements, stats=improvements(costs, time.perf_counter() - began))
    n = best.placements.shape[1]
    return Proposals.unsupported(
        n,
        f"none of {len(costs)} simulated schedules fits devices of {np.max(best.memory):g} bytes: the nearest needs "
        f"{best.excess[0]:.1%} more in sum; take more devices, more memory, or more evaluations",
    )


def curve(costs: np.ndarray, seconds: float) -> dict[str, np.ndarray]:
    """A curve from the costs of E evaluated schedules, in their sequence: evaluations, best, seconds, (C,) each.

    evaluations: 1, 3, 10, 30, ... and E; best: the least cost so far; seconds: wall time, `seconds` at the end, spread
    evenly, as every evaluation of a method takes about the same time.
    """
    steps = [first * 10**power for power in range(10) for first in (1, 3)]
    points = np.array([*(step for step in steps if step < len(costs)), *([len(costs)] if len(costs) else [])], np.int64)
    best = np.minimum.accumulate(costs)[points - 1] if len(costs) else np.zeros(0)
    return {"evaluations": points, "best": best, "seconds": seconds * points / max(len(costs), 1)}


def improvements(costs: np.ndarray, seconds: float) -> dict[str, np.ndarray]:
    """As `curve`, but with a point wherever the least cost falls, and one at the end.

    costs: (E,) of evaluated schedules, in their sequence, infinite for an invalid one; there are no points before the
    first valid schedule.
    """
    least = np.minimum.accumulate(costs)
    falls = np.flatnonzero(np.isfinite(least) & (least < np.r_[np.inf, least[:-1]]))
    points = np.unique(np.r_[falls, [len(costs) - 1] if len(costs) and np.isfinite(least[-1]) else []]).astype(np.int64)
    return {"evaluations": points + 1, "best": least[points], "seconds": seconds * (points + 1) / max(len(costs), 1)}
