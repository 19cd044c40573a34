"""The one repair step for all methods that only place: operations move until every device has enough memory."""

from __future__ import annotations

import numpy as np

from learned_schedulers.graphs.devices.ordering import ordered
from learned_schedulers.graphs.devices.simulator import peaks
from learned_schedulers.graphs.problems.problem import Problem

_ROUNDS = 100  # each moves at least one operation; the repair fails if it needs more


def fits(problem: Problem, order: np.ndarray, placement: np.ndarray) -> bool:
    """Whether no device ever needs more than its memory in this schedule."""
    return bool(not problem.limited or (peaks(problem, order, placement) <= problem.memory).all())


def repaired(
    problem: Problem, placement: np.ndarray, groups: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray] | None:
    """Order and placement, (n,) int32 each, that fit the devices; None if this rule does not find any.

    As long as a device exceeds its memory in the schedule of the one rule of ordering, the largest operations of the
    fullest device (by weights and result) move to the emptiest device, while there is room and the excess remains.
    groups: (n,) numbers from 0 on; operations of the same group are on one device, and move together.
    """
    placement = placement.astype(np.int32)
    groups = np.arange(len(problem)) if groups is None else groups
    size = np.bincount(groups, problem.weights + problem.sizes)
    for _ in range(_ROUNDS):
        order = ordered(problem, placement[None])[0]
        if fits(problem, order, placement):
            return order, placement
        device_peaks = peaks(problem, order, placement)
        filling, memories = problem.filling(device_peaks), problem.memories
        fullest, emptiest = int(filling.argmax()), int(filling.argmin())
        excess, room = device_peaks[fullest] - memories[fullest], memories[emptiest] - device_peaks[emptiest]
        candidates = np.unique(groups[placement == fullest])
        moving = np.zeros(len(size), bool)
        moved = 0.0
        for group in candidates[np.argsort(-size[candidates], kind="stable")]:
            if moved < excess and 0 < size[group] <= room - moved:
                moving[group] = True
                moved += size[group]
        if not moved:
            return None
        placement[moving[groups]] = emptiest
    return None
