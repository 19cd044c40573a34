"""Change of cost if one operation is fused into all its readers, for kernels that write one result each. Compiled code.

XLA's passes before multi-output fusion compute it for one producer after the other.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from learned_schedulers.graphs.compilers.fusion_problem import FusionProblem
from learned_schedulers.graphs.compilers.plan import NOT_WRITTEN


class Kernel(NamedTuple):
    """Cost of the kernel that writes one result."""

    seconds: float
    computing: float  # seconds of arithmetic
    moved: float  # bytes that are read and written


class Change(NamedTuple):
    """Sums over the kernels of a producer and its readers, before and after it is fused into them."""

    seconds_before: float
    seconds_after: float
    moved_before: float  # bytes
    moved_after: float
    readers: int  # number of reading kernels


class Scratch(NamedTuple):
    """Memory that the functions below reuse; no call reads what an earlier call wrote."""

    last_call: np.ndarray  # (n,) int64: number of the last call that visited an operation
    read_bytes: np.ndarray  # (n,) float64
    pending: np.ndarray  # (n,) int64
    calls: np.ndarray  # (1,) int64: number of calls so far


@njit(cache=True, nogil=True)
def scratch_of(n: int) -> Scratch:
    """Scratch memory for n operations."""
    return Scratch(np.zeros(n, np.int64), np.zeros(n), np.empty(n, np.int64), np.zeros(1, np.int64))


@njit(cache=True, nogil=True)
def kernel_of(problem: FusionProblem, kernel: np.ndarray, root: int, scratch: Scratch) -> Kernel:
    """The kernel that writes the result of `root`; kernel: (n,) as of Plan."""
    last_call, read_bytes, pending = scratch.last_call, scratch.read_bytes, scratch.pending
    scratch.calls[0] += 1
    call = scratch.calls[0]
    pending[0], count = root, 1
    computing, moved = 0.0, problem.written[root]
    while count:
        count -= 1
        i = pending[count]
        computing += problem.computing[i]
        moved += problem.own_read[i]
        for edge in range(problem.parent_offsets[i], problem.parent_offsets[i + 1]):
            parent = problem.parents[edge]
            first = last_call[parent] != call
            last_call[parent] = call
            if kernel[parent] == NOT_WRITTEN:
                if first:
                    pending[count] = parent
                    count += 1
            else:
                if first:
                    read_bytes[parent] = 0.0
                extra = max(problem.parent_bytes[edge] - read_bytes[parent], 0.0)
                read_bytes[parent] += extra
                moved += extra
    machine = problem.machine
    beyond = max(moved - machine.cache_bytes, 0.0)
    memory = (moved - beyond) * machine.cache_seconds_per_byte + beyond * machine.memory_seconds_per_byte
    seconds = machine.launch_seconds + max(computing, memory) if computing > 0.0 or moved > 0.0 else 0.0
    return Kernel(seconds, computing, moved)


@njit(cache=True, nogil=True)
def reading_kernels(problem: FusionProblem, kernel: np.ndarray, i: int, scratch: Scratch) -> np.ndarray:
    """The written results whose kernels read or compute the result of operation i; (k,) int64, each once."""
    last_call, pending = scratch.last_call, scratch.pending
    scratch.calls[0] += 1
    call = scratch.calls[0]
    roots = np.empty(8, np.int64)
    pending[0], count, total = i, 1, 0
    while count:
        count -= 1
        current = pending[count]
        for edge in range(problem.child_offsets[current], problem.child_offsets[current + 1]):
            reader = problem.children[edge]
            if last_call[reader] == call:
                continue
            last_call[reader] = call
            if kernel[reader] == NOT_WRITTEN:
                pending[count] = reader
                count += 1
            else:
                if total == len(roots):
                    roots = np.concatenate((roots, np.empty(total, np.int64)))
                roots[total] = reader
                total += 1
    return roots[:total].copy()


@njit(cache=True, nogil=True)
def change(problem: FusionProblem, kernel: np.ndarray, i: int, scratch: Scratch) -> Change:
    """The change if the written result i is fused into all its readers; `kernel` is unchanged on return."""
    roots = reading_kernels(problem, kernel, i, scratch)
    producer = kernel_of(problem, kernel, i, scratch)
    seconds_before, moved_before = producer.seconds, producer.moved
    for root in roots:
        reader = kernel_of(problem, kernel, root, scratch)
        seconds_before += reader.seconds
        moved_before += reader.moved
    number = kernel[i]
    kernel[i] = NOT_WRITTEN
    seconds_after, moved_after = 0.0, 0.0
    for root in roots:
        reader = kernel_of(problem, kernel, root, scratch)
        seconds_after += reader.seconds
        moved_after += reader.moved
    kernel[i] = number
    return Change(seconds_before, seconds_after, moved_before, moved_after, len(roots))


@njit(cache=True, nogil=True)
def savings(problem: FusionProblem, kernel: np.ndarray, may: np.ndarray) -> np.ndarray:
    """(n,) seconds saved by reversing the decision about one operation; each written result counts as one kernel.

    may: (n,) bool, the operation may be fused. A written result is fused, a fused result is written. 0 where `may` is
    False.
    """
    n = len(kernel)
    scratch, saved, alone = scratch_of(n), np.zeros(n), kernel.copy()
    for i in range(n):
        if may[i]:
            alone[i] = i
            changed = change(problem, alone, i, scratch)
            saved[i] = changed.seconds_before - changed.seconds_after
            alone[i] = kernel[i]
            if kernel[i] == NOT_WRITTEN:
                saved[i] = -saved[i]
    return saved
