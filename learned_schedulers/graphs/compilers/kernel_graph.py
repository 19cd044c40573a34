"""The kernels of a plan as a graph to be placed and scheduled: their run times and dependencies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import njit

from learned_schedulers.graphs.compilers.cost import kernel_seconds
from learned_schedulers.graphs.compilers.fusion_problem import FusionProblem
from learned_schedulers.graphs.compilers.plan import NOT_WRITTEN, Plan
from learned_schedulers.graphs.problems.problem import Edges, Problem, Transfers


@dataclass(frozen=True)
class KernelGraph:
    """K kernels in a topological order."""

    numbers: np.ndarray  # (K,) int64: the kernel's number in the plan, which is its first written result
    of_operation: np.ndarray  # (n,) int64: position of the kernel that writes an operation's result, or NOT_WRITTEN
    problem: Problem


def kernel_graph(problem: FusionProblem, plan: Plan, devices: int, transfers: Transfers) -> KernelGraph:
    """The kernels of a legal plan on `devices` devices without a memory limit.

    A kernel's results are sent as a whole: its readers wait for all of them, as in the graphs of operations.
    """
    kernels = _topological(problem, plan.kernel)
    seconds = kernel_seconds(problem, plan)[kernels.numbers]
    written = plan.kernel != NOT_WRITTEN
    sizes = np.bincount(kernels.position_of[plan.kernel[written]], problem.written[written], len(kernels.numbers))
    of_operation = np.where(written, kernels.position_of[np.where(written, plan.kernel, 0)], NOT_WRITTEN)
    edges = Edges(kernels.offsets, kernels.targets)
    return KernelGraph(kernels.numbers, of_operation, Problem(seconds, sizes, edges, devices, transfers))


class _Topological(NamedTuple):
    """K kernels in a topological order, and the edges between them, sorted and each once."""

    offsets: np.ndarray  # (K + 1,) int32
    targets: np.ndarray  # int32
    numbers: np.ndarray  # (K,) int64: numbers of the kernels in the plan, in order
    position_of: np.ndarray  # (n,) int64: position in `numbers` of each kernel's number; -1 elsewhere


@njit(cache=True, nogil=True)
def _topological(problem: FusionProblem, kernel: np.ndarray) -> _Topological:
    """The kernels of a plan, (n,)."""
    n = len(kernel)
    following, newest = np.full(n, -1, np.int64), np.full(n, -1, np.int64)
    for i in range(n - 1, -1, -1):
        if kernel[i] != NOT_WRITTEN:
            following[i] = newest[kernel[i]]
            newest[kernel[i]] = i
    computed, read_by = np.full(n, -1, np.int64), np.full(n, -1, np.int64)
    pending = np.empty(n, np.int64)
    sources = np.empty(len(problem.parents) * 2 + 16, np.int64)  # of the edges between kernels
    readers = np.empty(len(problem.parents) * 2 + 16, np.int64)
    total, count_kernels = 0, 0
    for k in range(n):
        if newest[k] < 0:
            continue
        count_kernels += 1
        count, root = 0, newest[k]
        while root >= 0:
            computed[root] = k
            pending[count] = root
            count += 1
            root = following[root]
        while count:
            count -= 1
            i = pending[count]
            for edge in range(problem.parent_offsets[i], problem.parent_offsets[i + 1]):
                parent = problem.parents[edge]
                if kernel[parent] == NOT_WRITTEN:
                    if computed[parent] != k:
                        computed[parent] = k
                        pending[count] = parent
                        count += 1
                elif kernel[parent] != k and read_by[kernel[parent]] != k:
                    read_by[kernel[parent]] = k
                    if total == len(sources):
                        sources = np.concatenate((sources, np.empty(total, np.int64)))
                        readers = np.concatenate((readers, np.empty(total, np.int64)))
                    sources[total], readers[total] = kernel[parent], k
                    total += 1
    sources, readers = sources[:total], readers[:total]
    waits, first = np.zeros(n, np.int64), np.zeros(n + 1, np.int64)
    for edge in range(total):
        waits[readers[edge]] += 1
        first[sources[edge] + 1] += 1
    first = np.cumsum(first)
    free, by_source = first[:-1].copy(), np.empty(total, np.int64)  # readers, sorted by their source
    for edge in range(total):
        by_source[free[sources[edge]]] = readers[edge]
        free[sources[edge]] += 1
    numbers, position_of = np.empty(count_kernels, np.int64), np.full(n, -1, np.int64)
    visited, ready = 0, 0  # counts of kernels in `numbers`
    for k in range(n):
        if newest[k] >= 0 and waits[k] == 0:
            numbers[ready] = k
            ready += 1
    while visited < ready:
        k = numbers[visited]
        position_of[k] = visited
        visited += 1
        for edge in range(first[k], first[k + 1]):
            waits[by_source[edge]] -= 1
            if waits[by_source[edge]] == 0:
                numbers[ready] = by_source[edge]
                ready += 1
    offsets, targets = np.zeros(count_kernels + 1, np.int32), np.empty(total, np.int32)
    end = 0
    for position in range(count_kernels):
        k = numbers[position]
        begin = end
        for edge in range(first[k], first[k + 1]):
            targets[end] = position_of[by_source[edge]]
            end += 1
        targets[begin:end].sort()
        offsets[position + 1] = end
    return _Topological(offsets, targets, numbers, position_of)
