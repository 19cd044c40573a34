"""Connected components by NumPy alone: `order` starts without SciPy."""

from __future__ import annotations

import numpy as np


def components(source: np.ndarray, into: np.ndarray, count: int) -> np.ndarray:
    """Number of the component of each of `count` nodes, (count,) int64; numbered by their first nodes.

    source, into: (E,) ends of the edges, whose directions do not count.
    """
    least = np.arange(count)  # a node of the same component, in the end its first one
    while True:
        lower = np.minimum(least[source], least[into])
        following = least.copy()
        for ends in (source, into, least[source], least[into]):
            np.minimum.at(following, ends, lower)
        following = following[following]
        if np.array_equal(following, least):
            return np.unique(least, return_inverse=True)[1].astype(np.int64)
        least = following
