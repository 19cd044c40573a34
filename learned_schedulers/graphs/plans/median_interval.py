"""The interval of a median."""

from __future__ import annotations

import numpy as np
from scipy.stats import binom

_CONFIDENCE = 0.95


def median_interval(values: np.ndarray) -> tuple[float, float]:
    """The 95% interval of the median of (n,) independent values, by order statistics."""
    rank = max(1, int(binom.ppf((1 - _CONFIDENCE) / 2, len(values), 0.5)))
    ordered = np.sort(values)
    return float(ordered[rank - 1]), float(ordered[-rank])
