"""Intervals that resample clusters: wider if clusters differ, as usual with one cluster."""

from __future__ import annotations

import numpy as np

from learned_schedulers.statistics.bootstrap import Bootstrap
from learned_schedulers.statistics.clusters import ClusterBootstrap


def width(bootstrap: Bootstrap, values: np.ndarray) -> float:
    _, estimate = bootstrap.estimates(values[None])
    return estimate.high - estimate.low


def test_clusters_that_differ_make_the_interval_wide() -> None:
    rng = np.random.default_rng(0)
    clusters = np.repeat(["a", "b", "c", "d"], 10)
    apart = np.repeat([0.0, 1.0, 2.0, 3.0], 10) + 0.01 * rng.random(40)
    alike = rng.permutation(apart)
    clustered = ClusterBootstrap(list(clusters), 500, 0.95)
    assert width(clustered, apart) > 2 * width(Bootstrap(40, 500, 0.95), apart)
    assert width(clustered, alike) < width(clustered, apart)


def test_every_resample_draws_whole_clusters_as_often_as_there_are() -> None:
    """With one member each, a resample of clusters is a resample of members."""
    single = ClusterBootstrap([str(k) for k in range(30)], 400, 0.95)
    values = np.random.default_rng(1).random(30)
    assert 0.8 < width(single, values) / width(Bootstrap(30, 400, 0.95), values) < 1.25
    whole = ClusterBootstrap(["a"] * 30, 400, 0.95)
    assert 0.8 < width(whole, values) / width(Bootstrap(30, 400, 0.95), values) < 1.25
    assert width(whole, values) == width(ClusterBootstrap(["b"] * 30, 400, 0.95), values)  # names do not matter
