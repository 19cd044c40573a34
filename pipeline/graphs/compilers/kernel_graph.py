"""The kernels of a plan as a graph that is placed and scheduled: what each takes, and who waits for whom."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from pipeline.graphs.compilers.cost import kernel_seconds
from pipeline.graphs.compilers.fusion_problem import FusionProblem
from pipeline.graphs.compilers.plan import NOT_WRITTEN, Plan
from pipeline.graphs.problems.problem import Edges, Problem, Transfers


@dataclass(frozen=True)
class KernelGraph:
    """K kernels in a topological order."""

    numbers: np.ndarray  # (K,) int64: the kernel's number in the plan, its first written result
    of_operation: np.ndarray  # (n,) int64: which of the K writes an operation's result; NOT_WRITTEN where none does
    problem: Problem


def kernel_graph(problem: FusionProblem, plan: Plan, devices: int, transfers: Transfers) -> KernelGraph:
    """The kernels of a legal plan on so many devices without a limit of memory.

    What a kernel writes for others is sent as a whole: its readers wait for all of it, as in the graphs of operations.
    """
    offsets, targets, numbers, index = _topological(problem, plan.kernel)
    seconds = kernel_seconds(problem, plan)[numbers]
    written = plan.kernel != NOT_WRITTEN
    sizes = np.bincount(index[plan.kernel[written]], problem.written[written], len(numbers))
    of_operation = np.where(written, index[np.where(written, plan.kernel, 0)], NOT_WRITTEN)
    return KernelGraph(numbers, of_operation, Problem(seconds, sizes, Edges(offsets, targets), devices, transfers))


@njit(cache=True, nogil=True)
def _topological(problem: FusionProblem, kernel: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Edges between kernels (offsets, targets, each sorted and once), numbers in order, index by number."""
    n = len(kernel)
    following, newest = np.full(n, -1, np.int64), np.full(n, -1, np.int64)
    for i in range(n - 1, -1, -1):
        if kernel[i] != NOT_WRITTEN:
            following[i] = newest[kernel[i]]
            newest[kernel[i]] = i
    computed, read_by = np.full(n, -1, np.int64), np.full(n, -1, np.int64)
    pending = np.empty(n, np.int64)
    givers, takers = (
        np.empty(len(problem.parents) * 2 + 16, np.int64),
        np.empty(len(problem.parents) * 2 + 16, np.int64),
    )
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
                    if total == len(givers):
                        givers = np.concatenate((givers, np.empty(total, np.int64)))
                        takers = np.concatenate((takers, np.empty(total, np.int64)))
                    givers[total], takers[total] = kernel[parent], k
                    total += 1
    givers, takers = givers[:total], takers[:total]
    waits, first = np.zeros(n, np.int64), np.zeros(n + 1, np.int64)
    for edge in range(total):
        waits[takers[edge]] += 1
        first[givers[edge] + 1] += 1
    first = np.cumsum(first)
    free, readers = first[:-1].copy(), np.empty(total, np.int64)
    for edge in range(total):
        readers[free[givers[edge]]] = takers[edge]
        free[givers[edge]] += 1
    numbers, index = np.empty(count_kernels, np.int64), np.full(n, -1, np.int64)
    done, ready = 0, 0
    for k in range(n):
        if newest[k] >= 0 and waits[k] == 0:
            numbers[ready] = k
            ready += 1
    while done < ready:
        k = numbers[done]
        index[k] = done
        done += 1
        for edge in range(first[k], first[k + 1]):
            waits[readers[edge]] -= 1
            if waits[readers[edge]] == 0:
                numbers[ready] = readers[edge]
                ready += 1
    offsets, targets = np.zeros(count_kernels + 1, np.int32), np.empty(total, np.int32)
    at = 0
    for position in range(count_kernels):
        k = numbers[position]
        begin = at
        for edge in range(first[k], first[k + 1]):
            targets[at] = index[readers[edge]]
            at += 1
        targets[begin:at].sort()
        offsets[position + 1] = at
    return offsets, targets, numbers, index
