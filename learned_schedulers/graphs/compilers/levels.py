"""A legal plan of fusion from any levels of priority, and levels from a plan.

Zhou et al. (2020) give each operation one of 20 levels. Here operations of the upper ten levels are fused into all
readers, the highest level first; the order matters if a kernel reaches its largest size. Operations of the lower levels
are written, and related kernels of the same level are joined, the highest level first; the order matters if two joined
kernels would wait for each other. An operation of level 0 stays alone. Illegal fusions are skipped.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from learned_schedulers.graphs.compilers.fusion_problem import FusionProblem
from learned_schedulers.graphs.compilers.joining import best_partner, kernels_of
from learned_schedulers.graphs.compilers.kinds import Loop
from learned_schedulers.graphs.compilers.plan import MOST_OPERATIONS, Plan

LEVELS = 20
ALONE = 0
FUSED = 10  # this level and all higher levels: fused into all readers
_MOVEMENT, _REDUCTION = int(Loop.MOVEMENT), int(Loop.REDUCTION)


def plan_of(problem: FusionProblem, levels: np.ndarray) -> Plan:
    """The plan of levels, (n,) int8, in O(n + E) and the time to join kernels."""
    return Plan(_plan(problem, levels))


def levels_of(problem: FusionProblem, plan: Plan) -> np.ndarray:
    """Levels of a legal plan, (n,) int8: neighbouring kernels with several results get different levels.

    `plan_of` makes the same plan of them, unless nine levels are too few to distinguish neighbouring kernels.
    """
    levels = np.where(plan.fused, LEVELS - 1, ALONE).astype(np.int8)
    kernels, counts = np.unique(plan.kernel[~plan.fused], return_counts=True)
    joined = set(kernels[counts > 1].tolist())
    view = kernels_of(problem, plan.fused, np.ones(problem.n, np.int64))
    for kernel in sorted(joined):
        roots = np.flatnonzero(plan.kernel == kernel)
        near: set[int] = set()
        for root in roots.tolist():
            needed = view.needed[view.needed_offsets[root] : view.needed_offsets[root + 1]].tolist()
            near.update(view.readers[view.readers_offsets[root] : view.readers_offsets[root + 1]].tolist())
            for source in needed:
                near.add(source)
                near.update(view.readers[view.readers_offsets[source] : view.readers_offsets[source + 1]].tolist())
        used = {int(levels[i]) for i in near - set(roots.tolist())}
        levels[roots] = next((level for level in range(FUSED - 1, ALONE, -1) if level not in used), 1)
    return levels


@njit(cache=True, nogil=True)
def may_fuse(problem: FusionProblem, i: int) -> bool:
    """Whether an operation may be fused into its readers: it is a loop but not a reduction, and only loops read it."""
    begin, end = problem.child_offsets[i], problem.child_offsets[i + 1]
    if problem.loops[i] > _MOVEMENT or begin == end:
        return False
    for edge in range(begin, end):  # noqa: SIM110, numba has no generators
        if problem.loops[problem.children[edge]] > _REDUCTION:
            return False
    return True


@njit(cache=True, nogil=True)
def fuse(problem: FusionProblem, fused: np.ndarray, sizes: np.ndarray, i: int) -> bool:
    """Fuse an operation that may be fused into all its readers, unless a kernel gets too large; True if it was fused.

    sizes: (n,) int64, number of operations that are computed for each; an operation computed twice counts twice.
    """
    fused[i] = True
    if _grow(problem, fused, sizes, i, sizes[i]):
        return True
    _grow(problem, fused, sizes, i, -sizes[i])
    fused[i] = False
    return False


@njit(cache=True, nogil=True)
def _grow(problem: FusionProblem, fused: np.ndarray, sizes: np.ndarray, i: int, added: int) -> bool:
    """Add `added` to the sizes of all operations that operation i is fused into; True if no kernel gets too large."""
    fits = True
    # Fused operations whose readers are still to be visited, and the number of paths from i to each. They are few.
    pending, ways, count = np.empty(16, np.int64), np.empty(16, np.int64), 1
    pending[0], ways[0] = i, 1
    # Numbers are topological: when the lowest pending operation is visited, all paths to it are counted.
    while count:
        lowest = 0
        for k in range(1, count):
            if pending[k] < pending[lowest]:
                lowest = k
        current, times = pending[lowest], ways[lowest]
        count -= 1
        pending[lowest], ways[lowest] = pending[count], ways[count]
        for edge in range(problem.child_offsets[current], problem.child_offsets[current + 1]):
            reader = problem.children[edge]
            sizes[reader] += added * times
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
    order = np.argsort(-levels.astype(np.int64), kind="mergesort")  # of equal levels the lowest number first
    next_rank = 0
    while next_rank < n and levels[order[next_rank]] >= FUSED:
        if may_fuse(problem, order[next_rank]):
            fuse(problem, fused, sizes, order[next_rank])
        next_rank += 1
    kernels = kernels_of(problem, fused, sizes)
    while next_rank < n and levels[order[next_rank]] > ALONE:
        i = order[next_rank]
        if problem.loops[i] <= _REDUCTION:
            while best_partner(problem, kernels, i, levels, levels[i]):
                pass
        next_rank += 1
    return kernels.kernel
