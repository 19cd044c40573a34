"""Levels of priority become a plan of fusion that is legal whatever they are; and a plan becomes levels.

Zhou et al. (2020) give each operation one of 20 levels. Here operations of the upper ten are fused into all their
readers, the highest first: the order counts where a kernel has its most operations. Those of the levels below are
written, and kernels of the same level that are related are joined, the highest level first: the order counts where two
joined kernels wait for each other. With level 0 an operation stays alone. What a level asks for and is not legal is
left out.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from pipeline.graphs.compilers.fusion_problem import FusionProblem
from pipeline.graphs.compilers.joining import best_partner, kernels_of
from pipeline.graphs.compilers.kinds import Loop
from pipeline.graphs.compilers.plan import MOST_OPERATIONS, Plan

LEVELS = 20
ALONE = 0
FUSED = 10  # this level and those above: into all readers
_MOVEMENT, _REDUCTION = int(Loop.MOVEMENT), int(Loop.REDUCTION)


def plan_of(problem: FusionProblem, levels: np.ndarray) -> Plan:
    """The plan of levels, (n,) int8. O(n + E), and what is looked at where kernels are joined."""
    return Plan(_plan(problem, levels))


def levels_of(problem: FusionProblem, plan: Plan) -> np.ndarray:
    """Levels of a legal plan, (n,) int8: neighbouring kernels with several results get different ones.

    `plan_of` makes the plan of them again, but for kernels that nine levels are too few to tell apart.
    """
    levels = np.where(plan.fused, LEVELS - 1, ALONE).astype(np.int8)
    kernels, counts = np.unique(plan.kernel[~plan.fused], return_counts=True)
    several = set(kernels[counts > 1].tolist())
    view = kernels_of(problem, plan.fused, np.ones(problem.n, np.int64))
    for kernel in sorted(several):
        roots = np.flatnonzero(plan.kernel == kernel)
        near: set[int] = set()
        for root in roots.tolist():
            needed = view.needed[view.needed_offsets[root] : view.needed_offsets[root + 1]].tolist()
            near.update(view.readers[view.readers_offsets[root] : view.readers_offsets[root + 1]].tolist())
            for source in needed:
                near.add(source)
                near.update(view.readers[view.readers_offsets[source] : view.readers_offsets[source + 1]].tolist())
        taken = {int(levels[i]) for i in near - set(roots.tolist())}
        levels[roots] = next((level for level in range(FUSED - 1, ALONE, -1) if level not in taken), 1)
    return levels


@njit(cache=True, nogil=True)
def may_fuse(problem: FusionProblem, i: int) -> bool:
    """Whether an operation may be fused into its readers: a loop, no reduction, that loops read."""
    begin, end = problem.child_offsets[i], problem.child_offsets[i + 1]
    if problem.loops[i] > _MOVEMENT or begin == end:
        return False
    for edge in range(begin, end):  # noqa: SIM110, numba has no generators
        if problem.loops[problem.children[edge]] > _REDUCTION:
            return False
    return True


@njit(cache=True, nogil=True)
def fuse(problem: FusionProblem, fused: np.ndarray, sizes: np.ndarray, i: int) -> bool:
    """Fuse an operation that may be into all its readers, where none of their kernels gets too large; whether it was.

    sizes: (n,) int64, how many operations are computed for each, those computed twice counted twice.
    """
    fused[i] = True
    if _grow(problem, fused, sizes, i, sizes[i]):
        return True
    _grow(problem, fused, sizes, i, -sizes[i])
    fused[i] = False
    return False


@njit(cache=True, nogil=True)
def _grow(problem: FusionProblem, fused: np.ndarray, sizes: np.ndarray, i: int, more: int) -> bool:
    """Add to the sizes of all that the operation is fused into; whether they are small enough, as far as was looked."""
    fits = True
    # Operations that it is fused into and whose readers are still to be looked at, and in how many ways it is. Few.
    pending, ways, count = np.empty(16, np.int64), np.empty(16, np.int64), 1
    pending[0], ways[0] = i, 1
    # Numbers are topological: the lowest pending one has all that it is fused through behind it.
    while count:
        at = 0
        for k in range(1, count):
            if pending[k] < pending[at]:
                at = k
        current, times = pending[at], ways[at]
        count -= 1
        pending[at], ways[at] = pending[count], ways[count]
        for edge in range(problem.child_offsets[current], problem.child_offsets[current + 1]):
            reader = problem.children[edge]
            sizes[reader] += more * times
            if sizes[reader] > MOST_OPERATIONS:
                fits = False
            if fused[reader]:
                k = 0
                while k < count and pending[k] != reader:
                    k += 1
                if k < count:
                    ways[k] += times
                    continue
                if count == len(pending):
                    pending = np.concatenate((pending, np.empty(count, np.int64)))
                    ways = np.concatenate((ways, np.empty(count, np.int64)))
                pending[count], ways[count] = reader, times
                count += 1
    return fits


@njit(cache=True, nogil=True)
def _plan(problem: FusionProblem, levels: np.ndarray) -> np.ndarray:
    n = len(levels)
    fused, sizes = np.zeros(n, np.bool_), np.ones(n, np.int64)
    order = np.argsort(-levels.astype(np.int64), kind="mergesort")  # of equals the lowest number first
    asked = 0
    while asked < n and levels[order[asked]] >= FUSED:
        if may_fuse(problem, order[asked]):
            fuse(problem, fused, sizes, order[asked])
        asked += 1
    kernels = kernels_of(problem, fused, sizes)
    while asked < n and levels[order[asked]] > ALONE:
        i = order[asked]
        if problem.loops[i] <= _REDUCTION:
            while best_partner(problem, kernels, i, levels, levels[i]):
                pass
        asked += 1
    return kernels.kernel
