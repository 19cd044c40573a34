"""Intervals by resampling blocks and clusters, and exponents of growth."""

from __future__ import annotations

import math

import numpy as np
import pytest

from learned_schedulers.statistics.bootstrap import Bootstrap
from learned_schedulers.statistics.clusters import FEW, ClusterBootstrap, widening
from pipeline.lab.growth import exponent

NAN = float("nan")


def test_mean_and_interval_of_one_seed_as_theory_has_it() -> None:
    values = np.random.default_rng(1).normal(3.0, 2.0, 2000)
    [each], over_seeds = Bootstrap(2000, 2000, 0.95).estimates(values[None])
    error = values.std() / np.sqrt(2000)
    assert each.value == pytest.approx(values.mean())
    assert each.low == pytest.approx(values.mean() - 1.96 * error, abs=0.2 * error)
    assert each.high == pytest.approx(values.mean() + 1.96 * error, abs=0.2 * error)
    assert over_seeds == each
    assert each.n == 2000


def test_intervals_cover_the_truth_as_often_as_they_say() -> None:
    rng = np.random.default_rng(2)
    bootstrap = Bootstrap(150, 300, 0.8)
    covered = 0
    for _ in range(400):
        [each], _ = bootstrap.estimates(rng.binomial(1, 0.6, (1, 150)).astype(float))
        covered += each.low <= 0.6 <= each.high
    assert 0.73 < covered / 400 < 0.87


def test_blocks_that_do_not_enter_count_nowhere() -> None:
    values = np.array([[1.0, NAN, 3.0, NAN], [NAN, NAN, 5.0, 7.0]])
    each, over_seeds = Bootstrap(4, 200, 0.95).estimates(values)
    assert [(e.value, e.n) for e in each] == [(2.0, 2), (6.0, 2)]
    assert (over_seeds.value, over_seeds.n) == (4.0, 3)
    assert 1 <= each[0].low < each[0].high <= 3


def test_nothing_enters() -> None:
    [each], over_seeds = Bootstrap(3, 50, 0.95).estimates(np.full((1, 3), NAN))
    for estimate in (each, over_seeds):
        assert estimate.n == 0 and np.isnan([estimate.value, estimate.low, estimate.high]).all()


def test_spread_over_seeds_widens_the_interval_by_its_own_variance() -> None:
    """All blocks are equal, so seeds cause all variance: it must be the variance of the mean over seeds."""
    levels = np.array([0.0, 1.0, 2.0])
    _, over_seeds = Bootstrap(100, 20000, 0.6826895).estimates(np.repeat(levels[:, None], 100, 1))
    error = levels.std(ddof=1) / np.sqrt(3)
    assert over_seeds.value == pytest.approx(1.0)
    # Few values are possible with three seeds, so the interval is compared roughly.
    assert (over_seeds.high - over_seeds.low) / 2 == pytest.approx(error, rel=0.35)


def test_same_numbers_every_time_whatever_else_is_asked() -> None:
    rng = np.random.default_rng(4)
    values, more = rng.random((2, 3, 200))
    first = Bootstrap(200, 300, 0.9).estimates(values)
    again = Bootstrap(200, 300, 0.9)
    again.estimates(more)
    assert again.estimates(values) == first


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


SIZES = np.array([1e6, 3e6, 1e7, 3e7])


@pytest.mark.parametrize("power", [0.5, 1.0, 1.2])
def test_the_exponent_of_a_power_is_exact(power: float) -> None:
    slope = exponent(SIZES, 3 * SIZES**power)
    assert np.allclose([slope.value, slope.low, slope.high], power) and slope.n == 4


def test_the_interval_shows_a_size_that_differs() -> None:
    slope = exponent(SIZES, SIZES * [1, 1, 1, 2])
    assert slope.low == pytest.approx(1.0) and slope.low < slope.value < slope.high


def test_two_sizes_have_no_interval() -> None:
    slope = exponent(SIZES[:2], SIZES[:2])
    assert slope.value == pytest.approx(1.0) and math.isnan(slope.low) and math.isnan(slope.high)
