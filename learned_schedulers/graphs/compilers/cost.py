"""Cost of a fusion plan: for every kernel a launch, and the longer of its arithmetic and its memory traffic.

Fusion saves launches and traffic: a result that is only read inside its kernel is not stored, and data that several
operations of a kernel read is read once. An operation that is fused into several kernels is computed in each of them.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from learned_schedulers.graphs.compilers.fusion_problem import FusionProblem
from learned_schedulers.graphs.compilers.plan import NOT_WRITTEN, Plan


def kernel_seconds(problem: FusionProblem, plan: Plan) -> np.ndarray:
    """(n,) seconds of each kernel at the index of its number; 0 elsewhere."""
    return kernel_costs(problem, plan)[0]


def seconds(problem: FusionProblem, plan: Plan) -> float:
    """Seconds of all kernels, one after the other."""
    return float(kernel_seconds(problem, plan).sum())


def kernel_costs(problem: FusionProblem, plan: Plan) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Seconds, seconds of arithmetic, and bytes read and written of each kernel, at the index of its number, (n,)."""
    return _kernel_costs(problem, plan.kernel)


@njit(cache=True, nogil=True)
def _kernel_costs(problem: FusionProblem, kernel: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    n = len(kernel)
    following, newest = np.full(n, -1, np.int64), np.full(n, -1, np.int64)  # roots of a kernel are a linked list
    for i in range(n - 1, -1, -1):
        if kernel[i] != NOT_WRITTEN:
            following[i] = newest[kernel[i]]
            newest[kernel[i]] = i
    computed, read_by = np.full(n, -1, np.int64), np.full(n, -1, np.int64)
    read_bytes = np.zeros(n)
    pending = np.empty(n, np.int64)
    times, computing, moving = np.zeros(n), np.zeros(n), np.zeros(n)
    for k in range(n):
        if newest[k] < 0:
            continue
        arithmetic, moved, count = 0.0, 0.0, 0
        root = newest[k]
        while root >= 0:
            moved += problem.written[root]
            computed[root] = k
            pending[count] = root
            count += 1
            root = following[root]
        while count:
            count -= 1
            i = pending[count]
            arithmetic += problem.computing[i]
            moved += problem.own_read[i]
            for edge in range(problem.parent_offsets[i], problem.parent_offsets[i + 1]):
                parent = problem.parents[edge]
                if kernel[parent] == NOT_WRITTEN:
                    if computed[parent] != k:
                        computed[parent] = k
                        pending[count] = parent
                        count += 1
                elif kernel[parent] != k:
                    if read_by[parent] != k:
                        read_by[parent] = k
                        read_bytes[parent] = 0.0
                    extra = max(problem.parent_bytes[edge] - read_bytes[parent], 0.0)
                    read_bytes[parent] += extra
                    moved += extra
        machine = problem.machine
        beyond = max(moved - machine.cache_bytes, 0.0)
        memory = (moved - beyond) * machine.cache_seconds_per_byte + beyond * machine.memory_seconds_per_byte
        computing[k], moving[k] = arithmetic, moved
        if arithmetic > 0.0 or moved > 0.0:  # a state that is passed on needs no kernel
            times[k] = machine.launch_seconds + max(arithmetic, memory)
    return times, computing, moving
