"""Means with bootstrap intervals: resamples of blocks, and of seeds if there are several."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

_SEED = 2019


@dataclass(frozen=True)
class Estimate:
    """A mean over blocks (and seeds); NaN if no block enters."""

    value: float
    low: float
    high: float
    n: int  # blocks that enter; over seeds: blocks that enter with at least one seed


class Bootstrap:
    """Percentile intervals from `samples` resamples of the same `n_blocks` blocks.

    The resamples depend only on their number and on n_blocks. So all metrics of these blocks have the same resamples
    (common random numbers), and an interval does not depend on the choice of metrics.
    """

    def __init__(self, n_blocks: int, samples: int, confidence: float) -> None:
        rng = np.random.default_rng([_SEED, n_blocks, samples])
        tail = (1 - confidence) / 2
        self._levels = [tail, 1 - tail]
        self._counts = np.empty((samples, n_blocks))  # how often a resample draws a block
        for counts in self._counts:
            counts[:] = np.bincount(rng.integers(0, n_blocks, n_blocks), minlength=n_blocks)

    def _means(self, values: np.ndarray) -> np.ndarray:
        """Mean of every resample, (samples,); NaN for a resample in which no block enters."""
        enters = ~np.isnan(values)
        if not enters.any():
            return np.full(len(self._counts), np.nan)
        sums = self._counts @ np.where(enters, values, 0.0)
        drawn = self._counts @ enters.astype(float)
        return np.divide(sums, drawn, out=np.full_like(sums, np.nan), where=drawn > 0)

    def _estimate(self, value: float, resampled: np.ndarray, entered: np.ndarray) -> Estimate:
        """value, and the ends of (samples,) means; entered: (n_blocks,) whether a block enters."""
        if not entered.any():
            return Estimate(np.nan, np.nan, np.nan, 0)
        low, high = np.nanquantile(resampled, self._levels)
        return Estimate(value, float(low), float(high), int(entered.sum()))

    def estimates(self, values: np.ndarray) -> tuple[list[Estimate], Estimate]:
        """The mean of every seed, and the mean of these means.

        values: (seeds, n_blocks), NaN if a block does not enter with that seed.

        A seed's interval shows how far its mean would move on other blocks. The interval of all seeds also shows how
        far the mean would move with other seeds: every resample draws its blocks, the same for all seeds, and then as
        many seeds as there are, with replacement. Drawing S of S seeds has only (S - 1) / S of their variance, a third
        less with three seeds, so the deviation is multiplied by sqrt(S / (S - 1)). With one seed the interval covers
        blocks alone.
        """
        entered = ~np.isnan(values)
        sizes = entered.sum(1)
        means = [float(row[~np.isnan(row)].mean()) if n else np.nan for row, n in zip(values, sizes, strict=True)]
        resampled = np.stack([self._means(row) for row in values])  # (seeds, samples)
        each = [self._estimate(*seed) for seed in zip(means, resampled, entered, strict=True)]
        used = np.flatnonzero(sizes > 0)
        if len(used) == 0:
            return each, Estimate(np.nan, np.nan, np.nan, 0)
        n_seeds, samples = len(used), resampled.shape[1]
        centre = resampled[used].mean(0)
        if n_seeds > 1:
            rng = np.random.default_rng([_SEED, n_seeds, samples])
            drawn = rng.integers(0, n_seeds, (n_seeds, samples))
            moved = np.take_along_axis(resampled[used], drawn, 0).mean(0) - centre
            centre = centre + moved * np.sqrt(n_seeds / (n_seeds - 1))
        return each, self._estimate(float(np.mean([means[i] for i in used])), centre, entered.any(0))
