"""Intervals for members that resemble each other within a cluster: resamples of families, then of their graphs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.stats import norm, t

from learned_schedulers.statistics.bootstrap import Bootstrap, Estimate

_SEED = 2019
FEW = 20  # clusters; with fewer, the interval is that of few clusters


def widening(clusters: int, confidence: float) -> float:
    """By how much an interval of percentiles over few clusters is too narrow.

    k resampled clusters have (k - 1) / k of the variance that their mean has, and a normal distribution's tails in
    place of Student's with k - 1 degrees of freedom (Hesterberg 2015, What Teachers Should Know About the Bootstrap,
    section 4.3, expanded percentile intervals). His quantiles lie beyond a thousand resamples where k is small, so the
    ends' distances from the value are multiplied instead. 1 from `FEW` clusters on, and for one, of whose kind nothing
    is known.
    """
    if not 1 < clusters < FEW:
        return 1.0
    level = (1 + confidence) / 2
    return float(math.sqrt(clusters / (clusters - 1)) * t.ppf(level, clusters - 1) / norm.ppf(level))


class ClusterBootstrap(Bootstrap):
    """As `Bootstrap`, but every resample draws as many clusters as there are, with replacement, then members of each.

    A drawn cluster gives as many members as it has, again with replacement. Few clusters give a wide interval: it
    shows how far a number would move with other clusters (`widening`). With one cluster, only its members are
    resampled.
    """

    def __init__(self, clusters: Sequence[str] | np.ndarray, samples: int, confidence: float) -> None:
        """clusters: the cluster of each of the n members."""
        tail = (1 - confidence) / 2
        self._levels = [tail, 1 - tail]
        self._confidence = confidence
        names, which = np.unique(np.asarray(clusters, object).astype(str), return_inverse=True)
        self._which = which
        members = [np.flatnonzero(which == k) for k in range(len(names))]
        rng = np.random.default_rng([_SEED, len(which), len(names), samples])
        self._counts = np.zeros((samples, len(which)))
        for counts in self._counts:
            for k in rng.integers(0, len(members), len(members)):
                drawn = members[k][rng.integers(0, len(members[k]), len(members[k]))]
                counts += np.bincount(drawn, minlength=len(which))

    def _estimate(self, value: float, resampled: np.ndarray, entered: np.ndarray) -> Estimate:
        drawn = super()._estimate(value, resampled, entered)
        by = widening(len(np.unique(self._which[entered])), self._confidence)
        if by == 1:
            return drawn
        return replace(drawn, low=value + by * (drawn.low - value), high=value + by * (drawn.high - value))
