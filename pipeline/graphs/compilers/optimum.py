"""The best plan of a small problem, by looking at every legal one."""

from __future__ import annotations

from itertools import product

import numpy as np

from pipeline.graphs.compilers.cost import seconds
from pipeline.graphs.compilers.fusion_problem import FusionProblem
from pipeline.graphs.compilers.joining import Kernels, join, kernels_of
from pipeline.graphs.compilers.levels import fuse, may_fuse
from pipeline.graphs.compilers.plan import Plan

MOST_CHOICES = 14  # operations that may be fused into their readers: 2^14 sets of them


class TooLarge(ValueError):
    """A problem that has too many plans to look at all of them."""


def choices(problem: FusionProblem) -> list[int]:
    """The operations that may be fused into their readers."""
    return [i for i in range(problem.n) if may_fuse(problem, i)]


def optimum(problem: FusionProblem) -> Plan:
    """The plan with the least cost; of equals the first that is looked at.

    Every set of operations that are fused into their readers, and from each of them every plan that legal joins of two
    related kernels lead to. Raises TooLarge where more than MOST_CHOICES operations may be fused.
    """
    may = choices(problem)
    if len(may) > MOST_CHOICES:
        raise TooLarge(f"{len(may)} operations may be fused into their readers; at most {MOST_CHOICES} can be tried")
    best, least = Plan(np.arange(problem.n, dtype=np.int64)), np.inf
    for taken in product((True, False), repeat=len(may)):
        fused, sizes = np.zeros(problem.n, np.bool_), np.ones(problem.n, np.int64)
        if not all(fuse(problem, fused, sizes, i) for i, chosen in zip(may, taken, strict=True) if chosen):
            continue
        for plan in _joined(problem, kernels_of(problem, fused, sizes)):
            cost = seconds(problem, plan)
            if cost < least:
                best, least = plan, cost
    return best


def _joined(problem: FusionProblem, start: Kernels) -> list[Plan]:
    """Every plan that joins lead to, the start among them."""
    pending, seen = [start], {start.kernel.tobytes(): Plan(start.kernel)}
    roots = np.flatnonzero(start.kernel >= 0).tolist()
    touched = {
        root: {root, *start.needed[start.needed_offsets[root] : start.needed_offsets[root + 1]].tolist()}
        for root in roots
    }
    related = [(a, b) for a in roots for b in roots if a < b and touched[a] & touched[b]]
    while pending:
        kernels = pending.pop()
        for a, b in related:
            after = Kernels(*(array.copy() for array in kernels))
            if join(problem, after, int(kernels.kernel[a]), int(kernels.kernel[b])):
                key = after.kernel.tobytes()
                if key not in seen:
                    seen[key] = Plan(after.kernel)
                    pending.append(after)
    return list(seen.values())
