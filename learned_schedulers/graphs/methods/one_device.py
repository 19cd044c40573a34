"""All operations on one device, in the order of their numbers: the schedule that every other one has to beat.

The device is the fastest that has room, of equal ones the first.
"""

from __future__ import annotations

import time

import numpy as np

from learned_schedulers.graphs.devices.targets import Target
from learned_schedulers.graphs.method_settings import OneDevice as Settings
from learned_schedulers.graphs.methods import Budget, Proposals
from learned_schedulers.graphs.methods.rules.proposing import proposed
from learned_schedulers.graphs.methods.rules.repair import fits
from learned_schedulers.graphs.problems.problem import Problem


class OneDevice:
    unequal = True

    def __init__(self, settings: Settings) -> None:
        pass

    def propose(self, problem: Problem, rng: np.random.Generator, budget: Budget) -> Proposals:
        began = time.perf_counter()
        n = len(problem)
        device, has_room = fastest(problem)
        if not has_room:
            most = problem.memories.max()
            return Proposals.unsupported(n, f"one device has {most:g} bytes, and the graph needs more")
        order, placement = np.arange(n, dtype=np.int32), np.full(n, device, np.int32)
        return proposed(Target((problem,)), order[None], placement[None], began)


def fastest(problem: Problem) -> tuple[int, bool]:
    """The device that takes the least time for all operations, of those with room; and whether any has room."""
    order = np.arange(len(problem), dtype=np.int32)
    ranked = [0] if problem.equal else np.argsort(problem.totals, kind="stable").tolist()
    roomy = (device for device in ranked if fits(problem, order, np.full(len(problem), device, np.int32)))
    device = next(roomy, None)
    return (ranked[0], False) if device is None else (device, True)


make = OneDevice
