"""An expert's manual placement: each device gets a contiguous part of the layers, with about the same run time.

Two proposals: the operations are cut in the order of their numbers, and in the order of their depth (most edges on a
path from the beginning), ties by number; where devices differ, two for each number of the fastest devices. The one rule
of ordering orders the operations of each device.
"""

from __future__ import annotations

import time

import numpy as np
from numba import njit

from learned_schedulers.graphs.method_settings import Contiguous as Settings
from learned_schedulers.graphs.methods import Budget, Proposals
from learned_schedulers.graphs.methods.rules.proposing import placed
from learned_schedulers.graphs.problems.problem import Problem


class Contiguous:
    unequal = True

    def __init__(self, settings: Settings) -> None:
        pass

    def propose(self, problem: Problem, rng: np.random.Generator, budget: Budget) -> Proposals:
        began = time.perf_counter()
        numbers = np.arange(len(problem))
        layers = np.argsort(_depths(problem.parents.offsets, problem.parents.targets), kind="stable")
        placements = [
            np.array(devices, np.int32)[split(problem.only(devices), sequence)]
            for devices in _divided_among(problem)
            for sequence in (numbers, layers)
        ]
        return placed(problem, np.stack(placements[: budget.proposals]), began)


def _divided_among(problem: Problem) -> list[list[int]]:
    """All devices; where they differ, also the fastest of them, in any number."""
    every = list(range(problem.devices))
    if not np.ptp(problem.totals):
        return [every]
    fastest = np.argsort(problem.totals, kind="stable").tolist()
    return [sorted(fastest[: last + 1]) for last in reversed(every)]


def split(problem: Problem, sequence: np.ndarray) -> np.ndarray:
    """Device of each operation, (n,) int32: the sequence is cut into m parts of about equal run time.

    When the total run time is cut into m equal parts, an operation goes where the middle of its own run time falls.
    Where devices differ, so do the parts of the mean run time: by the speeds of the devices.
    """
    seconds = problem.mean_seconds[sequence]
    total = seconds.sum()
    middles = (np.cumsum(seconds) - seconds / 2) / total if total else np.linspace(0, 1, len(seconds))
    parts = middles * problem.devices
    if np.ptp(problem.totals):
        speeds = np.cumsum(1 / np.maximum(problem.totals, np.finfo(float).tiny))
        parts = np.searchsorted(speeds[:-1] / speeds[-1], middles, side="right")
    placement = np.empty(len(sequence), np.int32)
    placement[sequence] = np.minimum(parts, problem.devices - 1).astype(np.int32)
    return placement


@njit(cache=True)
def _depths(offsets: np.ndarray, parents: np.ndarray) -> np.ndarray:
    depths = np.zeros(len(offsets) - 1, np.int32)
    for i in range(len(depths)):
        for edge in range(offsets[i], offsets[i + 1]):
            depths[i] = max(depths[i], depths[parents[edge]] + 1)
    return depths


make = Contiguous
