"""XLA's fusion on CPUs: fusion of loops with one result (the pass `cpu_instruction_fusion`).

An operation is fused into all its readers if all of them are loops, unless it is expensive and read more than once.
xla_cpu.py has the rule on XLA's own instructions, which is compared with what jax compiles.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from learned_schedulers.graphs.compilers.fusion_problem import FusionProblem
from learned_schedulers.graphs.compilers.levels import fuse, may_fuse
from learned_schedulers.graphs.compilers.plan import NOT_WRITTEN, Plan


def plan_of(problem: FusionProblem) -> Plan:
    """The plan of the rule."""
    fused = _fused(problem)
    return Plan(np.where(fused, np.int64(NOT_WRITTEN), np.arange(problem.n)))


@njit(cache=True, nogil=True)
def _fused(problem: FusionProblem) -> np.ndarray:
    n = len(problem.loops)
    fused, sizes = np.zeros(n, np.bool_), np.ones(n, np.int64)
    for i in range(n - 1, -1, -1):
        readers = problem.child_offsets[i + 1] - problem.child_offsets[i]
        if may_fuse(problem, i) and not (problem.expensive[i] and readers > 1):
            fuse(problem, fused, sizes, i)
    return fused
