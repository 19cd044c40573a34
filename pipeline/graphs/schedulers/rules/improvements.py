"""Anytime curves with a point at every improvement of the best schedule."""

from __future__ import annotations

import numpy as np


def improvements(costs: np.ndarray, seconds: float) -> dict[str, np.ndarray]:
    """As `curve.curve`, but with a point wherever the least cost falls, and one at the end.

    costs: (E,) of evaluated schedules, in their sequence, infinite for an invalid one; there are no points before the
    first valid schedule.
    """
    least = np.minimum.accumulate(costs)
    falls = np.flatnonzero(np.isfinite(least) & (least < np.r_[np.inf, least[:-1]]))
    points = np.unique(np.r_[falls, [len(costs) - 1] if len(costs) and np.isfinite(least[-1]) else []]).astype(np.int64)
    return {"evaluations": points + 1, "best": least[points], "seconds": seconds * (points + 1) / max(len(costs), 1)}
