"""What is wrong with a method's proposals; nothing is for those of our methods."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from learned_schedulers.graphs.devices.simulator import makespans
from learned_schedulers.graphs.methods import OK, TIMED_OUT, UNSUPPORTED, Budget, Proposals
from learned_schedulers.graphs.problems.problem import Problem
from learned_schedulers.methods import not_numbers

STATUSES = (OK, TIMED_OUT, UNSUPPORTED)
ROUNDING = 1 - 1e-9  # sums of the same seconds in another sequence


def faults(proposals: Proposals, problem: Problem, budget: Budget) -> Iterator[str]:
    """What is wrong, each with its remedy: the status, the form of the arrays, their number, what is no schedule."""
    if not isinstance(proposals, Proposals):
        yield f"propose returned a {type(proposals).__name__}; return learned_schedulers.graphs.methods.Proposals"
        return
    if proposals.status not in STATUSES:
        yield f"the status is {proposals.status!r}; it must be one of {', '.join(STATUSES)}"
        return
    if (proposals.message == "") != (proposals.status == OK):
        yield f"the status is {proposals.status!r}, the message {proposals.message!r}; say why it is not ok, only then"
    if proposals.status == UNSUPPORTED:
        return
    if wrong := [name for name, values in proposals.stats.items() if not_numbers(values)]:
        yield f"the stats {wrong[0]!r} are {proposals.stats[wrong[0]]}; they must be numbers, and not NaN"
        return
    n, arrays = len(problem), {"orders": proposals.orders, "placements": proposals.placements}
    for name, array in arrays.items():
        if not isinstance(array, np.ndarray) or array.dtype != np.int32 or array.ndim != 2 or array.shape[1] != n:
            shape = f"{array.dtype} {array.shape}" if isinstance(array, np.ndarray) else type(array).__name__
            yield f"{name} is {shape}; it must be an array int32 of shape (schedules, {n})"
            return
    count = len(proposals.orders)
    if count != len(proposals.placements):
        yield f"{count} orders, but {len(proposals.placements)} placements; give one of each for every schedule"
        return
    if not 1 <= count <= budget.proposals:
        yield f"{count} proposals; there must be one at least, and budget.proposals = {budget.proposals} at most"
        return
    try:
        seconds = makespans(problem, proposals.orders, proposals.placements)
    except ValueError as error:
        yield f"{error}; every order has each operation once, parents first, every placement devices from 0 on"
        return
    if (seconds < problem.bound * ROUNDING).any():
        yield f"a schedule takes {seconds.min()} s, and none can take less than {problem.bound} s"
