"""Anytime curves: how good the best schedule was after so many evaluations, and after so much time."""

from __future__ import annotations

import numpy as np


def curve(costs: np.ndarray, seconds: float) -> dict[str, np.ndarray]:
    """A curve from the costs of E evaluated schedules, in their sequence: evaluations, best, seconds, (C,) each.

    evaluations: 1, 3, 10, 30, ... and E; best: the least cost so far; seconds: wall time, `seconds` at the end, spread
    evenly, as every evaluation of a method takes about the same time.
    """
    steps = [first * 10**power for power in range(10) for first in (1, 3)]
    points = np.array([*(step for step in steps if step < len(costs)), *([len(costs)] if len(costs) else [])], np.int64)
    best = np.minimum.accumulate(costs)[points - 1] if len(costs) else np.zeros(0)
    return {"evaluations": points, "best": best, "seconds": seconds * points / max(len(costs), 1)}
