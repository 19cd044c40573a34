"""XLA's fusion in its GPU compiler, as described by Snider & Liang 2023, "Operator Fusion in XLA".

Three passes, one after the other:

1. Instruction fusion, readers first: an operation is fused into all its readers if all of them are loops, unless it is
   expensive (`is_expensive`) and would be computed in more than one kernel.
2. Fusion merger, producers first: a kernel of several operations is fused into all its readers if the memory traffic
   does not grow, and if it is bound by memory (the published threshold is one FLOP per byte).
3. Multi-output fusion (xla_multi_output.py).

A deviation: the graph's operations are coarser than XLA's (a softmax is one reduction, but five operations in XLA).
"""

from __future__ import annotations

import numpy as np
from numba import njit

from learned_schedulers.graphs.compilers.fusion_problem import FusionProblem
from learned_schedulers.graphs.compilers.levels import fuse, may_fuse
from learned_schedulers.graphs.compilers.plan import NOT_WRITTEN, Plan
from learned_schedulers.graphs.compilers.producers import change, kernel_of, reading_kernels, scratch_of
from learned_schedulers.graphs.compilers.xla_multi_output import joined

_MOST_ARITHMETIC = 1.0  # seconds of arithmetic per second of memory traffic: our form of one FLOP per byte


def plan_of(problem: FusionProblem) -> Plan:
    """The plan of the three passes."""
    fused, sizes = np.zeros(problem.n, np.bool_), np.ones(problem.n, np.int64)
    _instruction_fusion(problem, fused, sizes)
    _fusion_merger(problem, fused, sizes)
    return joined(problem, fused, sizes)


@njit(cache=True, nogil=True)
def _instruction_fusion(problem: FusionProblem, fused: np.ndarray, sizes: np.ndarray) -> None:
    n = len(fused)
    kernel, scratch = np.arange(n), scratch_of(n)
    for i in range(n - 1, -1, -1):
        if not may_fuse(problem, i):
            continue
        if problem.expensive[i] and len(reading_kernels(problem, kernel, i, scratch)) > 1:
            continue
        if fuse(problem, fused, sizes, i):
            kernel[i] = NOT_WRITTEN


@njit(cache=True, nogil=True)
def _fusion_merger(problem: FusionProblem, fused: np.ndarray, sizes: np.ndarray) -> None:
    n = len(fused)
    kernel, scratch = np.where(fused, np.int64(NOT_WRITTEN), np.arange(n)), scratch_of(n)
    for i in range(n):
        if fused[i] or sizes[i] < 2 or not may_fuse(problem, i):
            continue
        producer = kernel_of(problem, kernel, i, scratch)
        moving = producer.moved * problem.machine.cache_seconds_per_byte
        changed = change(problem, kernel, i, scratch)
        if producer.computing > _MOST_ARITHMETIC * moving or changed.moved_after > changed.moved_before:
            continue
        if fuse(problem, fused, sizes, i):
            kernel[i] = NOT_WRITTEN
