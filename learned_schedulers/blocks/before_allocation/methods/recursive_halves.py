"""Cut the DAG in the middle between inputs and outputs, and order the halves in the same way.

The scheduler of FFTW's generator: Frigo 1999, "A fast Fourier transform compiler" (PLDI). Instructions without
predecessors are coloured red and those without successors blue; then, in turn, what has only red predecessors becomes
red and what has only blue successors blue. The red half comes first. Parts that do not hang together are ordered one
after the other, that with the first instruction first. It does not know the number of registers, and for transforms of
powers of two it is optimal within a factor for any number.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from learned_schedulers.blocks.before_allocation.problem import Problem
from learned_schedulers.blocks.before_allocation.rows import Rows, true_columns


def order(problem: Problem, rng: np.random.Generator) -> np.ndarray:
    """The order, (n,) int64; nothing is drawn."""
    n = len(problem.leaves)
    return _order(true_columns(problem.precedes), true_columns(problem.precedes.T), np.arange(n))


@njit(cache=True, nogil=True)
def _order(successors: Rows, predecessors: Rows, order: np.ndarray) -> np.ndarray:
    """Sort order (n,), 0 to n - 1, in place: a part is a stretch of it, ascending, until its halves are parts."""
    n = len(order)
    part = np.zeros(n, np.int64)  # number of the part that an instruction belongs to
    parts = 1
    stack = [(0, n)]
    while stack:
        begin, end = stack.pop()
        if end - begin < 2:
            continue
        members = order[begin:end].copy()
        label = _components(successors, predecessors, members, part)
        if label.max() == 0:
            label = _halves(successors, predecessors, members, part)
        sizes = np.zeros(label.max() + 2, np.int64)
        for k in label:
            sizes[k + 1] += 1
        first = begin + np.cumsum(sizes)
        for k in range(len(first) - 1):
            stack.append((first[k], first[k + 1]))
        place = first.copy()
        for position in range(len(members)):
            i, k = members[position], label[position]
            order[place[k]] = i
            place[k] += 1
            part[i] = parts + k
        parts += len(first) - 1
    return order


@njit(cache=True, nogil=True)
def _components(successors: Rows, predecessors: Rows, members: np.ndarray, part: np.ndarray) -> np.ndarray:
    """Number of the connected component of each member, by its first member."""
    number = part[members[0]]
    label = np.full(len(part), -1)
    components = 0
    queue = np.empty(len(members), np.int64)
    for i in members:
        if label[i] >= 0:
            continue
        queue[0], count = i, 1
        label[i] = components
        while count:
            count -= 1
            k = queue[count]
            for table in (successors, predecessors):
                for other in table.items[table.offsets[k] : table.offsets[k + 1]]:
                    if part[other] == number and label[other] < 0:
                        label[other] = components
                        queue[count] = other
                        count += 1
        components += 1
    return label[members]


@njit(cache=True, nogil=True)
def _halves(successors: Rows, predecessors: Rows, members: np.ndarray, part: np.ndarray) -> np.ndarray:
    """0 for red members, 1 for blue."""
    number = part[members[0]]
    label = np.full(len(part), -1)
    waiting = np.zeros((2, len(part)), np.int64)  # neighbours that lack the colour of this side
    fronts, counts = np.empty((2, len(members)), np.int64), np.zeros(2, np.int64)
    for i in members:
        for side, table in ((0, predecessors), (1, successors)):
            for k in table.items[table.offsets[i] : table.offsets[i + 1]]:
                waiting[side, i] += part[k] == number
            if waiting[side, i] == 0:
                label[i] = side
                fronts[side, counts[side]] = i
                counts[side] += 1
    begins = np.zeros(2, np.int64)
    while begins[0] < counts[0] or begins[1] < counts[1]:
        for side, table in ((0, successors), (1, predecessors)):
            end = counts[side]
            for i in fronts[side, begins[side] : end]:
                for k in table.items[table.offsets[i] : table.offsets[i + 1]]:
                    if part[k] == number:
                        waiting[side, k] -= 1
                        if waiting[side, k] == 0 and label[k] < 0:
                            label[k] = side
                            fronts[side, counts[side]] = k
                            counts[side] += 1
            begins[side] = end
    return label[members]
