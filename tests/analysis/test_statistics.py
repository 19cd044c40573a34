import numpy as np
import pytest

from learned_schedulers.statistics.bootstrap import Bootstrap

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
