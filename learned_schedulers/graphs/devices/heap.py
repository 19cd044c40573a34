"""A binary heap in two flat arrays: the least key comes first; of equal keys, the least number."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True)
def push(keys: np.ndarray, numbers: np.ndarray, size: int, key: float, number: int) -> int:
    """Add a pair to the first `size` pairs; returns the new size."""
    place = size
    while place > 0:
        parent = (place - 1) // 2
        if not _before(key, number, keys[parent], numbers[parent]):
            break
        keys[place], numbers[place] = keys[parent], numbers[parent]
        place = parent
    keys[place], numbers[place] = key, number
    return size + 1


@njit(cache=True)
def pop(keys: np.ndarray, numbers: np.ndarray, size: int) -> int:
    """Remove the first of `size` pairs, at least one, and return its number. The size is then one less."""
    first, size = numbers[0], size - 1
    key, number = keys[size], numbers[size]
    place = 0
    while 2 * place + 1 < size:
        child = 2 * place + 1
        if child + 1 < size and _before(keys[child + 1], numbers[child + 1], keys[child], numbers[child]):
            child += 1
        if not _before(keys[child], numbers[child], key, number):
            break
        keys[place], numbers[place] = keys[child], numbers[child]
        place = child
    keys[place], numbers[place] = key, number
    return first


@njit(cache=True)
def _before(key: float, number: int, other_key: float, other_number: int) -> bool:
    return key < other_key or (key == other_key and number < other_number)
