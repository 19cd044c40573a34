"""Intervals for members that resemble each other within a cluster: resamples of families, then of their graphs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from learned_schedulers.statistics.bootstrap import Bootstrap

_SEED = 2019


class ClusterBootstrap(Bootstrap):
    """As `Bootstrap`, but every resample draws as many clusters as there are, with replacement, then members of each.

    A drawn cluster gives as many members as it has, again with replacement. Few clusters give a wide interval: it
    shows how far a number would move with other clusters. With one cluster, only its members are resampled.
    """

    def __init__(self, clusters: Sequence[str] | np.ndarray, samples: int, confidence: float) -> None:
        """clusters: the cluster of each of the n members."""
        tail = (1 - confidence) / 2
        self._levels = [tail, 1 - tail]
        names, which = np.unique(np.asarray(clusters, object).astype(str), return_inverse=True)
        members = [np.flatnonzero(which == k) for k in range(len(names))]
        rng = np.random.default_rng([_SEED, len(which), len(names), samples])
        self._counts = np.zeros((samples, len(which)))
        for counts in self._counts:
            for k in rng.integers(0, len(members), len(members)):
                drawn = members[k][rng.integers(0, len(members[k]), len(members[k]))]
                counts += np.bincount(drawn, minlength=len(which))
