"""The bound of fusion is below every plan, and equals the best where nothing can be fused."""

from __future__ import annotations

import numpy as np
import pytest

from learned_schedulers.graphs.compilers.bound import lower_bound
from learned_schedulers.graphs.compilers.cost import seconds
from learned_schedulers.graphs.compilers.levels import LEVELS, plan_of
from learned_schedulers.graphs.compilers.plan import separate
from learned_schedulers.graphs.compilers.rates import Rates
from tests.graphs.compilers.made import BALANCED, UNIT, drawn, optima, problem, problems, small

ALMOST = 1 - 1e-12
CACHED = Rates(1.0, 6.0, 4.0, 1.0, 0.5, 0.1, 1.0, 1.0, 1.0)  # the first six bytes of a kernel move faster


def test_it_is_below_the_optimum() -> None:
    for each, least in zip(small(), optima(), strict=True):
        assert 0 < lower_bound(each) <= least / ALMOST


@pytest.mark.parametrize("rates", [UNIT, BALANCED, CACHED])
def test_it_is_below_random_plans(rates: Rates) -> None:
    rng, ratios = np.random.default_rng(3), []
    for _ in range(200):
        each = drawn(int(rng.integers(1, 25)), rng, rates)
        cost = seconds(each, plan_of(each, rng.integers(0, LEVELS, each.n).astype(np.int8)))
        ratios.append(cost / lower_bound(each))
    assert min(ratios) >= ALMOST and np.median(ratios) < 4


def test_it_is_reached_where_nothing_can_be_fused_and_by_a_whole_chain() -> None:
    products = problem(["mm", "mm", "mm"], [(0, 1), (1, 2)])
    assert lower_bound(products) == pytest.approx(seconds(products, separate(3)))
    chain = problem(["relu", "exp", "add"], [(0, 1), (1, 2)])
    assert lower_bound(chain) == pytest.approx(1 + 4)  # a launch, and four bytes that are written
    assert seconds(chain, plan_of(chain, np.full(3, LEVELS - 1, np.int8))) == pytest.approx(lower_bound(chain))


def test_an_empty_graph_costs_nothing() -> None:
    assert lower_bound(problems()["no operation"]) == 0.0
