"""Intervals that resample clusters: wider if clusters differ, as usual with one cluster."""

from __future__ import annotations

import numpy as np
import pytest

from learned_schedulers.statistics.bootstrap import Bootstrap
from learned_schedulers.statistics.clusters import FEW, ClusterBootstrap, widening


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


def test_four_families_cover_the_truth_as_often_as_they_say() -> None:
    """Of a 95% interval over four clusters, percentiles alone cover eight of ten."""
    rng = np.random.default_rng(2)
    bootstrap = ClusterBootstrap(np.repeat(list("abcd"), 5), 300, 0.95)
    covered = {"percentiles": 0, "few": 0}
    for _ in range(1000):
        values = np.repeat(rng.normal(0, 1, 4), 5) + 0.05 * rng.normal(0, 1, 20)
        _, few = bootstrap.estimates(values[None])
        ends = np.array([few.low, few.high]) - few.value
        covered["few"] += few.low <= 0 <= few.high
        low, high = few.value + ends / widening(4, 0.95)
        covered["percentiles"] += low <= 0 <= high
    assert 920 <= covered["few"] <= 980
    assert covered["percentiles"] < 850


def test_widening_follows_the_clusters_that_enter() -> None:
    assert widening(4, 0.95) == pytest.approx((4 / 3) ** 0.5 * 3.182446 / 1.959964, rel=1e-6)  # Student's table
    assert widening(FEW, 0.95) == widening(1, 0.95) == 1.0
    values = np.arange(20.0) % 5
    values[:10] = np.nan  # two of four families do not enter
    bootstrap = ClusterBootstrap(np.repeat(list("abcd"), 5), 4000, 0.95)
    _, two = bootstrap.estimates(values[None])
    assert (two.high - two.value) / widening(2, 0.95) == pytest.approx(0.8, abs=0.6)
    assert two.high > 4.0  # beyond every member: of two families, nearly nothing is known
