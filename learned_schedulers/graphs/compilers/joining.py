"""Joins kernels, two at a time, if the joined kernel is legal: multi-output fusion. Compiled code.

Kernels have positions in a topological order. A path between two kernels only leads through positions between them, so
few kernels are visited; a join moves the kernels in between (as Pearce & Kelly 2007 do for added edges).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from learned_schedulers.graphs.compilers.fusion_problem import FusionProblem
from learned_schedulers.graphs.compilers.kinds import Loop
from learned_schedulers.graphs.compilers.plan import MOST_OPERATIONS, NOT_WRITTEN

_REDUCTION, _LIBRARY = int(Loop.REDUCTION), int(Loop.LIBRARY)
_NEAREST = 8  # nearest readers of a common result, on either side, that an operation may be joined with


class Kernels(NamedTuple):
    """Written results as linked lists, one for each kernel, and the operations that each result needs. Arrays of n."""

    kernel: np.ndarray  # of each written result; elsewhere NOT_WRITTEN
    following: np.ndarray  # the next written result of the same kernel, -1 at the end
    last: np.ndarray  # of a kernel: the last result in its list
    sizes: np.ndarray  # operations of each kernel
    needed_offsets: np.ndarray  # (n + 1,): of each written result in `needed`
    needed: np.ndarray  # what a written result is computed from: written results that are read, and fused operations
    readers_offsets: np.ndarray  # (n + 1,): of each operation in `readers`, the written results that need it
    readers: np.ndarray
    position: np.ndarray  # of each kernel in a topological order
    kernel_at: np.ndarray  # kernel at each position, or -1
    last_search: np.ndarray  # scratch: the last search that reached a kernel; [n] counts the searches


@njit(cache=True, nogil=True)
def kernels_of(problem: FusionProblem, fused: np.ndarray, sizes: np.ndarray) -> Kernels:
    """One kernel for each written result. fused: (n,) bool; sizes: (n,) int64, operations computed for each."""
    n = len(fused)
    kernel = np.where(fused, np.int64(NOT_WRITTEN), np.arange(n))
    needed_offsets = np.zeros(n + 1, np.int64)
    needed = np.empty(2 * len(problem.parents) + n, np.int64)
    needed_by = np.full(n, -1, np.int64)  # the last root that needs an operation
    pending = np.empty(n, np.int64)
    total = 0
    for root in range(n):
        if not fused[root]:
            pending[0], count = root, 1
            while count:
                count -= 1
                i = pending[count]
                for edge in range(problem.parent_offsets[i], problem.parent_offsets[i + 1]):
                    parent = problem.parents[edge]
                    if needed_by[parent] == root:
                        continue
                    needed_by[parent] = root
                    if fused[parent]:
                        pending[count] = parent
                        count += 1
                    if total == len(needed):
                        needed = np.concatenate((needed, np.empty(len(needed), np.int64)))
                    needed[total] = parent
                    total += 1
        needed_offsets[root + 1] = total
    needed = needed[:total].copy()
    readers_offsets = np.zeros(n + 1, np.int64)
    for parent in needed:
        readers_offsets[parent + 1] += 1
    readers_offsets = np.cumsum(readers_offsets)
    free, readers = readers_offsets[:-1].copy(), np.empty(total, np.int64)
    for root in range(n):
        for k in range(needed_offsets[root], needed_offsets[root + 1]):
            readers[free[needed[k]]] = root
            free[needed[k]] += 1
    return Kernels(
        kernel,
        np.full(n, -1, np.int64),
        np.arange(n),
        sizes.copy(),
        needed_offsets,
        needed,
        readers_offsets,
        readers,
        np.arange(n),
        kernel.copy(),
        np.zeros(n + 1, np.int64),
    )


@njit(cache=True, nogil=True)
def join(problem: FusionProblem, kernels: Kernels, a: int, b: int) -> bool:
    """Join the related kernels a and b if that is legal (plan.violations); True if they were joined."""
    if a == b or kernels.sizes[a] + kernels.sizes[b] > MOST_OPERATIONS:
        return False
    if problem.space[a] != problem.space[b] or max(problem.loops[a], problem.loops[b]) >= _LIBRARY:
        return False
    if _reads_incomplete(problem, kernels, a, b) or _reads_incomplete(problem, kernels, b, a):
        return False
    if kernels.position[a] > kernels.position[b]:
        a, b = b, a
    if not _moved(kernels, a, b):
        return False
    first, second = min(a, b), max(a, b)
    root = second
    while root >= 0:
        kernels.kernel[root] = first
        root = kernels.following[root]
    kernels.following[kernels.last[first]] = second
    kernels.last[first] = kernels.last[second]
    kernels.sizes[first] += kernels.sizes[second]
    position = kernels.position[b]
    kernels.position[first] = position
    kernels.kernel_at[position] = first
    return True


@njit(cache=True, nogil=True)
def best_partner(problem: FusionProblem, kernels: Kernels, root: int, levels: np.ndarray, level: int) -> bool:
    """Join the kernel of a written result with the related kernel of this level that saves most traffic; True if so.

    A kernel is related if it reads the result, if the result reads it, or if both need a common result. Of equal
    kernels the one with the lower number is joined.
    """
    root_kernel = kernels.kernel[root]
    count = 0
    partners, saved = np.empty(64, np.int64), np.empty(64)
    for k in range(kernels.readers_offsets[root], kernels.readers_offsets[root + 1]):
        count = _add(problem, kernels, levels, level, root_kernel, kernels.readers[k], root, partners, saved, count)
    for k in range(kernels.needed_offsets[root], kernels.needed_offsets[root + 1]):
        source = kernels.needed[k]
        count = _add(problem, kernels, levels, level, root_kernel, source, source, partners, saved, count)
        first, last = kernels.readers_offsets[source], kernels.readers_offsets[source + 1]
        low, high = first, last  # bisection: np.searchsorted takes microseconds here
        while low < high:
            middle = (low + high) // 2
            if kernels.readers[middle] < root:
                low = middle + 1
            else:
                high = middle
        for j in range(max(low - _NEAREST, first), min(low + _NEAREST + 1, last)):
            reader = kernels.readers[j]
            count = _add(problem, kernels, levels, level, root_kernel, reader, source, partners, saved, count)
    while count:
        best = 0
        for k in range(1, count):
            if saved[k] > saved[best] or (saved[k] == saved[best] and partners[k] < partners[best]):
                best = k
        if join(problem, kernels, root_kernel, partners[best]):
            return True
        count -= 1
        partners[best], saved[best] = partners[count], saved[count]
    return False


@njit(cache=True, nogil=True, inline="always")  # a call would count the references to all arrays
def _add(
    problem: FusionProblem,
    kernels: Kernels,
    levels: np.ndarray,
    level: int,
    root_kernel: int,
    related_root: int,
    common: int,
    partners: np.ndarray,
    saved: np.ndarray,
    count: int,
) -> int:
    """Add the bytes of the `common` result to those that a join with the kernel of `related_root` saves.

    partners, saved: the first `count` entries are the possible partners and the bytes saved. Returns the new count.
    """
    if levels[related_root] != level:
        return count
    partner = kernels.kernel[related_root]
    if partner == root_kernel or problem.space[partner] != problem.space[root_kernel]:
        return count
    if problem.loops[partner] >= _LIBRARY:
        return count
    for k in range(count):
        if partners[k] == partner:
            saved[k] += problem.written[common]
            return count
    if count == len(partners):
        return count
    partners[count], saved[count] = partner, problem.written[common]
    return count + 1


@njit(cache=True, nogil=True)
def _reads_incomplete(problem: FusionProblem, kernels: Kernels, reader: int, writer: int) -> bool:
    """Whether `reader` reads results of `writer` at other positions than its loop is at, or results of reductions.

    Fused operations in between count: an operation that reads elsewhere moves all operations that are fused into it.
    """
    direct = False
    root = reader
    while root >= 0:
        for k in range(kernels.needed_offsets[root], kernels.needed_offsets[root + 1]):
            source = kernels.needed[k]
            if kernels.kernel[source] == writer:
                direct = True
                if problem.loops[source] == _REDUCTION:
                    return True
        root = kernels.following[root]
    if not direct:
        return False
    pending, moved = np.empty(4 * MOST_OPERATIONS, np.int64), np.empty(4 * MOST_OPERATIONS, np.bool_)
    root = reader
    while root >= 0:
        pending[0], moved[0], count = root, False, 1
        while count:
            count -= 1
            i, is_moved = pending[count], moved[count] or problem.elsewhere[pending[count]]
            for edge in range(problem.parent_offsets[i], problem.parent_offsets[i + 1]):
                parent = problem.parents[edge]
                if kernels.kernel[parent] == NOT_WRITTEN:
                    pending[count], moved[count] = parent, is_moved
                    count += 1
                elif kernels.kernel[parent] == writer and is_moved:
                    return True
        root = kernels.following[root]
    return False


@njit(cache=True, nogil=True)
def _moved(kernels: Kernels, a: int, b: int) -> bool:
    """Move the kernels that depend on a behind b; False (no move) if a path leads from a to b through a third one."""
    n = len(kernels.kernel)
    kernels.last_search[n] += 1
    search = kernels.last_search[n]
    last = kernels.position[b]
    dependents = np.empty(last - kernels.position[a] + 1, np.int64)
    dependents[0], visited, count = a, 0, 1
    kernels.last_search[a] = search
    while visited < count:
        current = dependents[visited]
        visited += 1
        root = current
        while root >= 0:
            for k in range(kernels.readers_offsets[root], kernels.readers_offsets[root + 1]):
                reader = kernels.kernel[kernels.readers[k]]
                if reader == b and current != a:
                    return False
                if reader != b and kernels.last_search[reader] != search and kernels.position[reader] < last:
                    kernels.last_search[reader] = search
                    dependents[count] = reader
                    count += 1
            root = kernels.following[root]
    free = kernels.position[a]
    later = np.empty(count, np.int64)
    moved = 0
    for position in range(kernels.position[a], last):
        k = kernels.kernel_at[position]
        kernels.kernel_at[position] = -1
        if k < 0 or k == a:
            continue
        if kernels.last_search[k] == search:
            later[moved] = k
            moved += 1
        else:
            kernels.kernel_at[free], kernels.position[k] = k, free
            free += 1
    kernels.kernel_at[last] = -1
    kernels.kernel_at[free], kernels.position[b], kernels.position[a] = b, free, free
    for k in later[:moved]:
        free += 1
        kernels.kernel_at[free], kernels.position[k] = k, free
    return True
