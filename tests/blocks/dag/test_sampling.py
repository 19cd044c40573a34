"""Samplers are legal and deterministic; `uniform` is uniform."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2

from learned_schedulers.blocks.dag import sampling
from learned_schedulers.blocks.dag.linear_extensions import draw_uniform
from learned_schedulers.blocks.dag.topology import count_violations
from tests.blocks.dag.relations import chain, dags, disjoint_union, grid, legal_orders, zigzag

SAMPLERS = sorted(sampling.SAMPLERS)
# 0 before 1, and 2 before 3 before 4: under `random_ready` too many orders start with the short chain.
LOPSIDED = disjoint_union(chain(2), chain(3))
BRANCHED = np.zeros((6, 6), bool)
BRANCHED[[0, 0, 1, 4], [2, 3, 3, 5]] = True


def p_value(precedes: np.ndarray, sampler: str) -> float:
    batch = np.repeat(precedes[None], 20_000, 0)
    return chi_square(precedes, sampling.SAMPLERS[sampler](batch, np.random.default_rng(2019)))


def drawn_by_swaps(precedes: np.ndarray, distance: float) -> np.ndarray:
    """Orders from the chain of swaps: the limit on subsets is 0, so the orders cannot be counted."""
    orders = np.empty((20_000, len(precedes)), np.int16)
    assert draw_uniform(np.repeat(precedes[None], 20_000, 0), np.random.default_rng(2019), 0, distance, orders) < 0
    return orders


def chi_square(precedes: np.ndarray, drawn: np.ndarray) -> float:
    """P value of the hypothesis that every legal order is equally likely."""
    orders = legal_orders(precedes)
    occurrences = Counter(map(tuple, drawn.tolist()))
    assert set(occurrences) <= set(orders)
    expected = len(drawn) / len(orders)
    statistic = sum((occurrences[order] - expected) ** 2 / expected for order in orders)
    return float(chi2.sf(statistic, len(orders) - 1))


@pytest.mark.slow
@pytest.mark.parametrize("precedes", [np.zeros((4, 4), bool), LOPSIDED, BRANCHED, grid(2, 4), zigzag(6)])
def test_uniform_is_uniform(precedes: np.ndarray) -> None:
    assert p_value(precedes, "uniform") > 0.001


@pytest.mark.parametrize("precedes", [LOPSIDED, BRANCHED])
def test_random_ready_is_not(precedes: np.ndarray) -> None:
    assert p_value(precedes, "random_ready") < 1e-9


def test_random_ready_is_uniform_over_the_ready_instructions() -> None:
    """All orders of independent instructions are equally likely; half of LOPSIDED's orders begin with each chain."""
    assert p_value(np.zeros((4, 4), bool), "random_ready") > 0.001
    first = sampling.random_ready(np.repeat(LOPSIDED[None], 40_000, 0), np.random.default_rng(0))[:, 0]
    assert (first == 0).mean() == pytest.approx(0.5, abs=0.01)  # 4 of 10 legal orders do


@pytest.mark.parametrize("precedes", [BRANCHED, zigzag(6)])
def test_swaps_are_uniform_within_their_distance(precedes: np.ndarray) -> None:
    """20,000 draws cannot distinguish the first distance from uniform, and they can distinguish the second."""
    assert chi_square(precedes, drawn_by_swaps(precedes, 1e-4)) > 0.001
    assert chi_square(precedes, drawn_by_swaps(precedes, 3.0)) < 1e-9


@pytest.mark.parametrize("sampler", SAMPLERS)
@given(dags(7), st.integers(0, 2**32))
def test_orders_are_legal(sampler: str, precedes: np.ndarray, seed: int) -> None:
    batch = np.repeat(precedes[None], 20, 0)
    orders = sampling.SAMPLERS[sampler](batch, np.random.default_rng(seed))
    np.testing.assert_array_equal(np.sort(orders, 1), np.tile(np.arange(len(precedes)), (20, 1)))
    assert (count_violations(batch, orders) == 0).all()


@pytest.mark.parametrize("n", [24, 64])
def test_orders_of_long_blocks_are_legal(n: int) -> None:
    rng = np.random.default_rng(n)
    precedes = np.triu(rng.random((5, n, n)) < 2 / n, 1)
    orders = sampling.uniform(precedes, rng)
    np.testing.assert_array_equal(np.sort(orders, 1), np.tile(np.arange(n), (5, 1)))
    assert (count_violations(precedes, orders) == 0).all()


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_same_seed_same_orders(sampler: str) -> None:
    batch = np.repeat(zigzag(9)[None], 50, 0)
    first, second, third = (sampling.SAMPLERS[sampler](batch, np.random.default_rng(seed)) for seed in (5, 5, 6))
    np.testing.assert_array_equal(first, second)
    assert not np.array_equal(first, third)


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_a_cycle_is_refused(sampler: str) -> None:
    batch = np.stack([chain(2), ~np.eye(2, dtype=bool)])
    with pytest.raises(ValueError, match="block 1 have a cycle"):
        sampling.SAMPLERS[sampler](batch, np.random.default_rng(0))


def test_too_many_instructions_are_refused() -> None:
    with pytest.raises(ValueError, match="at most 64"):
        sampling.uniform(np.zeros((1, 65, 65), bool), np.random.default_rng(0))
