"""Proposals with their anytime curve, from schedules or from placements alone."""

from __future__ import annotations

import time

import numpy as np

from pipeline.graphs.devices.targets import Target
from pipeline.graphs.problems.problem import Problem
from pipeline.graphs.schedulers import Proposals
from pipeline.graphs.schedulers.rules.curve import curve
from pipeline.graphs.schedulers.rules.repair import repaired


def proposed(visible_target: Target, orders: np.ndarray, placements: np.ndarray, began: float) -> Proposals:
    """Proposals of S schedules, each evaluated once.

    visible_target: its costs make the curve; began: `time.perf_counter()` at the start of the method.
    """
    costs = visible_target.seconds(orders, placements)
    return Proposals(orders, placements, stats=curve(costs, time.perf_counter() - began))


def placed(problem: Problem, placements: np.ndarray, began: float) -> Proposals:
    """Proposals from P placements, (P, n): repaired where they exceed the memory, and ordered by the one rule.

    Placements that cannot be repaired are left out; the result is unsupported if none is left.
    """
    schedules = [schedule for row in placements if (schedule := repaired(problem, row)) is not None]
    if not schedules:
        return Proposals.unsupported(
            len(problem), f"the placement needs more than the {problem.memory:g} bytes of a device, repaired or not"
        )
    orders, fitting = (np.stack(part) for part in zip(*schedules, strict=True))
    return proposed(Target((problem,)), orders, fitting, began)
