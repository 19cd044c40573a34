"""How a cost grows with the size of a problem."""

from __future__ import annotations

import numpy as np

from learned_schedulers.statistics.bootstrap import Estimate

_LEAST = 3  # sizes, for a slope without one of them to be a slope


def exponent(sizes: np.ndarray, costs: np.ndarray) -> Estimate:
    """The slope of the least-squares line through log(cost) over log(size), one entry for each of n >= 2 sizes.

    The interval are the least and the largest slope with one of the sizes left out; NaN for fewer than three sizes.
    """
    slope = _slope(sizes, costs)
    if len(sizes) < _LEAST:
        return Estimate(slope, np.nan, np.nan, len(sizes))
    without = [_slope(np.delete(sizes, left_out), np.delete(costs, left_out)) for left_out in range(len(sizes))]
    return Estimate(slope, min(without), max(without), len(sizes))


def _slope(sizes: np.ndarray, costs: np.ndarray) -> float:
    return float(np.polyfit(np.log(sizes), np.log(costs), 1)[0])
