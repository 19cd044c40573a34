"""What fusing one operation into all its readers changes, while every kernel writes one result. Compiled code.

XLA's passes before multi-output fusion ask this of one producer after the other.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from pipeline.graphs.compilers.fusion_problem import FusionProblem
from pipeline.graphs.compilers.plan import NOT_WRITTEN


class Kernel(NamedTuple):
    """What the kernel of one result does."""

    seconds: float
    computing: float  # seconds of arithmetic
    moved: float  # bytes read and written


class Change(NamedTuple):
    """A producer's and its readers' kernels, before and after it is fused into them."""

    seconds_before: float
    seconds_after: float
    moved_before: float  # bytes
    moved_after: float
    readers: int  # kernels


class Scratch(NamedTuple):
    """Memory that the functions below use again and again; nothing is read that an earlier call left."""

    seen: np.ndarray  # (n,) int64: the last call that came across an operation
    read_bytes: np.ndarray  # (n,) float64
    pending: np.ndarray  # (n,) int64
    calls: np.ndarray  # (1,) int64


@njit(cache=True, nogil=True)
def scratch_of(n: int) -> Scratch:
    """For n operations."""
    return Scratch(np.zeros(n, np.int64), np.zeros(n), np.empty(n, np.int64), np.zeros(1, np.int64))


@njit(cache=True, nogil=True)
def kernel_of(problem: FusionProblem, kernel: np.ndarray, root: int, scratch: Scratch) -> Kernel:
    """The kernel that writes the result of `root`; kernel: (n,) as of Plan."""
    seen, read_bytes, pending = scratch.seen, scratch.read_bytes, scratch.pending
    scratch.calls[0] += 1
    now = scratch.calls[0]
    pending[0], count = root, 1
    computing, moved = 0.0, problem.written[root]
    while count:
        count -= 1
        i = pending[count]
        computing += problem.computing[i]
        moved += problem.own_read[i]
        for edge in range(problem.parent_offsets[i], problem.parent_offsets[i + 1]):
            parent = problem.parents[edge]
            first = seen[parent] != now
            seen[parent] = now
            if kernel[parent] == NOT_WRITTEN:
                if first:
                    pending[count] = parent
                    count += 1
            else:
                if first:
                    read_bytes[parent] = 0.0
                more = max(problem.parent_bytes[edge] - read_bytes[parent], 0.0)
                read_bytes[parent] += more
                moved += more
    beyond = max(moved - problem.machine[1], 0.0)
    memory = (moved - beyond) * problem.machine[2] + beyond * problem.machine[3]
    seconds = problem.machine[0] + max(computing, memory) if computing > 0.0 or moved > 0.0 else 0.0
    return Kernel(seconds, computing, moved)


@njit(cache=True, nogil=True)
def reading_kernels(problem: FusionProblem, kernel: np.ndarray, i: int, scratch: Scratch) -> np.ndarray:
    """The written results whose kernels read, or compute, the result of operation i; (k,) int64, each once."""
    seen, pending = scratch.seen, scratch.pending
    scratch.calls[0] += 1
    now = scratch.calls[0]
    roots = np.empty(8, np.int64)
    pending[0], count, total = i, 1, 0
    while count:
        count -= 1
        current = pending[count]
        for edge in range(problem.child_offsets[current], problem.child_offsets[current + 1]):
            reader = problem.children[edge]
            if seen[reader] == now:
                continue
            seen[reader] = now
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
    """What fusing the written result i into all its readers would change; `kernel` is as before when it returns."""
    roots = reading_kernels(problem, kernel, i, scratch)
    own = kernel_of(problem, kernel, i, scratch)
    before, moved_before, after, moved_after = own.seconds, own.moved, 0.0, 0.0
    for root in roots:
        one = kernel_of(problem, kernel, root, scratch)
        before += one.seconds
        moved_before += one.moved
    number = kernel[i]
    kernel[i] = NOT_WRITTEN
    for root in roots:
        one = kernel_of(problem, kernel, root, scratch)
        after += one.seconds
        moved_after += one.moved
    kernel[i] = number
    return Change(before, after, moved_before, moved_after, len(roots))


@njit(cache=True, nogil=True)
def savings(problem: FusionProblem, kernel: np.ndarray, may: np.ndarray) -> np.ndarray:
    """(n,) seconds that turning one operation's decision saves, kernels of several results taken for several kernels.

    may: (n,) bool, may be fused. Of a written result: fusing it; of a fused one: writing it. 0 where none is.
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
