"""From schedules, or placements alone, to proposals with their anytime curve."""

from __future__ import annotations

import time

import numpy as np

from pipeline.graphs.devices.targets import Target
from pipeline.graphs.problems.problem import Problem
from pipeline.graphs.schedulers import Proposals
from pipeline.graphs.schedulers.rules.curve import curve
from pipeline.graphs.schedulers.rules.repair import repaired


def proposed(seen: Target, orders: np.ndarray, placements: np.ndarray, began: float) -> Proposals:
    """Proposals of S schedules, each evaluated once.

    seen: what the costs of the curve are of; began: `time.perf_counter()` when the method was asked.
    """
    costs = seen.seconds(orders, placements)
    return Proposals(orders, placements, stats=curve(costs, time.perf_counter() - began))


def placed(problem: Problem, placements: np.ndarray, began: float) -> Proposals:
    """Proposals of P placements, (P, n): repaired where they exceed the memory, and ordered by the one rule.

    Those that cannot be repaired are left out; unsupported where none can.
    """
    schedules = [schedule for row in placements if (schedule := repaired(problem, row)) is not None]
    if not schedules:
        return Proposals.unsupported(
            len(problem), f"the placement needs more than the {problem.memory:g} bytes of a device, repaired or not"
        )
    orders, fitting = (np.stack(part) for part in zip(*schedules, strict=True))
    return proposed(Target((problem,)), orders, fitting, began)
