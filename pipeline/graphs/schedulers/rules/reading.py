"""An order from the times of a schedule."""

from __future__ import annotations

import numpy as np


def by_times(starts: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """(n,) int32: operations by their start, equal starts by their end, then by their number.

    The order is topological if no operation starts before its parents end: an operation that starts with its parent,
    which then takes no time, does not end earlier, and has a higher number.
    """
    return np.lexsort((np.arange(len(starts)), ends, starts)).astype(np.int32)
