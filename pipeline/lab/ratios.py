"""Ratios of costs of computation graphs: of two sums over members of clusters, and of one member over its seeds."""

from __future__ import annotations

import numpy as np

from learned_schedulers.statistics.bootstrap import Estimate
from learned_schedulers.statistics.clusters import ClusterBootstrap
from pipeline.lab.rows import Place, Quantity, Row, families, row

_SEED = 2020


class RatioBootstrap(ClusterBootstrap):
    """Resamples of `ClusterBootstrap`, each with the ratio of its two sums."""

    def ratio(self, parts: np.ndarray, wholes: np.ndarray) -> Estimate:
        """The mean over seeds of sum(parts) / sum(wholes).

        parts, wholes: (seeds, n); a NaN in one of them excludes that member and seed from both. Seeds are resampled as
        in `Bootstrap.estimates`. NaN if the sum of the wholes is not above 0.
        """
        enters = ~(np.isnan(parts) | np.isnan(wholes))
        used = np.where(enters, parts, 0.0), np.where(enters, wholes, 0.0)
        above, below = (values.sum(1) for values in used)
        if (below <= 0).any():
            return Estimate(np.nan, np.nan, np.nan, 0)
        part, whole = (values @ self._counts.T for values in used)  # (seeds, samples)
        resampled = np.divide(part, whole, out=np.full_like(part, np.nan), where=whole > 0)
        centre, seeds = resampled.mean(0), len(parts)
        if seeds > 1:
            drawn = np.random.default_rng([_SEED, *resampled.shape]).integers(0, seeds, resampled.shape)
            moved = np.take_along_axis(resampled, drawn, 0).mean(0) - centre
            centre = centre + moved * np.sqrt(seeds / (seeds - 1))
        return self._estimate(float((above / below).mean()), centre, enters.any(0))


def share_of_head_room(
    place: Place, baseline: str, won: np.ndarray, winnable: np.ndarray, bootstrap: RatioBootstrap
) -> Row:
    """The row with sum(won) / sum(winnable), of gains over a baseline.

    won: (seeds, n) gains of a method; winnable: (n,) gains of the best that is known.
    """
    estimate = bootstrap.ratio(won, np.broadcast_to(winnable, won.shape))
    numbers = estimate.value, estimate.low, estimate.high
    over = families(estimate.low, len(won))
    return row(place, Quantity("share_of_head_room", baseline=baseline), *numbers, estimate.n, over, seed="all")


def with_range(ratios: np.ndarray) -> tuple[float, float, float]:
    """Geometric mean, least and most of (seeds,) ratios of one member; NaN without any."""
    if np.isnan(ratios).all():
        return np.nan, np.nan, np.nan
    return float(np.exp(np.nanmean(np.log(ratios)))), float(np.nanmin(ratios)), float(np.nanmax(ratios))
