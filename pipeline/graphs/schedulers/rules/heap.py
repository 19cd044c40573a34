"""A binary heap in two flat arrays: the least key first, of equal keys the least number."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True)
def push(keys: np.ndarray, numbers: np.ndarray, size: int, key: float, number: int) -> int:
    """Add a pair to the first `size` pairs; the new size."""
    at = size
    while at > 0:
        above = (at - 1) // 2
        if not _before(key, number, keys[above], numbers[above]):
            break
        keys[at], numbers[at] = keys[above], numbers[above]
        at = above
    keys[at], numbers[at] = key, number
    return size + 1


@njit(cache=True)
def pop(keys: np.ndarray, numbers: np.ndarray, size: int) -> int:
    """Take the first of `size` pairs, at least one, out; its number. The size is then one less."""
    first, size = numbers[0], size - 1
    key, number = keys[size], numbers[size]
    at = 0
    while 2 * at + 1 < size:
        below = 2 * at + 1
        if below + 1 < size and _before(keys[below + 1], numbers[below + 1], keys[below], numbers[below]):
            below += 1
        if not _before(keys[below], numbers[below], key, number):
            break
        keys[at], numbers[at] = keys[below], numbers[below]
        at = below
    keys[at], numbers[at] = key, number
    return first


@njit(cache=True)
def _before(key: float, number: int, other_key: float, other_number: int) -> bool:
    return key < other_key or (key == other_key and number < other_number)
