"""Learning rates as functions of the step."""

from __future__ import annotations

import numpy as np


def warmed_cosine(largest: float, step: int, warmup: int, steps: int, least: float) -> float:
    """The rate of step 0, 1, ...: a linear warm-up, then half a cosine, but at least the share `least` of `largest`."""
    cosine = 0.5 * (1 + np.cos(np.pi * step / steps))
    return float(largest * min(1.0, (step + 1) / warmup) * max(least, cosine))
