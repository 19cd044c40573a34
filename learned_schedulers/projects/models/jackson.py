"""Jackson's preemptive schedule of one machine: a lower bound of every schedule in which the machine takes part.

Jackson 1955; Carlier 1982. Each operation has a head, before which it cannot start, a duration, and a tail, which
passes between its end and the end of the project. At any time the machine runs the ready operation with the longest
tail.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True)
def preemptive_bound(heads: np.ndarray, durations: np.ndarray, tails: np.ndarray, by_head: np.ndarray) -> float:
    """The end of Jackson's preemptive schedule of r operations. by_head: (r,) their indices, by ascending heads."""
    r = len(by_head)
    left = durations.copy()
    heap = np.empty(r, np.int64)  # ready operations, the longest tail first
    size = arrived = 0
    now = bound = 0.0
    while arrived < r or size > 0:
        if size == 0:
            now = max(now, heads[by_head[arrived]])
        while arrived < r and heads[by_head[arrived]] <= now:
            size = _push(heap, size, by_head[arrived], tails)
            arrived += 1
        running = heap[0]
        until = heads[by_head[arrived]] if arrived < r else np.inf
        if now + left[running] <= until:
            now += left[running]
            bound = max(bound, now + tails[running])
            size = _pop(heap, size, tails)
        else:
            left[running] -= until - now
            now = until
    return bound


@njit(cache=True)
def _push(heap: np.ndarray, size: int, operation: int, tails: np.ndarray) -> int:
    """Add an operation; returns the new size."""
    place = size
    heap[place] = operation
    while place > 0 and tails[heap[(place - 1) // 2]] < tails[heap[place]]:
        above = (place - 1) // 2
        heap[place], heap[above] = heap[above], heap[place]
        place = above
    return size + 1


@njit(cache=True)
def _pop(heap: np.ndarray, size: int, tails: np.ndarray) -> int:
    """Take away the first operation; returns the new size."""
    size -= 1
    heap[0] = heap[size]
    place = 0
    while 2 * place + 1 < size:
        below = 2 * place + 1
        if below + 1 < size and tails[heap[below + 1]] > tails[heap[below]]:
            below += 1
        if tails[heap[below]] <= tails[heap[place]]:
            break
        heap[place], heap[below] = heap[below], heap[place]
        place = below
    return size
