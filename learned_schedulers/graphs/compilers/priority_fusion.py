"""XLA's fusion in its GPU compiler of today: greedy by the predicted time that fusing a producer saves.

It follows the pass `priority_fusion` of openxla/xla: all producers wait in a queue. Their priority is the time of the
producer's and its readers' kernels, minus the time of the readers' kernels if each computes the producer itself. The
first producer is fused into all its readers as long as that saves time, and the affected producers get new priorities.
Multi-output fusion follows. The predicted time is the cost that plans are judged by.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from learned_schedulers.graphs.compilers.fusion_problem import FusionProblem
from learned_schedulers.graphs.compilers.levels import fuse, may_fuse
from learned_schedulers.graphs.compilers.plan import NOT_WRITTEN, Plan
from learned_schedulers.graphs.compilers.producers import change, reading_kernels, scratch_of
from learned_schedulers.graphs.compilers.xla_multi_output import joined


def plan_of(problem: FusionProblem) -> Plan:
    """The plan of the queue and the multi-output fusion after it."""
    fused, sizes = np.zeros(problem.n, np.bool_), np.ones(problem.n, np.int64)
    _by_priority(problem, fused, sizes)
    return joined(problem, fused, sizes)


@njit(cache=True, nogil=True)
def _by_priority(problem: FusionProblem, fused: np.ndarray, sizes: np.ndarray) -> None:
    n = len(fused)
    kernel, scratch = np.arange(n), scratch_of(n)
    priority = np.full(n, -np.inf)
    stale = np.zeros(n, np.bool_)
    for i in range(n):
        stale[i] = may_fuse(problem, i)
    while n > 0:
        for i in range(n):
            if stale[i]:
                changed = change(problem, kernel, i, scratch)
                priority[i] = changed.seconds_before - changed.seconds_after
                stale[i] = False
        best = int(np.argmax(priority))
        if not priority[best] > 0.0:
            return
        priority[best] = -np.inf
        if not fuse(problem, fused, sizes, best):
            continue
        roots = reading_kernels(problem, kernel, best, scratch)
        kernel[best] = NOT_WRITTEN
        for root in roots:
            stale[root] = priority[root] > -np.inf
            _producers_are_stale(problem, kernel, root, priority, stale)


@njit(cache=True, nogil=True)
def _producers_are_stale(
    problem: FusionProblem, kernel: np.ndarray, root: int, priority: np.ndarray, stale: np.ndarray
) -> None:
    """Mark the written results in the queue that the kernel of `root` reads."""
    n = len(kernel)
    visited = np.zeros(n, np.bool_)
    pending = np.empty(n, np.int64)
    pending[0], count = root, 1
    while count:
        count -= 1
        i = pending[count]
        for edge in range(problem.parent_offsets[i], problem.parent_offsets[i + 1]):
            parent = problem.parents[edge]
            if visited[parent]:
                continue
            visited[parent] = True
            if kernel[parent] == NOT_WRITTEN:
                pending[count] = parent
                count += 1
            elif priority[parent] > -np.inf:
                stale[parent] = True
